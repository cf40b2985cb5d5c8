use std::collections::BTreeMap;
use std::path::Path;

fn collect(folder: &Path, root: &Path, found: &mut BTreeMap<String, String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, root, found);
        } else {
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            found.insert(name, std::fs::read_to_string(&path).unwrap());
        }
    }
}

#[test]
fn the_list_is_the_folder() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vault");
    let mut found = BTreeMap::new();
    if root.exists() {
        collect(&root, &root, &mut found);
    }
    let listed: BTreeMap<String, String> =
        super::FILES.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
    let names = |map: &BTreeMap<String, String>| map.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&listed), names(&found), "the build script lists what tests/vault holds");
    assert_eq!(listed, found);
}
