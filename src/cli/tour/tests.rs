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
