use super::*;
use crate::testing::path;

fn notes(count: usize) -> BTreeSet<VaultPath> {
    (0..count).map(|n| path(&format!("{n}.md"))).collect()
}

#[test]
fn what_waits_for_its_turn_is_taken_when_half_of_the_others_have_come_and_the_indexer_rests() {
    let mut vectors = PendingVectors { asked: notes(ORDERED), ..PendingVectors::default() };
    assert!(!vectors.has_room(true) && vectors.has_room(false));
    vectors.later = (0..200).map(|n| path(&format!("later {n}.md"))).collect();
    assert_eq!((vectors.waiting(), vectors.take_arrived(true).len()), (456, 0));
    vectors.asked = notes(ORDERED / 2 - 1);
    assert_eq!(vectors.take_arrived(false).len(), 0);
    assert_eq!((vectors.take_arrived(true).len(), vectors.later.len()), (ORDERED / 2, 72));
    assert_eq!((vectors.take_arrived(true).len(), vectors.later.len()), (72, 0));
}
