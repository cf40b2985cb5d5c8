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
