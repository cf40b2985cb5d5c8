use super::*;
use proptest::prelude::*;

#[cfg(unix)]
proptest! {
    #[test]
    fn any_file_name_round_trips(names in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 1..20), 1..4)) {
        use std::os::unix::ffi::OsStrExt;
        let clean: Vec<Vec<u8>> = names.into_iter()
            .map(|n| n.into_iter().filter(|b| *b != b'/' && *b != 0).collect::<Vec<u8>>())
            .filter(|n| !n.is_empty() && n != b"." && n != b"..").collect();
        prop_assume!(!clean.is_empty());
        let path: PathBuf = clean.iter().map(|n| OsStr::from_bytes(n)).collect();
        let vault_path = VaultPath::from_relative(&path).unwrap();
        prop_assert_eq!(vault_path.to_relative(), path);
        prop_assert_eq!(VaultPath::parse(vault_path.as_str()), Some(vault_path));
    }
}

#[test]
fn the_private_use_characters_of_the_escape_round_trip_too() {
    let path = Path::new("a\u{F7A0}b.md");
    assert_eq!(VaultPath::from_relative(path).unwrap().to_relative(), path);
}

#[cfg(windows)]
proptest! {
    #[test]
    fn any_file_name_round_trips(names in proptest::collection::vec(proptest::collection::vec(any::<u16>(), 1..20), 1..4)) {
        use std::os::windows::ffi::OsStringExt;
        let unfit: Vec<u16> = "/\\:*?\"<>|.".encode_utf16().collect();
        let clean: Vec<Vec<u16>> = names.into_iter()
            .map(|n| n.into_iter().filter(|unit| *unit >= 0x20 && !unfit.contains(unit)).collect::<Vec<u16>>())
            .filter(|n| !n.is_empty()).collect();
        prop_assume!(!clean.is_empty());
        let path: PathBuf = clean.iter().map(|n| OsString::from_wide(n)).collect();
        prop_assert_eq!(VaultPath::from_relative(&path).unwrap().to_relative(), path);
    }
}

#[cfg(windows)]
#[test]
fn paths_to_drives_streams_and_above_are_refused() {
    for bad in [r"..\x", r"a\..\..\x", "C:x", "C:/x", "note.md:stream", r"\\host\share"] {
        assert_eq!(VaultPath::parse(bad), None, "{bad}");
    }
}

#[test]
fn paths_that_leave_the_vault_are_refused() {
    for bad in ["", "/etc/passwd", "../x", "a/../../x", "a//b", "./a", "a\0b"] {
        assert_eq!(VaultPath::parse(bad), None, "{bad}");
    }
    assert_eq!(VaultPath::from_relative(Path::new("/abs")), None);
    assert_eq!(VaultPath::from_relative(Path::new("a/../b")), None);
}

#[test]
fn parts() {
    let path = VaultPath::parse("Projects/2026/Plan.v2.md").unwrap();
    assert_eq!((path.folder(), path.file_name(), path.stem()), ("Projects/2026", "Plan.v2.md", "Plan.v2"));
    assert!(path.is_under(&VaultPath::parse("Projects").unwrap()));
    assert!(!path.is_under(&VaultPath::parse("Proj").unwrap()));
}

#[test]
fn names_that_logseq_gives_to_pages_and_journals() {
    for (path, page) in [
        ("pages/projects___alpha.md", Some("projects/alpha")),
        ("pages/projects%2Fbeta.md", Some("projects/beta")),
        ("a___b___c %25.org", Some("a/b/c %")),
        ("Question%3F.md", Some("Question?")),
        ("%C3%A4.md", Some("ä")),
        ("plain.md", None),
        ("100%.md", None),
        ("%FF.md", None),
        ("%20.md", None),
        ("a%0Ab.md", None),
        ("___init___.md", None),
        ("a__b.md", None),
        ("a/Recipe ideas.textbundle/text.md", Some("Recipe ideas")),
        ("a/Recipe ideas.textbundle/more.md", None),
    ] {
        assert_eq!(VaultPath::parse(path).unwrap().page().as_deref(), page, "{path}");
    }
    for (path, day) in [
        ("journals/2026_03_05.md", Some("Mar 5th, 2026")),
        ("2026-12-01.md", Some("Dec 1st, 2026")),
        ("2026_05_22.org", Some("May 22nd, 2026")),
        ("2026_09_23.md", Some("Sep 23rd, 2026")),
        ("2026_01_11.md", Some("Jan 11th, 2026")),
        ("2026.03.05.md", None),
        ("2026_3_05.md", None),
        ("2026_13_05.md", None),
        ("2026_03_05 x.md", None),
    ] {
        assert_eq!(VaultPath::parse(path).unwrap().journal_title().as_deref(), day, "{path}");
    }
}
