use super::*;

#[test]
fn a_cut_text_is_half_of_it_at_a_character() {
    assert_eq!(cut("abcdefgh", 0), "abcdefgh");
    assert_eq!(cut("abcdefgh", 1), "abcd");
    assert_eq!(cut("abcdefgh", 2), "ab");
    assert_eq!(cut("日本", 1), "日");
    assert_eq!(cut("日", 3), "");
}
