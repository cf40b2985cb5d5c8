use super::*;

const HOME: RootId = RootId { dev: 1, ino: 1 };
const OTHER: RootId = RootId { dev: 2, ino: 1 };
const WAIT: Duration = Duration::from_secs(60);

fn seen(gone: usize, known: usize, root: RootId) -> Seen {
    Seen { gone, notes: known - gone, known, root: Some(root) }
}

fn guard() -> DeletionGuard {
    DeletionGuard::new("notes", Some(HOME))
}

#[test]
fn a_few_notes_are_dropped_at_once_and_many_after_a_second_look_in_the_same_folder() {
    let now = Instant::now();
    let mut guard = guard();
    assert!(guard.believes(seen(3, 10, HOME), now, WAIT));
    assert!(guard.believes(seen(9, 20, HOME), now, WAIT), "fewer than ten");
    assert!(!guard.believes(seen(40, 100, HOME), now, WAIT));
    assert!(guard.doubt().unwrap().contains("40 of 100"));
    assert!(!guard.believes(seen(40, 100, HOME), now + WAIT / 2, WAIT), "too early");
    assert_eq!(guard.look_at(), Some(now + WAIT), "an early look does not put the second one off");
    assert!(guard.believes(seen(40, 100, HOME), now + WAIT, WAIT));
    assert_eq!(guard.doubt(), None);
}

#[test]
fn all_notes_of_a_small_vault_are_a_doubt_and_their_return_ends_it() {
    let now = Instant::now();
    let mut guard = guard();
    assert!(!guard.believes(seen(2, 2, HOME), now, WAIT));
    assert!(guard.believes(seen(0, 2, HOME), now, WAIT));
    assert_eq!((guard.doubt(), guard.look_at()), (None, None));
}

#[test]
fn another_folder_is_believed_by_nobody_but_the_user() {
    let now = Instant::now();
    let mut guard = guard();
    assert!(!guard.believes(seen(50, 50, OTHER), now, WAIT));
    assert!(!guard.adopt(OTHER), "a doubted folder is not the vault's");
    assert!(!guard.believes(seen(50, 50, OTHER), now + WAIT * 2, WAIT));
    guard.accept();
    assert!(guard.believes(seen(50, 50, OTHER), now + WAIT * 2, WAIT));
    assert!(guard.adopt(OTHER) && guard.root() == Some(OTHER));
}

#[test]
fn a_vault_that_cannot_be_read_is_asked_for_again_soon() {
    let now = Instant::now();
    let mut guard = guard();
    guard.unreadable("gone".to_owned(), now);
    assert!(guard.waits_for_return());
    assert_eq!(guard.look_at(), Some(now + RETURN_EVERY));
    assert!(!guard.believes(seen(50, 50, HOME), now + WAIT * 9, WAIT), "its absence was no first look");
}

#[test]
fn the_users_word_counts_for_one_look_alone() {
    let now = Instant::now();
    let mut guard = guard();
    guard.accept();
    assert!(guard.believes(seen(0, 100, HOME), now, WAIT), "nothing was in doubt");
    assert!(!guard.believes(seen(100, 100, HOME), now + WAIT, WAIT), "weeks later");
    guard.accept();
    guard.unreadable("gone".to_owned(), now + WAIT);
    assert!(!guard.believes(seen(100, 100, HOME), now + WAIT, WAIT), "it was given for a folder that was not there");
}
