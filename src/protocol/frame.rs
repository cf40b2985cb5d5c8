//! Lines of the socket: an incremental decoder with a cap, and a serialiser with one. Pure.
//!
//! A request is one line. Its length is not to be trusted: a line over the cap is dropped while it is still being
//! read, so that it costs no memory, and is reported once its end has come. Reporting it earlier would make the
//! sender meet a reset while it still writes, and never read the answer.

use std::io;

use serde::Serialize;

/// Longest request, without its line end. Drafts sent to `plan` and texts sent to `related` fit many times over.
pub const MAX_REQUEST: usize = 1 << 20;

/// Longest reply, without its line end: 200 hits with windows are well below one MiB, a whole note is at most 8.
pub const MAX_REPLY: usize = 16 << 20;

/// What a decoder makes of one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// A line that is not blank, without its line end.
    Text(Vec<u8>),
    /// A line over the cap; its bytes are gone.
    TooLong,
    /// The first line of the connection is an HTTP request line.
    Http,
}

/// Cuts a stream of bytes into lines, in memory bounded by its cap.
#[derive(Debug)]
pub struct LineDecoder {
    line: Vec<u8>,
    cap: usize,
    discarding: bool,
    may_be_http: bool,
}

impl LineDecoder {
    /// For what clients send.
    pub fn requests() -> Self {
        LineDecoder { line: Vec::new(), cap: MAX_REQUEST, discarding: false, may_be_http: true }
    }

    /// For what the daemon answers.
    pub fn replies() -> Self {
        LineDecoder { line: Vec::new(), cap: MAX_REPLY, discarding: false, may_be_http: false }
    }

    /// The next line that `input` completes, taking what it needs from the front of `input`; `None` once `input` is
    /// used up. Blank lines are skipped; one `\r` before the `\n` is dropped.
    pub fn next_line(&mut self, input: &mut &[u8]) -> Option<Line> {
        while !input.is_empty() {
            let end = input.iter().position(|&b| b == b'\n');
            let (piece, rest) = match end {
                Some(end) => (&input[..end], &input[end + 1..]),
                None => (*input, &input[input.len()..]),
            };
            *input = rest;
            self.keep(piece);
            if end.is_some()
                && let Some(line) = self.finish()
            {
                return Some(line);
            }
        }
        None
    }

    /// What stands in the decoder when the stream has ended. A last line without a line end counts: a truncated JSON
    /// object never parses, so nothing is obeyed that was not meant.
    pub fn finish(&mut self) -> Option<Line> {
        let first = std::mem::replace(&mut self.may_be_http, false);
        let too_long = std::mem::replace(&mut self.discarding, false);
        let mut line = std::mem::take(&mut self.line);
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        if too_long || line.len() > self.cap {
            return Some(Line::TooLong);
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            self.may_be_http = first;
            return None;
        }
        if first && is_http(&line) {
            return Some(Line::Http);
        }
        Some(Line::Text(line))
    }

    /// Bytes held now; never more than the cap and one.
    pub fn held(&self) -> usize {
        self.line.len()
    }

    fn keep(&mut self, piece: &[u8]) {
        if self.discarding {
            return;
        }
        // One byte over the cap is room for a `\r`; `finish` looks whether it was one.
        if self.line.len() + piece.len() > self.cap + 1 {
            self.discarding = true;
            self.line = Vec::new();
        } else {
            self.line.extend_from_slice(piece);
        }
    }
}

fn is_http(line: &[u8]) -> bool {
    const METHODS: [&[u8]; 10] =
        [b"GET ", b"POST ", b"PUT ", b"HEAD ", b"DELETE ", b"OPTIONS ", b"PATCH ", b"CONNECT ", b"TRACE ", b"PRI "];
    METHODS.iter().any(|method| line.starts_with(method))
}

/// The whole HTTP answer to [`Line::Http`]: curl prints its one line.
pub fn http_refusal() -> Vec<u8> {
    const BODY: &str = "this socket speaks JSON-RPC 2.0, one object per line, not HTTP; try: situated call ping\n";
    format!(
        "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{BODY}",
        BODY.len()
    )
    .into_bytes()
}

/// Why a value was not encoded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// It is longer than the cap.
    #[error("the answer is over {0} bytes")]
    TooLarge(usize),
    /// It has no JSON form.
    #[error("the answer has no JSON form: {0}")]
    Unencodable(String),
}

/// `value` as JSON on one line, without a line end and at most `cap` bytes long. No more than that is ever held.
pub fn encode(value: &impl Serialize, cap: usize) -> Result<Vec<u8>, EncodeError> {
    let mut capped = Capped { bytes: Vec::with_capacity(256), cap, over: false };
    match serde_json::to_writer(&mut capped, value) {
        Ok(()) => Ok(capped.bytes),
        Err(_) if capped.over => Err(EncodeError::TooLarge(cap)),
        Err(error) => Err(EncodeError::Unencodable(error.to_string())),
    }
}

struct Capped {
    bytes: Vec<u8>,
    cap: usize,
    over: bool,
}

