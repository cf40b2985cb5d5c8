//! The programs that draw pages (ISO 32000-1, 7.8.2 and 9.4), as far as they write text.
//!
//! The reader makes objects of a hundred bytes of every number, gives a page up at many an operator that only draws, and
//! passes over two that write: it is handed only what writes, in the operators that it knows.

/// What writes text or says where, and the number of its operands. Everything else draws.
const WRITING: [(&[u8], usize); 20] = [
    (b"BT", 0),
    (b"ET", 0),
    (b"q", 0),
    (b"Q", 0),
    (b"cm", 6),
    (b"Tc", 1),
    (b"Tw", 1),
    (b"Tz", 1),
    (b"TL", 1),
    (b"Tf", 2),
    (b"Ts", 1),
    (b"Td", 2),
    (b"TD", 2),
    (b"Tm", 6),
    (b"T*", 0),
    (b"Tj", 1),
    (b"TJ", 1),
    (b"'", 1),
    (b"\"", 3),
    (b"Do", 1),
];

/// The part of a program that writes text.
pub(super) fn writing(program: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut operands: Vec<&[u8]> = Vec::new();
    // Where states that are to be restored were saved, and the end of what was written last.
    let (mut saved, mut written): (Vec<usize>, usize) = (Vec::new(), 0);
    let mut rest = program;
    while let Some((object, after)) = next(rest) {
        rest = after;
        if !matches!(object.first(), Some(b'a'..=b'z' | b'A'..=b'Z' | b'\'' | b'"')) {
            operands.push(object);
            continue;
        }
        if object == b"ID" {
            rest = after_image(rest);
        }
        let known = WRITING.iter().find(|(operator, _)| *operator == object);
        let own = known.and_then(|(_, wanted)| operands.len().checked_sub(*wanted)).map(|from| &operands[from..]);
        match (object, own) {
            (_, None) => {}
            (b"Q", _) => match saved.pop() {
                Some(start) if written <= start => out.truncate(start),
                Some(_) => push(&mut out, &[], object),
                None => {}
            },
            (b"q", _) => {
                saved.push(out.len());
                push(&mut out, &[], object);
            }
            (b"'", Some(own)) => {
                push(&mut out, &[], b"T*");
                push(&mut out, own, b"Tj");
            }
            (b"\"", Some([words, letters, text])) => {
                push(&mut out, &[*words], b"Tw");
                push(&mut out, &[*letters], b"Tc");
                push(&mut out, &[], b"T*");
                push(&mut out, &[*text], b"Tj");
            }
            (_, Some(own)) => push(&mut out, own, object),
        }
        if matches!(object, b"Tj" | b"TJ" | b"'" | b"\"" | b"Do") {
            written = out.len();
        }
        operands.clear();
    }
    out
}

fn push(out: &mut Vec<u8>, operands: &[&[u8]], operator: &[u8]) {
    for part in operands {
        out.extend_from_slice(part);
        out.push(b' ');
    }
    out.extend_from_slice(operator);
    out.push(b'\n');
}

/// The next object or operator, and what follows it.
fn next(mut rest: &[u8]) -> Option<(&[u8], &[u8])> {
    loop {
        rest = rest.trim_ascii_start();
        rest = match *rest.first()? {
            0 => &rest[1..],
            b'%' => &rest[rest.iter().position(|b| matches!(b, b'\r' | b'\n')).unwrap_or(rest.len())..],
            _ => break,
        };
    }
    let mut end = 0;
    let mut open = 0usize;
    // An array or a dictionary is one object, whatever is in it.
    loop {
        let part = &rest[end..];
        let Some(first) = part.first() else { break };
        let length = match first {
            b'(' => string(part),
            b'<' if part.starts_with(b"<<") => 2,
            b'>' if part.starts_with(b">>") => 2,
            b'<' => part.iter().position(|b| *b == b'>').map_or(part.len(), |at| at + 1),
            b'/' => 1 + regular(&part[1..]),
            b'\'' | b'"' => 1,
            _ => regular(part).max(1),
        };
        match &part[..length] {
            b"[" | b"<<" => open += 1,
            b"]" | b">>" => open = open.saturating_sub(1),
            _ => {}
        }
        end += length;
        if open == 0 {
            break;
        }
    }
    Some(rest.split_at(end))
}

/// The length of a string in parentheses, which may hold pairs of them.
fn string(part: &[u8]) -> usize {
    let (mut open, mut is_escaped) = (0usize, false);
    for (at, byte) in part.iter().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'(' => open += 1,
            b')' if open == 1 => return at + 1,
            b')' => open -= 1,
            _ => {}
        }
    }
    part.len()
}

/// How many bytes go on with a name, a number or an operator.
fn regular(part: &[u8]) -> usize {
    let ends = |b: &u8| {
        b.is_ascii_whitespace() || matches!(b, 0 | b'(' | b')' | b'<' | b'>' | b'[' | b']' | b'{' | b'}' | b'/' | b'%')
    };
    part.iter().position(ends).unwrap_or(part.len())
}

/// What follows the bytes of an image: its end is a word of its own, and what stands behind that is no image.
fn after_image(rest: &[u8]) -> &[u8] {
    let is_text = |b: &u8| b.is_ascii_graphic() || b.is_ascii_whitespace();
    let ends = |part: &[u8]| {
        part.starts_with(b"EI")
            && part.get(2).is_none_or(u8::is_ascii_whitespace)
            && part.iter().skip(2).take(10).all(is_text)
    };
    let end = (1..rest.len()).find(|at| rest[at - 1].is_ascii_whitespace() && ends(&rest[*at..]));
    &rest[end.map_or(rest.len(), |at| at + 2)..]
}
