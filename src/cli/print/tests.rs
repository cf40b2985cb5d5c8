use super::*;
use proptest::prelude::*;

impl Out {
    /// Any writer, as a terminal of this width would show it, without colours.
    pub(in crate::cli) fn to(writer: impl Write + Send + 'static, width: usize) -> Self {
        let stream = AutoStream::new(Box::new(writer) as Box<dyn Write + Send>, ColorChoice::Never);
        Out { stream, width: width.max(MIN_WIDTH), terminal: true, only_links: false }
    }

    pub(in crate::cli) fn piped(writer: impl Write + Send + 'static) -> Self {
        Out { terminal: false, ..Out::to(writer, PIPE_WIDTH) }
    }
}

struct Closed;
impl Write for Closed {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::BrokenPipe.into())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_closed_pipe_is_a_quiet_end() {
    let error = Out::to(Closed, 80).line("x").unwrap_err();
    assert!(matches!(super::super::CliFailure::from(error), super::super::CliFailure::Quiet));
}

fn lines(text: &str, width: usize) -> Vec<&str> {
    wrap(text, width).into_iter().map(|range| &text[range]).collect()
}

#[test]
fn wrapping() {
    assert_eq!(lines("one two three", 7), ["one two", "three"]);
    assert_eq!(lines("one two\n\nthree", 20), ["one two", "", "three"]);
    assert_eq!(lines("abcdefghij k", 4), ["abcd", "efgh", "ij k"]);
    assert_eq!(lines("日本語の文", 4), ["日本", "語の", "文"]);
    assert_eq!(lines("costs $0.42, or so", 10), ["costs", "$0.42, or", "so"]);
    assert_eq!(lines("say `x --since all`", 10), ["say `x", "--since", "all`"]);
    assert_eq!(lines("", 4), [""]);
    assert_eq!(lines("  - item", 20), ["  - item"]);
    // A combining mark that stands alone takes no column and is a word all the same.
    assert_eq!(lines("\u{1a65} 日", 2), ["\u{1a65}", "日"]);
}

#[test]
fn links_where_they_are_wanted() {
    let linked = format!("{}  {}", link("file://h/a", &cyan("a.md")), dim("2 h"));
    for (when, expected) in [
        (Styling::Auto, "a.md  2 h\n"),
        (Styling::Never, "a.md  2 h\n"),
        (Styling::Always, "\u{1b}]8;;file://h/a\u{1b}\\a.md\u{1b}]8;;\u{1b}\\  2 h\n"),
    ] {
        let page = super::super::search::tests::Page::default();
        let mut out = Out::to(page.clone(), 80);
        assert_eq!(out.links(when), when == Styling::Always);
        out.line(&linked).unwrap();
        assert_eq!(page.text(), expected, "{when:?}");
    }
}

#[test]
fn rows_keep_their_column() {
    let page = super::super::search::tests::Page::default();
    Out::to(page.clone(), 32).row("  ", "tokens", 10, "one two three four five").unwrap();
    assert_eq!(page.text(), "  tokens    one two three four\n            five\n");
    let page = super::super::search::tests::Page::default();
    Out::to(page.clone(), 20).row("  ", "tokens", 10, "one two three four five").unwrap();
    assert_eq!(page.text(), "  tokens\n  one two three four\n  five\n");
}

#[test]
fn cutting() {
    assert_eq!(cut("Projects/Plan.md", 9), "Projects…");
    assert_eq!(cut_front("Projects/Plan.md", 9), "…/Plan.md");
    assert_eq!((cut("日本語", 4), cut_front("日本語", 4)), ("日…".to_owned(), "…語".to_owned()));
    assert_eq!((cut("ok", 2), cut_front("ok", 2)), ("ok".to_owned(), "ok".to_owned()));
}

#[test]
fn marks_are_not_trusted() {
    let paint: fn(&str) -> String = |text| format!("<{text}>");
    assert_eq!(highlighted("a äb c", 0..7, &[(2, 5), (6, 99)], paint), "a <äb> <c>");
    assert_eq!(highlighted("a äb c", 0..7, &[(3, 4), (6, 2)], paint), "a äb c");
    assert_eq!(highlighted("one two", 4..7, &[(0, 5)], paint), "<t>wo");
}

#[test]
fn said_by_people() {
    assert_eq!((grouped(1_234_567), grouped(999)), ("1,234,567".to_owned(), "999".to_owned()));
    assert_eq!((counted(1, "note"), counted(0, "note")), ("1 note".to_owned(), "0 notes".to_owned()));
    assert_eq!(
        ["query", "day", "watch", "copy"].map(|noun| counted(2, noun)),
        ["2 queries", "2 days", "2 watches", "2 copies"]
    );
    assert_eq!(counted(1, "query"), "1 query");
    assert_eq!((millis(4.23), millis(65_000.0)), ("4.2 ms".to_owned(), "1 min 5 s".to_owned()));
    assert_eq!((age(100, 90), age(10_000, 0), age(0, 50)), ("now".to_owned(), "2 h".to_owned(), "now".to_owned()));
}

proptest! {
    #[test]
    fn no_line_is_wider_and_no_word_is_lost(text in "(\\PC| |\n|日|é){0,80}", width in 2usize..30) {
        let lines = lines(&text, width);
        for line in &lines {
            prop_assert!(line.width() <= width || line.graphemes(true).count() == 1, "{:?}", line);
        }
        let words = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
        prop_assert_eq!(words(&lines.concat()), words(&text));
        prop_assert!(cut(&text, width).width() <= width);
        prop_assert!(cut_front(&text, width).width() <= width);
    }
}