impl io::Write for Capped {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + piece.len() > self.cap {
            self.over = true;
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(piece);
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn small(cap: usize) -> LineDecoder {
        LineDecoder { line: Vec::new(), cap, discarding: false, may_be_http: true }
    }

    fn all(mut decoder: LineDecoder, pieces: &[&[u8]]) -> Vec<Line> {
        let mut lines = Vec::new();
        for piece in pieces {
            let mut input = *piece;
            while let Some(line) = decoder.next_line(&mut input) {
                lines.push(line);
            }
            assert!(input.is_empty());
            assert!(decoder.held() <= decoder.cap + 1);
        }
        lines.extend(decoder.finish());
        lines
    }

    fn text(line: &str) -> Line {
        Line::Text(line.as_bytes().to_vec())
    }

    #[test]
    fn lines() {
        let table: [(&[u8], Vec<Line>); 12] = [
            (b"", vec![]),
            (b"a\n", vec![text("a")]),
            (b"a", vec![text("a")]),
            (b"a\r\nb\n", vec![text("a"), text("b")]),
            (b"\n\r\n  \t\n", vec![]),
            (b"\r\n\na\n\n", vec![text("a")]),
            (b"12345678\n", vec![text("12345678")]),
            (b"12345678\r\n", vec![text("12345678")]),
            (b"123456789\na\n", vec![Line::TooLong, text("a")]),
            (b"123456789\r\n", vec![Line::TooLong]),
            (b"1234567890123", vec![Line::TooLong]),
            (b"          \nGET / H\n", vec![Line::TooLong, text("GET / H")]),
        ];
        for (input, expected) in table {
            assert_eq!(all(small(8), &[input]), expected, "{:?}", String::from_utf8_lossy(input));
        }
    }

    #[test]
    fn http_is_told_by_the_first_line_only() {
        for request in ["GET / HTTP/1.1", "POST /v1 HTTP/1.1", "PRI * HTTP/2.0", "OPTIONS * HTTP/1.0"] {
            let bytes = format!("{request}\r\nHost: x\r\n\r\n");
            assert_eq!(all(LineDecoder::requests(), &[bytes.as_bytes()])[0], Line::Http);
            let later = format!("{{}}\n{request}\n");
            assert_eq!(all(LineDecoder::requests(), &[later.as_bytes()]), vec![text("{}"), text(request)]);
        }
        assert_eq!(all(LineDecoder::requests(), &[b"\nGET / HTTP/1.1\n"]), vec![Line::Http]);
        assert_eq!(all(LineDecoder::requests(), &[b"GETTING\n"]), vec![text("GETTING")]);
        assert_eq!(all(LineDecoder::replies(), &[b"GET / x\n"]), vec![text("GET / x")]);
        assert!(String::from_utf8(http_refusal()).unwrap().ends_with("ping\n"));
    }

    #[test]
    fn a_long_line_takes_no_memory() {
        let mut decoder = LineDecoder::requests();
        let piece = vec![b'x'; 64 << 10];
        for _ in 0..64 {
            let mut input = piece.as_slice();
            assert_eq!(decoder.next_line(&mut input), None);
            assert!(decoder.line.capacity() <= 2 * MAX_REQUEST + 2);
        }
        assert_eq!(decoder.line.capacity(), 0);
        assert_eq!(decoder.next_line(&mut b"\n".as_slice()), Some(Line::TooLong));
        assert_eq!(decoder.next_line(&mut b"{}\n".as_slice()), Some(text("{}")));
    }

    #[test]
    fn encoding_stops_at_the_cap() {
        assert_eq!(encode(&"ab", 4), Ok(b"\"ab\"".to_vec()));
        assert_eq!(encode(&"abc", 4), Err(EncodeError::TooLarge(4)));
        assert_eq!(encode(&vec![0u8; 1 << 20], 1000), Err(EncodeError::TooLarge(1000)));
        let keyed = std::collections::HashMap::from([((1, 2), 3)]);
        assert!(matches!(encode(&keyed, 100), Err(EncodeError::Unencodable(_))));
        assert_eq!(encode(&"a\nb\r\u{0}", 100), Ok(br#""a\nb\r\u0000""#.to_vec()));
    }

    proptest! {
        #[test]
        fn any_chunking_gives_the_same_lines(
            bytes in prop::collection::vec(prop_oneof![Just(b'\n'), Just(b'\r'), Just(b' '), any::<u8>(), b'a'..b'e'], 0..200),
            cuts in prop::collection::vec(0usize..200, 0..20),
        ) {
            let whole = all(small(8), &[&bytes]);
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|w| &bytes[w[0]..w[1]]).collect();
            prop_assert_eq!(all(small(8), &pieces), whole);
        }

        #[test]
        fn lines_are_what_splitting_gives(lines in prop::collection::vec("[a-z]{1,12}", 0..20), crlf: bool) {
            let end = if crlf { "\r\n" } else { "\n" };
            let stream: String = lines.iter().map(|line| format!("{line}{end}")).collect();
            let expected: Vec<Line> =
                lines.iter().map(|line| if line.len() > 8 { Line::TooLong } else { text(line) }).collect();
            prop_assert_eq!(all(small(8), &[stream.as_bytes()]), expected);
        }
    }
}
