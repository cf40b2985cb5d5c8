use super::*;

#[test]
fn versions_are_compared_by_number() {
    assert!(is_older("0.9.10", "0.10.0") && is_older("0.1", "0.1.1") && is_older("", "0.1.0"));
    assert!(!is_older("0.1.0", "0.1.0") && !is_older("1.0.0", "0.9.9"));
}
