use super::*;

#[test]
fn addresses_go_there_and_back() {
    for (vault, path) in [("notes", "a/b.md"), ("my notes", "Grüße?/100 % #1.md"), ("a:b", "x\u{202E}y\nz.md")] {
        let uri = uri(vault, path);
        assert!(uri.bytes().all(|b| b.is_ascii_graphic()), "{uri}");
        assert_eq!(place(&uri), Some((vault.to_owned(), path.to_owned())));
    }
    assert_eq!(uri("my notes", "a b.md"), "note://my%20notes/a%20b.md");
    for wrong in [
        "file:///etc/passwd",
        "note://notes",
        "note:///a.md",
        "note://n/",
        "note://n/%zz",
        "note://n/%f",
        "note://n/%FF",
    ] {
        assert_eq!(place(wrong), None, "{wrong}");
    }
}

#[test]
fn a_note_is_named_as_a_model_comes_by_its_name() {
    let table = [
        ("a/b.md", None, "a/b.md", None),
        (" a.md", None, " a.md", None),
        ("note://my%20notes/a%20b.md", Some("my notes"), "a b.md", None),
        ("file:///home/me/a%20b.md", None, "/home/me/a b.md", None),
        ("obsidian://open?vault=A%20B&file=Boats%2FHarbour", Some("A B"), "Boats/Harbour", None),
        ("obsidian://open?path=%2Fhome%2Fme%2FA%20b.md", None, "/home/me/A b.md", None),
        ("pub/Note 0.md:5-11", None, "pub/Note 0.md", Some((5, Some(11)))),
        ("note://A/Note.md:5", Some("A"), "Note.md", Some((5, None))),
        ("John 3:16", None, "John 3:16", None),
        ("x\\u{202e}y.md", None, "x\u{202E}y.md", None),
    ];
    for (typed, vault, path, lines) in table {
        let meant = Named { vault: vault.map(str::to_owned), path: path.to_owned(), lines };
        assert_eq!(named(typed, None), meant, "{typed}");
    }
    assert_eq!(named("a.md", Some(&"v".to_owned())).vault.as_deref(), Some("v"));
    let vaults = [("My Notes", "/n/Notes"), ("Notes2", "/n/Work"), ("Work", "/n/other")]
        .map(|(name, path)| VaultInfo { name: name.into(), path: path.into(), default: false });
    for (name, known) in [("Notes", Some("My Notes")), ("Work", Some("Work")), ("Nowhere", None)] {
        assert_eq!(of_obsidian(name, &vaults).as_deref(), known, "{name}");
    }
}
