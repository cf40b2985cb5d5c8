use super::*;

#[test]
fn hidden_characters_go() {
    assert_eq!(text("a\u{200B}b\u{202E}c\u{2066}d\u{E0041}\u{E0042}e\u{AD}f\u{3164}g"), "abcdefg");
    assert_eq!(text("\u{1b}[31mred\u{1b}[0m\r\nnext"), "red\nnext");
    assert_eq!(line("two\nlines\tand `<!--`"), "two lines and `<!--`");
    assert_eq!(text("❤\u{FE0F}\u{FE0F}\u{FE0E} x\u{FE01}\u{FE0F}"), "❤\u{FE0F} x\u{FE0F}");
    assert_eq!(text("Grüße, 日本語, नमस्ते, family 👨‍👩‍👧"), "Grüße, 日本語, नमस्ते, family 👨‍👩‍👧");
}
#[test]
fn hidden_characters_in_names_are_written_out() {
    for path in ["a/b.md", "Grüße & 日本.md", "x\u{202E}fdp.md", "\u{200B}a\u{E0041}.md", "a<!-- b -->.md", "a\nb.md"]
    {
        let shown = name(path);
        assert_eq!(line(&shown).replace("  ", " "), line(&shown), "{shown}");
        assert!(shown.chars().all(shows), "{shown}");
        assert_eq!(named(&shown), path);
    }
    assert_eq!(name("x\u{202E}fdp.md"), "x\\u{202e}fdp.md");
    assert_eq!(named("\\u{61}\\u{zz}\\u{"), "\\u{61}\\u{zz}\\u{");
}

#[test]
fn a_row_of_beginnings_is_read_once() {
    let began = std::time::Instant::now();
    let hostile = "\\u{".repeat(200_000);
    assert_eq!(named(&hostile), hostile);
    assert!(began.elapsed() < std::time::Duration::from_secs(2), "{:?}", began.elapsed());
    assert_eq!(named("\\u{0000202e}"), "\\u{0000202e}", "no code point has more digits than six");
}
