//! The headings above a line within a chunk.

use note::HeadingLine;

/// The headings above a line of a chunk, outermost first. `above` are those above the chunk, of a note of that `title`;
/// `passed` those of the chunk down to the line. A chunk that does not begin with its heading may have passed others, but
/// nothing tells their place among those above it: then these are returned.
pub(super) fn trail(above: Vec<String>, title: &str, passed: Vec<HeadingLine>) -> Vec<String> {
    let mut passed = passed.into_iter();
    let own = match (above.last(), passed.next()) {
        (Some(last), Some(own)) if *last == own.text => own.level,
        _ => return above,
    };
    let depth = above.len();
    // Only the chunk's own level is known: the others are taken to follow one another, below a title of level 1.
    let level = |at: usize, text: &str| match depth - 1 - at {
        0 => own,
        _ if at == 0 && text == title => 1,
        above => own.saturating_sub(above as u8),
    };
    let mut trail: Vec<(u8, String)> =
        above.into_iter().enumerate().map(|(at, text)| (level(at, &text), text)).collect();
    for HeadingLine { level, text, .. } in passed {
        trail.truncate(trail.iter().rposition(|(outer, _)| *outer < level).map_or(0, |outer| outer + 1));
        trail.push((level, text));
    }
    trail.into_iter().map(|(_, text)| text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_that_were_passed_take_their_places() {
        let cases: [(&[&str], &str, &[(u8, &str)], &[&str]); 11] = [
            (&["T", "A"], "T", &[], &["T", "A"]),
            (&["T", "A"], "T", &[(2, "A")], &["T", "A"]),
            (&["T", "A"], "T", &[(2, "A"), (2, "B")], &["T", "B"]),
            (&["T", "A"], "T", &[(2, "A"), (3, "B")], &["T", "A", "B"]),
            (&["T", "A"], "T", &[(2, "A"), (3, "B"), (3, "C"), (2, "D"), (4, "E")], &["T", "D", "E"]),
            (&["T", "A"], "T", &[(2, "A"), (1, "B")], &["B"]),
            // A level is skipped below the title.
            (&["T", "A"], "T", &[(3, "A"), (2, "B")], &["T", "B"]),
            // Without a heading of level 1.
            (&["A", "B"], "file", &[(3, "B"), (2, "C")], &["C"]),
            (&["T"], "T", &[(1, "T"), (2, "A")], &["T", "A"]),
            // Its own heading is not the first.
            (&["T", "A"], "T", &[(2, "B")], &["T", "A"]),
            (&[], "T", &[(2, "B")], &[]),
        ];
        for (above, title, passed, expected) in cases {
            let above = above.iter().map(|text| (*text).to_owned()).collect();
            let passed =
                passed.iter().map(|(level, text)| HeadingLine { line: 0, level: *level, text: (*text).to_owned() });
            assert_eq!(trail(above, title, passed.collect()), expected, "{title} {expected:?}");
        }
    }
}
