use super::*;

#[test]
fn a_cursor_is_a_place() {
    let place = (Reverse(-7), "v".to_owned(), "a/b c.md".to_owned());
    assert_eq!(place_of(&cursor(&place)).unwrap(), place);
    assert!(["", "7", "7/v", "x/v/a.md"].iter().all(|wrong| place_of(wrong).is_err()));
}
