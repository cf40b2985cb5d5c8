//! Documents that were converted, line by line as their reader sees them: nobody types the backslashes that keep their
//! signs from being Markdown.

use std::borrow::Cow;

use note::Format;

/// The text of a note of that format as `grep` matches and shows it.
pub(super) fn as_shown(format: Format, text: Cow<'_, str>) -> Cow<'_, str> {
    let is_converted = matches!(format, Format::Html | Format::Epub | Format::Docx);
    if is_converted && text.contains('\\') { Cow::Owned(unescaped(&text)) } else { text }
}

/// Without the backslashes before signs, but in code, where they stand for themselves.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut fence: Option<&str> = None;
    for line in text.split_inclusive('\n') {
        let told = line.trim();
        let begins = &told[..told.len() - told.trim_start_matches('`').len()];
        match fence {
            Some(open) if begins.len() >= open.len() && begins.len() == told.len() => fence = None,
            None if begins.len() >= 3 => fence = Some(begins),
            None => {
                push_unescaped(&mut out, line);
                continue;
            }
            Some(_) => {}
        }
        out.push_str(line);
    }
    out
}

fn push_unescaped(out: &mut String, line: &str) {
    let mut rest = line;
    while let Some(at) = rest.find(['\\', '`']) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let run = &from[..from.len() - from.trim_start_matches('`').len()];
        rest = if run.is_empty() {
            let after = &from[1..];
            let is_sign = after.starts_with(|c: char| c.is_ascii_punctuation());
            out.extend((!is_sign).then_some('\\'));
            // A sign that was escaped begins nothing.
            let taken = usize::from(is_sign);
            out.push_str(&after[..taken]);
            &after[taken..]
        } else {
            // As far as the code on this line goes.
            let after = &from[run.len()..];
            let code = after.find(run).map_or(0, |end| end + run.len());
            out.push_str(&from[..run.len() + code]);
            &after[code..]
        };
    }
    out.push_str(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_are_as_their_reader_sees_them() {
        let text =
            "call my\\_func\\_name, see \\[1\\] or a\\*b: C:\\dir `x\\_y` \\`z\\_\n```\na\\_b\n```\n\\# five \\\\_\n";
        let shown = "call my_func_name, see [1] or a*b: C:\\dir `x\\_y` `z_\n```\na\\_b\n```\n# five \\_\n";
        for format in [Format::Html, Format::Epub, Format::Docx] {
            assert_eq!(as_shown(format, Cow::Borrowed(text)), shown, "{format:?}");
        }
        assert_eq!(as_shown(Format::Markdown, Cow::Borrowed(text)), text);
    }
}
