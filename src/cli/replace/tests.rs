use super::*;

fn names(folder: &Path) -> Vec<String> {
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = names.map(|name| name.to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_file_that_somebody_changed_stays_and_nothing_is_left_beside_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("servers.json");
    std::fs::write(&path, "changed meanwhile").unwrap();
    let refused = file(&path, Some("as it was read"), "new", true).unwrap_err();
    assert!(refused.to_string().contains("nothing was written"), "{refused}");
    assert_eq!(names(dir.path()), ["servers.json"]);
    let backup = file(&path, Some("changed meanwhile"), "new", true).unwrap().unwrap();
    assert_eq!(std::fs::read_to_string(backup).unwrap(), "changed meanwhile");
    assert_eq!(names(dir.path()), ["servers.json", "servers.json.before-situated"]);
}
