use std::cell::Cell;

use super::*;

fn found(pattern: &str, rules: Rules, text: &str) -> Vec<Matched> {
    let mut lines = Vec::new();
    let searched = Pattern::new(pattern, rules).unwrap().search(text, &|| true, &mut |line| {
        lines.push(line);
        true
    });
    assert_eq!(searched, Ok(()));
    lines
}

fn numbers(pattern: &str, rules: Rules, text: &str) -> Vec<(u32, u32)> {
    found(pattern, rules, text).iter().map(|line| (line.line, line.column)).collect()
}

#[test]
fn lines_are_found_as_ripgrep_finds_them() {
    let text = "TODO write\r\nnothing\n  todo: übermorgen todo\nTodos\nno end";
    let plain = Rules::default();
    let sensitive = Rules { case: Case::Sensitive, ..plain };
    let insensitive = Rules { case: Case::Insensitive, ..plain };
    for (pattern, rules, lines) in [
        ("todo", plain, &[(1, 1), (3, 3), (4, 1)][..]),
        ("Todo", plain, &[(4, 1)]),
        ("todo", sensitive, &[(3, 3)]),
        ("Todo", insensitive, &[(1, 1), (3, 3), (4, 1)]),
        ("todo", Rules { word: true, ..plain }, &[(1, 1), (3, 3)]),
        ("^todo", plain, &[(1, 1), (4, 1)]),
        ("(write|nothing)$", plain, &[(1, 6), (2, 1)]),
        ("ÜBERMORGEN", insensitive, &[(3, 9)]),
        ("todo:", Rules { fixed: true, ..plain }, &[(3, 3)]),
        ("t.do", Rules { fixed: true, ..plain }, &[]),
        ("t.do\r\n\ntodo:\n", Rules { fixed: true, ..plain }, &[(3, 3)]),
        (r"todo\s+nothing", plain, &[]),
        (r"\d", plain, &[]),
        ("end", plain, &[(5, 4)]),
    ] {
        assert_eq!(numbers(pattern, rules, text), lines, "{pattern} {rules:?}");
    }
}

#[test]
fn what_matches_is_marked_and_long_lines_are_cut_around_it() {
    let [line] = &found("o+", Rules::default(), "foo bär doo").try_into().unwrap() as &[Matched; 1];
    let marked = |line: &Matched| -> Vec<String> {
        line.highlights.iter().map(|(from, to)| line.text[*from as usize..*to as usize].to_owned()).collect()
    };
    assert_eq!(marked(line), ["oo", "oo"]);

    let long = format!("{}needle{} needle", "ä".repeat(500), "b".repeat(500));
    let lines = found("needle", Rules::default(), &long);
    assert_eq!((lines[0].line, lines[0].column), (1, 501));
    assert!(lines[0].text.len() < 420 && lines[0].text.starts_with('…') && lines[0].text.ends_with('…'), "{lines:?}");
    assert_eq!(marked(&lines[0]), ["needle"]);

    // Nothing is everywhere, and marks nothing.
    let lines = found("x*", Rules::default(), "abc\n");
    assert_eq!((lines.len(), lines[0].highlights.len()), (1, 0));
}

#[test]
fn a_match_of_bytes_marks_whole_characters() {
    let (bytes, text) = (r"(?-u:[\x80-\xff])", "Der Ärger, groß\n");
    let [line] = &found(bytes, Rules::default(), text).try_into().unwrap() as &[Matched; 1];
    assert_eq!((line.column, &line.highlights[..]), (5, &[(4, 6), (15, 17)][..]));
    assert_eq!(Pattern::new(bytes, Rules::default()).unwrap().ranges(text, 9), [4..6, 15..17]);
}

#[test]
fn lines_around_a_match_are_given_once() {
    let text = "1\n2\nhit\n4\n5\n6\nhit\nhit\n9\n";
    let context = Context { before: 1, after: 2 };
    let lines = found("hit", Rules { context, ..Rules::default() }, text);
    let around: Vec<_> = lines.iter().map(|line| (line.line, line.before.join(","), line.after.join(","))).collect();
    let expected = [(3, "2", "4,5"), (7, "6", ""), (8, "", "9")];
    assert_eq!(around, expected.map(|(line, before, after)| (line, before.to_owned(), after.to_owned())));
}

#[test]
fn wrong_patterns_are_refused_with_a_reason() {
    for (pattern, said) in [
        ("", "empty"),
        ("(unclosed", "unclosed group"),
        ("a{2,1}", "invalid repetition"),
        (r"(a)\1", "backreferences are not supported"),
        ("(?=a)", "look-around"),
        (r"a\nb", "not allowed"),
        (r"(\w{1000}){1000}", "size limit"),
    ] {
        let error = Pattern::new(pattern, Rules::default()).unwrap_err().to_string();
        assert!(error.contains(said) && !error.contains('\n'), "{pattern}: {error}");
    }
    assert_eq!(Pattern::new(&"a".repeat(5000), Rules::default()).unwrap_err(), PatternError::TooLong(5000));
}

#[test]
fn a_search_ends_when_it_is_told_to() {
    let text = "line with a word\n".repeat(100_000);
    let (asked, pattern) = (Cell::new(0), Pattern::new("nowhere", Rules::default()).unwrap());
    let go_on = || {
        asked.set(asked.get() + 1);
        asked.get() < 5
    };
    assert_eq!(pattern.search(&text, &go_on, &mut |_| true), Err(Ended::Stopped));
    assert_eq!(asked.get(), 5);

    let (mut lines, pattern) = (0, Pattern::new("word", Rules::default()).unwrap());
    let on_line = &mut |_| {
        lines += 1;
        lines < 3
    };
    assert_eq!(pattern.search(&text, &|| true, on_line), Ok(()));
    assert_eq!(lines, 3);
}

/// Patterns that make backtracking engines take for ever.
#[test]
fn hostile_patterns_are_linear() {
    let text = format!("{}!", "a".repeat(200_000));
    for pattern in ["(a+)+$", "(a|aa)+$", "(a|a?)+b", "(.*)(.*)(.*)x"] {
        assert_eq!(numbers(pattern, Rules::default(), &text), [], "{pattern}");
    }
}
