use super::*;

fn vault(path: &Path) -> Found {
    Found { path: path.to_path_buf(), kind: "zk", notes: 3, more: false }
}

#[test]
fn answers() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().canonicalize().unwrap();
    std::fs::create_dir_all(home.join("My Notes")).unwrap();
    let found = [vault(Path::new("/a")), vault(Path::new("/b"))];
    let chosen = |answer: &str| choose(answer, &found, Some(&home), Path::new("/"));
    let paths = |paths: &[&str]| Ok(paths.iter().map(PathBuf::from).collect::<Vec<_>>());
    assert_eq!(chosen("all"), paths(&["/a", "/b"]));
    assert_eq!(chosen("2"), paths(&["/b"]));
    assert_eq!(chosen("2, 1 2"), paths(&["/b", "/a"]));
    assert_eq!(chosen("~/My Notes"), Ok(vec![home.join("My Notes")]));
    for wrong in ["0", "3", "1 x", "/nowhere/at/all", ""] {
        assert!(chosen(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn three_questions() {
    let found = [vault(Path::new("/a")), vault(Path::new("/b"))];
    let talked = |input: &str| {
        let (mut input, mut talk) = (input.as_bytes(), Vec::new());
        let mut asker = Asker { input: &mut input, talk: &mut talk };
        let answers = asker
            .vaults(&found, false, None, Path::new("/"))
            .and_then(|vaults| Ok(Answers { vaults, provider: asker.provider()?, at_login: asker.at_login()? }));
        (answers, String::from_utf8(talk).unwrap())
    };
    let (answers, talk) = talked("\n\n\n");
    let all = Answers { vaults: vec!["/a".into(), "/b".into()], provider: Provider::Template, at_login: true };
    assert_eq!(answers.unwrap(), all, "{talk}");
    let (answers, talk) = talked("9\n1\nclaude\nollama\nn\n");
    let one = Answers { vaults: vec!["/a".into()], provider: Provider::Ollama, at_login: false };
    assert_eq!(answers.unwrap(), one);
    assert!(talk.contains("there is no number 9") && talk.contains("there is free, anthropic"), "{talk}");
    for input in ["", "1\n", "9\n9\n9\n9\n"] {
        assert!(talked(input).0.is_err(), "{input:?}");
    }
}
