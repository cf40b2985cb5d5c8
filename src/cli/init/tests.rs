use super::*;

#[test]
fn what_comes_next_hangs_on_the_service() {
    let plain = |service, runs| anstream::adapter::strip_str(&next(service, runs)).to_string();
    let (installed, failed, by_hand) = (plain(Some(exit::OK), true), plain(Some(69), false), plain(None, false));
    assert!(installed.contains("situated status") && !installed.contains("situated run"), "{installed}");
    assert!(failed.contains("situated run") && failed.contains("not installed"), "{failed}");
    assert!(by_hand.contains("situated run") && by_hand.contains("situated service install"), "{by_hand}");
    // It starts at the next login.
    let later = plain(Some(exit::OK), false);
    assert!(later.contains("situated run") && !later.contains("service"), "{later}");
    // Another daemon has the place.
    let in_the_way = plain(Some(75), true);
    let steps =
        ["situated stop", "situated run", "situated service install"].map(|step| in_the_way.find(step).unwrap());
    assert!(steps.is_sorted() && !installed.contains("situated stop"), "{in_the_way}");
    for said in [installed, failed, by_hand, later, in_the_way] {
        assert!(said.contains("situated search WORDS"), "{said}");
    }
}

#[test]
fn a_configuration_is_never_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("deep/er/config.toml");
    let vault = [VaultConfig::new("n", dir.path())];
    write(&file, "first", &vault, &[]).unwrap();
    let failure = write(&file, "second", &vault, &[]).unwrap_err();
    assert_eq!(failure.code(), exit::CANNOT_CREATE);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "first");
    #[cfg(unix)]
    {
        let link = dir.path().join("link.toml");
        std::os::unix::fs::symlink(dir.path().join("nothing"), &link).unwrap();
        assert!(write(&link, "x", &vault, &[]).is_err());
    }
}

#[test]
fn vaults_of_one_name_are_told_apart() {
    let folders = ["/a/Notes", "/b/notes", "/c/Notes"].map(PathBuf::from);
    let names: Vec<String> = configured(&folders).into_iter().map(|vault| vault.name).collect();
    assert_eq!(names, ["Notes", "notes 2", "Notes 3"]);
}

#[test]
fn a_vault_that_is_named_already_is_not_to_be_added_again() {
    let dir = tempfile::tempdir().unwrap();
    let (here, other) = (dir.path().join("Notes"), dir.path().join("other/Notes"));
    std::fs::create_dir_all(&other).unwrap();
    std::fs::create_dir_all(&here).unwrap();
    let named = [VaultConfig::new("mine", dir.path().join("other/../Notes")), VaultConfig::new("notes", "/elsewhere")];
    let told = |folder: &Path| match taken(Path::new("c.toml"), &[VaultConfig::new("Notes", folder)], &named) {
        CliFailure::Said { message, .. } => message,
        CliFailure::Quiet => String::new(),
    };
    let again = told(&here);
    assert!(again.ends_with("it names this vault already: `mine`"), "{again}");
    let another = told(&other);
    assert!(another.contains("append\n\n[[vault]]\nname = \"Notes 2\""), "{another}");
}
