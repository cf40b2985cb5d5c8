use super::super::exit;
use super::*;

#[test]
fn the_vault_is_found_upwards_by_its_mark() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    for (vault, mark) in [("o", ".obsidian"), ("z", ".zk")] {
        std::fs::create_dir_all(root.join(vault).join(mark)).unwrap();
        std::fs::create_dir_all(root.join(vault).join("a/b")).unwrap();
        assert_eq!(named(None, &root.join(vault).join("a/b")).unwrap(), root.join(vault));
    }
    std::fs::create_dir_all(root.join("l/logseq")).unwrap();
    std::fs::write(root.join("l/logseq/config.edn"), "{}").unwrap();
    assert_eq!(named(None, &root.join("l/logseq")).unwrap(), root.join("l"));
    assert_eq!(named(Some(Path::new("a")), &root.join("o")).unwrap(), root.join("o/a"));
    assert_eq!(named(Some(Path::new("nowhere")), &root).unwrap_err().code(), exit::USAGE);
    assert_eq!(named(Some(Path::new("l/logseq/config.edn")), &root).unwrap_err().code(), exit::USAGE);
}

#[test]
fn the_vaults_of_a_home() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().canonicalize().unwrap();
    let folder = |path: &str| std::fs::create_dir_all(home.join(path)).unwrap();
    folder(".obsidian");
    folder("Documents/Brain/.obsidian");
    folder("Documents/Brain/Inner/.obsidian");
    folder("zk/.zk");
    folder("node_modules/x/.obsidian");
    folder(".hidden/v/.obsidian");
    folder("a/b/c/d/e/.obsidian");
    folder("elsewhere/deep/er/still/and/more/Listed/.obsidian");
    folder(".config/obsidian");
    #[cfg(unix)]
    std::os::unix::fs::symlink(&home, home.join("loop")).unwrap();
    let listed = home.join("elsewhere/deep/er/still/and/more/Listed");
    let list = serde_json::json!({ "vaults": {
        "1": { "path": listed, "ts": 1 }, "2": { "path": "/nowhere/at/all" }, "3": { "path": "relative" }, "4": 5,
    }});
    std::fs::write(home.join(".config/obsidian/obsidian.json"), list.to_string()).unwrap();
    std::fs::write(home.join("zk/one.md"), "x").unwrap();
    let found = at_home(&home);
    let paths: Vec<&Path> = found.iter().map(|found| found.path.strip_prefix(&home).unwrap()).collect();
    assert_eq!(paths, [Path::new("Documents/Brain"), listed.strip_prefix(&home).unwrap(), Path::new("zk")]);
    assert_eq!((found[2].kind, found[2].notes, found[2].more), ("zk", 1, false));
}
