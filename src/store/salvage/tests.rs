use super::*;

#[test]
fn only_damage_is_damage() {
    use io::ErrorKind as Kind;
    let io = |error: io::Error| Fault::from(sled::Error::Io(error));
    for code in [28, 13, 30, 122, 24, 5, 11] {
        let fault = io(io::Error::from_raw_os_error(code));
        assert!(matches!(fault, Fault::Environment(_)), "{code}: {fault:?}");
        // sled wraps errors of its other threads again.
        let again = io(io::Error::other(format!("{:?}", io::Error::from_raw_os_error(code))));
        assert!(matches!(again, Fault::Environment(_)), "{code}: {again:?}");
    }
    for kind in [Kind::UnexpectedEof, Kind::InvalidData, Kind::NotFound, Kind::Other, Kind::NotADirectory] {
        assert!(matches!(io(kind.into()), Fault::Damaged(_)), "{kind}");
    }
    assert!(matches!(sled::Error::ReportableBug("x".into()).into(), Fault::Damaged(_)));
}

#[test]
fn a_panic_is_a_fault_without_its_words() {
    let fault = guarded::<()>(|| panic!("private words")).unwrap_err();
    let Fault::Damaged(message) = &fault else { panic!("{fault:?}") };
    assert!(message.contains("salvage/tests.rs") && !message.contains("private"), "{message}");
    for code in [28, 11] {
        let error = io::Error::from_raw_os_error(code);
        let fault = guarded(|| Err::<(), _>(error).map_err(|error| panic!("{error:?}"))).unwrap_err();
        assert!(matches!(fault, Fault::Environment(_)), "{fault:?}");
    }
}

#[test]
fn names_of_what_is_moved_aside_are_unique() {
    let dir = tempfile::tempdir().unwrap();
    let mut seen = std::collections::HashSet::new();
    for _ in 0..3 {
        fs::create_dir(dir.path().join("sled")).unwrap();
        assert!(seen.insert(move_aside(&dir.path().join("sled")).unwrap()));
    }
    assert!(seen.iter().all(|path| path.is_dir()));
}
