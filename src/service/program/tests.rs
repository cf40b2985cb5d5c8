use super::*;

#[test]
fn paths_that_do_not_last() {
    for (path, why) in [
        ("/home/me/situated/target/debug/situated", "target folder"),
        ("/src/target/x86_64-unknown-linux-gnu/release/situated", "target folder"),
        ("/opt/homebrew/Cellar/situated/0.1.0/bin/situated", "Cellar"),
        ("/nix/store/abc-situated-0.1.0/bin/situated", "nix store"),
        ("/tmp/situated", "temporary"),
        ("/private/tmp/x/situated", "temporary"),
    ] {
        assert!(doubt(Path::new(path)).is_some_and(|said| said.contains(why)), "{path}");
    }
    for path in
        ["/usr/bin/situated", "/home/me/.cargo/bin/situated", "/opt/homebrew/bin/situated", "/home/target/bin/situated"]
    {
        assert_eq!(doubt(Path::new(path)), None, "{path}");
    }
}

#[test]
fn a_lasting_name_for_the_same_file_is_preferred() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    let (cellar, bin) = (root.join("Cellar/situated/1/bin"), root.join("bin"));
    std::fs::create_dir_all(&cellar).unwrap();
    std::fs::create_dir_all(&bin).unwrap();
    let real = cellar.join("situated");
    std::fs::write(&real, "").unwrap();
    // Tests lie in a folder for temporary files themselves.
    let doubt = |path: &Path| doubt(path.strip_prefix(&root).unwrap());
    assert!(choose_by(&real, OsStr::new(""), &doubt).doubt.is_some());
    std::os::unix::fs::symlink(&real, bin.join("situated")).unwrap();
    let search = std::env::join_paths([&cellar, &bin]).unwrap();
    assert_eq!(choose_by(&real, &search, &doubt), Program { path: bin.join("situated"), doubt: None });
    // Another program of that name is not this one.
    std::fs::remove_file(bin.join("situated")).unwrap();
    std::fs::write(bin.join("situated"), "other").unwrap();
    assert_eq!(choose_by(&real, &search, &doubt).path, real);
}
