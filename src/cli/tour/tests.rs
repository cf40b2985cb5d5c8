use super::super::print::columns;
use super::super::search::tests::Page;
use super::*;

#[test]
fn the_folder_is_private_and_goes_with_the_tour() {
    let dir = temporary_folder("try").unwrap();
    assert_eq!(platform::files::mode(&fs::metadata(&dir).unwrap()), 0o700);
    assert!(crate::daemon::config::socket_too_long(&dir.join("sock")).is_none());
    copy_sample(&dir.join("vault")).unwrap();
    drop(Tour {
        dir: dir.clone(),
        keep: false,
        daemon: Arc::default(),
        interrupt: Interrupt::default(),
        begun: Instant::now(),
    });
    assert!(!dir.exists());
}

#[test]
fn its_last_words_fit_a_narrow_terminal() {
    let page = Page::default();
    goodbye(None, &mut Out::to(page.clone(), 80)).unwrap();
    let text = anstream::adapter::strip_str(&page.text()).to_string();
    assert!(text.lines().all(|line| columns(line) <= 80), "{text}");
}

#[test]
fn what_is_edited_is_in_the_sample_and_what_is_written_is_not() {
    for edit in EDITS {
        let note = FILES.iter().find(|(path, _)| *path == edit.path);
        assert!(note.is_some_and(|(_, text)| text.matches(edit.change.0).count() == 1), "{}", edit.path);
    }
    for (path, text) in FILES {
        assert!(!text.contains("harmonium") && !text.contains("Quincunx"), "{path}");
    }
}
