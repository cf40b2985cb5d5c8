use super::*;

#[test]
fn a_spelling_is_written_with_a_few_notes_and_once_with_each() {
    let mut spellings = Spellings::default();
    assert_eq!(spellings.missing_of(1, "The heron, the heron: (grey) heron-like."), "The heron the grey heron-like ");
    assert_eq!(spellings.missing_of(1, "heron"), "");
    assert_eq!(spellings.missing_of(2, "heron lagoon"), "heron lagoon ");
    assert_eq!(spellings.missing_of(3, "heron"), "heron ");
    assert_eq!(spellings.missing_of(4, "heron"), "");
    spellings.forget();
    assert_eq!(spellings.missing_of(4, "heron"), "heron ");
}

#[test]
fn what_is_no_word_is_left_out() {
    let mut spellings = Spellings::default();
    let long = "x".repeat(LONGEST + 1);
    assert_eq!(spellings.missing_of(1, &format!("--- ## {long} `code` \u{3000}")), "code ");
}
