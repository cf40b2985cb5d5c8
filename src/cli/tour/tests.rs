use super::*;

#[test]
fn the_folder_is_private_and_goes_with_the_tour() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = temporary_folder("try").unwrap();
    assert_eq!(fs::metadata(&dir).unwrap().permissions().mode() & 0o777, 0o700);
    assert!(crate::daemon::config::socket_too_long(&dir.join("sock")).is_none());
    copy_sample(&dir.join("vault")).unwrap();
    drop(Tour { dir: dir.clone(), keep: false, daemon: None, interrupt: Interrupt::default(), begun: Instant::now() });
    assert!(!dir.exists());
}
