use super::*;

fn said(scope: &Scope) -> (Option<&str>, Option<&str>) {
    (scope.vault.as_deref(), scope.path.as_deref())
}

fn from(here: &Path, vaults: &[(&str, &Path)]) -> Served {
    let vaults = vaults.iter().map(|(name, folder)| ((*name).to_owned(), (*folder).to_owned()));
    Served { here: here.to_owned(), ..Served::new(vaults) }
}

#[test]
fn what_is_meant() {
    let dir = tempfile::tempdir().unwrap();
    let notes = dir.path().join("Notes");
    std::fs::create_dir_all(notes.join("Projects")).unwrap();
    std::fs::write(notes.join("Projects/Plan.md"), "x").unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(&notes, dir.path().join("link")).unwrap();
    let served = |here: &Path| from(here, &[("work", &notes)]);
    let scope = |what: &str, here: &Path| served(here).scope(Some(Path::new(what)), None, |_| panic!("a path: {what}"));

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
    assert_eq!(said(&served(&notes).path(Path::new("a.md"), Some("v"))), (Some("v"), Some("a.md")));

    std::fs::write(notes.join("Notes/C# x.md"), "x").unwrap();
    for (what, path) in [
        ("./Deep.md#One", "Notes/Deep.md#One"),
        ("../Projects/Plan.md#One", "Projects/Plan.md#One"),
        ("Deep.md^id", "Notes/Deep.md^id"),
        ("C# x.md", "Notes/C# x.md"),
        ("C# x.md#Use of C#", "Notes/C# x.md#Use of C#"),
    ] {
        assert_eq!(said(&scope(what, &notes.join("Notes"))), (Some("work"), Some(path)), "{what}");
    }
    assert_eq!(said(&scope("Plan.md#One", &notes.join("Notes"))), (None, Some("Plan.md#One")), "a name");
}

#[test]
fn what_is_there_is_meant_before_what_is_nearly_called_so() {
    let dir = tempfile::tempdir().unwrap();
    let (work, mine) = (dir.path().join("w"), dir.path().join("m"));
    std::fs::create_dir_all(work.join("mine")).unwrap();
    std::fs::create_dir_all(&mine).unwrap();
    std::fs::write(work.join("A.md"), "x").unwrap();
    let meant = |what: &str, vault: Option<&str>, here: &Path| {
        let served = from(here, &[("Work", &work), ("Mine", &mine)]);
        let scope = served.scope(Some(Path::new(what)), vault, |_| false);
        (scope.vault, scope.path)
    };
    let is = |vault: Option<&str>, path: Option<&str>| (vault.map(str::to_owned), path.map(str::to_owned));
    assert_eq!(meant("work", None, dir.path()), is(Some("Work"), None));
    assert_eq!(meant("Work/", None, dir.path()), is(Some("Work"), None));
    assert_eq!(meant("mine", None, dir.path()), is(None, Some("mine")), "a folder in a vault");
    assert_eq!(meant("mine", None, &work), is(Some("Work"), Some("mine")), "a folder here");
    assert_eq!(meant("Mine", None, &work), is(Some("Mine"), None), "its very name");
    assert_eq!(meant("Work", Some("Mine"), dir.path()), is(Some("Mine"), Some("Work")));
    assert_eq!(meant("Work: A.md", None, dir.path()), is(Some("Work"), Some("A.md")));
    assert_eq!(meant("Work: B.md", None, dir.path()), is(None, Some("Work: B.md")));
    assert_eq!(meant("[[A]]", None, &work), is(None, Some("[[A]]")));
    assert_eq!(meant("A", None, &work), is(None, Some("A")), "a name");
    assert_eq!(meant("A.md", None, &work), is(Some("Work"), Some("A.md")));
    assert_eq!(meant("A.md", None, dir.path()), is(None, Some("A.md")), "as printed");
    assert_eq!(meant("Gone/B.md", None, dir.path()), is(None, Some("Gone/B.md")));
}

#[test]
fn line_suffix() {
    let dir = tempfile::tempdir().unwrap();
    let vault = dir.path().join("vault");
    std::fs::create_dir_all(&vault).unwrap();
    let without = |what: &str| {
        let served = from(dir.path(), &[("work", &vault)]);
        let (path, lines) = served.without_lines(Path::new(what), |name| name == "John 3:16");
        (path.to_str().unwrap().to_owned(), lines)
    };
    for (what, path, lines) in [
        ("a.md:12", "a.md", Some((12, None))),
        ("a.md:3-9", "a.md", Some((3, Some(9)))),
        ("a.md", "a.md", None),
        ("a:b.md", "a:b.md", None),
        ("a.md:0", "a.md:0", None),
        (":3", ":3", None),
        ("a.md:3-", "a.md:3-", None),
        ("a.md:-3", "a.md:-3", None),
        ("a.md:3-0", "a.md:3-0", None),
        ("a.md:9-3", "a.md:9-3", None),
        ("a.md:3-b", "a.md:3-b", None),
        ("a.md:3-4-5", "a.md:3-4-5", None),
        ("a.md:3:7", "a.md", Some((3, None))),
        ("a.md:3:7-9", "a.md:3", Some((7, Some(9)))),
        // A note may have such a name.
        ("John 3:16", "John 3:16", None),
        ("John 3:17", "John 3", Some((17, None))),
        ("John 3:16:2", "John 3:16", Some((2, None))),
    ] {
        assert_eq!(without(what), (path.to_owned(), lines), "{what}");
    }
    // And so may a file, here or in a vault.
    #[cfg(unix)]
    for (folder, name) in [(dir.path(), "a.md:12"), (&vault, "b.md:12")] {
        assert_ne!(without(name).1, None);
        std::fs::write(folder.join(name), "").unwrap();
        assert_eq!(without(name), (name.to_owned(), None));
    }
}
