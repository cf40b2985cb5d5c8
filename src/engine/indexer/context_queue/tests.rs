use std::time::Duration;

use super::*;

fn path(name: &str) -> VaultPath {
    VaultPath::parse(name).unwrap()
}

#[test]
fn saves_go_first_and_a_new_place_replaces_the_old_one() {
    let now = Instant::now();
    let later = now + Duration::from_secs(30);
    let mut queue = ContextQueue::default();
    queue.put(path("bulk.md"), Rank::Bulk, now);
    queue.put(path("saved.md"), Rank::Save, now);
    queue.put(path("edited.md"), Rank::Save, now);
    queue.put(path("edited.md"), Rank::Save, later);
    assert_eq!((queue.len(), queue.next_ready(false)), (3, Some(now)));
    assert_eq!(queue.pop(now, false), Some(path("saved.md")));
    assert_eq!((queue.pop(now, true), queue.next_ready(true)), (None, Some(later)));
    assert_eq!(queue.pop(now, false), Some(path("bulk.md")));
    assert_eq!((queue.pop(now, false), queue.next_ready(false)), (None, Some(later)));
    assert_eq!(queue.pop(later, false), Some(path("edited.md")));
    assert_eq!((queue.len(), queue.next_ready(false)), (0, None));
}
