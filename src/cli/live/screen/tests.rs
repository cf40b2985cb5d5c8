use super::*;

#[test]
fn a_panic_gives_the_terminal_back_before_its_message() {
    watch_panics();
    OURS.store(true, Ordering::SeqCst);
    let panicked = std::thread::spawn(|| panic!("this is meant to be seen")).join();
    assert!(panicked.is_err() && is_lent());
}

#[test]
fn what_was_set_is_unset() {
    let mut end = Vec::new();
    write_end(&mut end).unwrap();
    let end = String::from_utf8(end).unwrap();
    for sequence in ["\u{1b}[?2004l", "\u{1b}[?1049l", "\u{1b}[?25h"] {
        assert!(end.contains(sequence), "{end:?}");
    }
}
