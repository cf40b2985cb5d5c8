use super::*;

#[test]
fn case_and_composition_do_not_count() {
    for (a, b) in [("Plan", "pLAN"), ("Übersicht", "u\u{308}bersicht"), ("ПЛАН", "план")] {
        assert_eq!(fold(a), fold(b), "{a}");
    }
    assert_ne!(fold("plan"), fold("plane"));
}
