use super::*;

#[test]
fn a_configuration_is_never_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("deep/er/config.toml");
    let vault = [VaultConfig::new("n", dir.path())];
    write(&file, "first", &vault).unwrap();
    let failure = write(&file, "second", &vault).unwrap_err();
    assert_eq!(failure.code(), exit::CANNOT_CREATE);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "first");
    let link = dir.path().join("link.toml");
    std::os::unix::fs::symlink(dir.path().join("nothing"), &link).unwrap();
    assert!(write(&link, "x", &vault).is_err());
}

#[test]
fn vaults_of_one_name_are_told_apart() {
    let folders = ["/a/Notes", "/b/notes", "/c/Notes"].map(PathBuf::from);
    let names: Vec<String> = configured(&folders).into_iter().map(|vault| vault.name).collect();
    assert_eq!(names, ["Notes", "notes 2", "Notes 3"]);
}
