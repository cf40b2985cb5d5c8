use super::*;

#[test]
fn only_what_is_ours_is_removed() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    std::fs::create_dir_all(at("vaults/a")).unwrap();
    std::fs::write(at("of another"), "").unwrap();
    assert!(purgeable(dir.path()).is_empty(), "no daemon was ever there");
    std::fs::write(at("lock"), "").unwrap();
    assert_eq!(purgeable(dir.path()), [at("vaults"), at("lock")]);
    std::fs::write(at("paused"), "").unwrap();
    std::fs::write(at("mcp-token"), "").unwrap();
    let session =
        Session::new(super::super::args::Globals { data_dir: Some(dir.path().to_owned()), ..Default::default() });
    let gone = purged(&session, dir.path()).unwrap();
    assert_eq!(gone, [at("mcp-token"), at("vaults"), at("paused"), at("lock")]);
    assert!(at("of another").exists());
}
