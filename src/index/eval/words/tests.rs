use super::*;

#[test]
fn keys() {
    for (a, b) in [("The  Tide, Table", "the tide table"), ("Übersicht", "u\u{308}BERSICHT"), ("ﬁre!", "Fire")] {
        assert_eq!(key(a), key(b), "{a}");
    }
    assert_ne!(key("tide table"), key("tidetable"));
    assert_eq!(key("—…!"), "");
    assert_eq!(words("潮汐 2026").len(), 3);
}
