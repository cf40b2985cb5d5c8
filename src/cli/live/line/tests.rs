use super::*;

fn line(before: &str, after: &str) -> Line {
    Line { text: format!("{before}{after}"), cursor: before.len() }
}

#[test]
fn editing_is_by_whole_characters() {
    let mut typed = Line::default();
    assert!(typed.insert("cafe\u{301} 👩‍🔬 日本"));
    assert!(typed.remove(Move::Back) && typed.remove(Move::Back));
    assert_eq!(typed.text(), "cafe\u{301} 👩‍🔬 ");
    typed.remove(Move::Back);
    typed.remove(Move::Back);
    typed.remove(Move::Back);
    typed.remove(Move::Back);
    assert_eq!(typed.text(), "caf");
    assert!(!Line::default().remove(Move::Back) && !typed.clone().remove(Move::Forward));
}

#[test]
fn words_and_ends() {
    let mut typed = line("one two", " three");
    typed.go(Move::WordBack);
    assert_eq!(typed.before(), "one ");
    typed.go(Move::WordForward);
    assert_eq!(typed.before(), "one two");
    typed.go(Move::WordForward);
    assert_eq!(typed.before(), "one two three");
    assert!(typed.remove(Move::WordBack));
    assert_eq!(typed.text(), "one two ");
    typed.go(Move::Start);
    assert!(typed.remove(Move::End) && typed.text().is_empty());
}

#[test]
fn a_paste_is_tamed_and_bounded() {
    let mut typed = Line::default();
    assert!(typed.insert("a\nb\u{1b}[31m\u{202e}c\u{200b}"));
    assert_eq!(typed.text(), "a bc");
    typed.insert(&"é".repeat(5000));
    assert!(typed.text().len() <= MOST_BYTES && typed.text().ends_with('é'));
    assert!(!typed.insert("\u{1b}"));
}
