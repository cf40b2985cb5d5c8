use super::*;

fn said(scope: &Scope) -> (Option<&str>, Option<&str>) {
    (scope.vault.as_deref(), scope.path.as_deref())
}

#[test]
fn what_is_meant() {
    let dir = tempfile::tempdir().unwrap();
    let notes = dir.path().join("Notes");
    std::fs::create_dir_all(notes.join("Projects")).unwrap();
    std::fs::write(notes.join("Projects/Plan.md"), "x").unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(&notes, dir.path().join("link")).unwrap();
    let vaults = [VaultInfo { name: "work".into(), path: notes.clone(), default: true }];
    let scope = |what: &str, here: &Path| scope(Some(Path::new(what)), &vaults, here);

    std::fs::create_dir(notes.join("Notes")).unwrap();
    std::fs::write(notes.join("Notes/Deep.md"), "x").unwrap();
    assert_eq!(said(&scope("Notes/Deep.md", dir.path())), (None, Some("Notes/Deep.md")));
    assert_eq!(said(&scope("work", dir.path())), (Some("work"), None));
    assert_eq!(said(&scope("Notes", dir.path())), (Some("work"), None));
    assert_eq!(said(&scope("Notes/Projects/", dir.path())), (Some("work"), Some("Projects")));
    assert_eq!(said(&scope("Plan.md", &notes.join("Projects"))), (Some("work"), Some("Projects/Plan.md")));
    #[cfg(unix)]
    assert_eq!(said(&scope("../link/Projects/Plan.md", &notes)), (Some("work"), Some("Projects/Plan.md")));
    assert_eq!(said(&scope("Projects/Gone.md", &notes)), (Some("work"), Some("Projects/Gone.md")));
    assert_eq!(said(&scope("raw \u{f7ff}.md", &notes)), (Some("work"), Some("raw \u{f7ff}.md")));
    assert_eq!(said(&scope("raw \u{f7ff}.md", Path::new("/"))), (None, Some("raw \u{f7ff}.md")));
    assert_eq!(said(&scope("Projects/Plan.md", Path::new("/"))), (None, Some("Projects/Plan.md")));
    assert_eq!(said(&scope("Projects/Plan.md:12", Path::new("/"))), (None, Some("Projects/Plan.md")));
    assert_eq!(said(&scope("Plan.md:12", &notes.join("Projects"))), (Some("work"), Some("Projects/Plan.md")));
    assert_eq!(said(&scope(notes.to_str().unwrap(), Path::new("/"))), (Some("work"), None));
    assert_eq!(said(&path(Path::new("a.md"), Some("v"), &vaults, &notes)), (Some("v"), Some("a.md")));
}

#[test]
fn line_suffix() {
    for (what, path, line) in [
        ("a.md:12", "a.md", Some(12)),
        ("a.md", "a.md", None),
        ("a:b.md", "a:b.md", None),
        ("a.md:0", "a.md:0", None),
        (":3", ":3", None),
    ] {
        assert_eq!(split_line(Path::new(what)), (PathBuf::from(path), line));
        assert_eq!(split_lines(Path::new(what)), (PathBuf::from(path), line.map(|line| (line, line))));
    }
    // A file may have such a name.
    let dir = tempfile::tempdir().unwrap();
    let without = |what: &str| without_line(Path::new(what), dir.path());
    assert_eq!(without("a.md:12"), (PathBuf::from("a.md"), Some(12)));
    #[cfg(unix)]
    {
        std::fs::write(dir.path().join("a.md:12"), "").unwrap();
        assert_eq!(without("a.md:12"), (PathBuf::from("a.md:12"), None));
    }
    assert_eq!(split_lines(Path::new("a.md:3-9")), (PathBuf::from("a.md"), Some((3, 9))));
    for what in ["a.md:3-", "a.md:-3", "a.md:3-0", "a.md:3-b", "a.md:3-4-5"] {
        assert_eq!(split_lines(Path::new(what)), (PathBuf::from(what), None));
    }
}
