use super::*;

#[test]
fn xdg_ignores_empty_and_relative_variables() {
    let fallback = xdg(None, ".config");
    assert!(fallback.ends_with(".config"));
    assert_eq!(xdg(Some("".into()), ".config"), fallback);
    assert_eq!(xdg(Some("relative/dir".into()), ".config"), fallback);
    assert_eq!(xdg(Some("/abs".into()), ".config"), Path::new("/abs"));
}

#[test]
fn tilde() {
    let home = home().unwrap();
    assert_eq!(expand("~").unwrap(), home);
    assert_eq!(expand("~/Notes").unwrap(), home.join("Notes"));
    assert_eq!(expand("/a/~/b").unwrap(), Path::new("/a/~/b"));
    assert!(expand("~bob/Notes").is_err());
    assert!(expand("").is_err());
}

#[test]
fn socket_length() {
    assert_eq!(socket_too_long(Path::new(&format!("/{}", "x".repeat(102)))), None);
    assert!(socket_too_long(Path::new(&format!("/{}", "x".repeat(103)))).unwrap().contains("serve.socket"));
}
