use super::*;

#[test]
fn tilde() {
    let home = folders::home().unwrap();
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
