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
