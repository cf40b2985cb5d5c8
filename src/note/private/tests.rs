use super::*;
use crate::{NoteRules, parse};

use ignore::gitignore::GitignoreBuilder;
use proptest::prelude::*;
use std::path::Path;

fn covers(globs: &[&str], path: &str, text: &str) -> bool {
    let globs: Vec<String> = globs.iter().map(|glob| (*glob).to_owned()).collect();
    let note = parse(&VaultPath::parse(path).unwrap(), text.as_bytes(), &NoteRules::default());
    Private::new(&globs).covers_note(&note)
}

#[test]
fn a_tag_anywhere_makes_a_note_private() {
    for text in [
        "About #private things",
        "#Private",
        "#private/family",
        "---\ntags: [work, private]\n---\nx",
        "---\ntags: private/health\n---\nx",
        "---\ntag: '#PRIVATE'\n---\nx",
        "---\ntags: [\"pri\u{AD}vate\"]\n---\nx",
        "---\ntags: [\"private\u{200B}\"]\n---\nx",
        // Front matter that is no YAML is read as far as it goes.
        "---\ntags: private\nup: [[Home]]: x\n---\nx",
    ] {
        assert!(covers(&[], "a.md", text), "{text}");
    }
    for text in ["#privateer", "private", "`#private`", "#work/private", "https://x.example/#private", ""] {
        assert!(!covers(&[], "a.md", text), "{text}");
    }
}

#[test]
fn globs_are_those_of_gitignore() {
    for (glob, path) in [
        ("Journal/**", "Journal/2026/a.md"),
        ("Journal/", "Journal/2026/a.md"),
        ("Journal", "journal/a.md"),
        ("./Journal", "Journal/a.md"),
        ("/Journal/", "Journal/a.md"),
        ("*.secret.md", "deep/er/x.secret.md"),
        ("TÄGEBUCH/*", "Tägebuch/x.md"),
        ("Tägebuch/", "Ta\u{308}gebuch/x.md"),
        // Written as the folder is called, not as a class of letters.
        ("[Privat] Tagebuch/", "[Privat] Tagebuch/x.md"),
        ("{drafts}/**", "{Drafts}/x.md"),
        ("[jk]ournal", "Journal/a.md"),
        ("\\[x\\]/", "[x]/a.md"),
    ] {
        assert!(covers(&[glob], path, "x"), "{glob} {path}");
    }
    assert!(!covers(&["/Journal/"], "Old/Journal/a.md", "x"));
    assert!(!covers(&["Journal/*", "!Journal/open.md"], "Journal/open.md", "x"));
    assert!(!covers(&["[Privat] Tagebuch/", "!x.md"], "[Privat] Tagebuch/x.md", "x"));
    assert!(covers(&["Journal/*", "!Journal/open.md"], "Journal/open.md", "#private"));
    assert!(covers(&["a{b"], "anything.md", "x"), "a glob that cannot be read hides all");
    assert!(
        Private::problem("a{b").is_some()
            && Private::problem("[Z-a]*").is_some()
            && Private::problem("Journal/**").is_none()
    );
}

/// Whether the crate that reads `.gitignore` files says so; `None` if it refuses a glob.
fn as_gitignore(globs: &[String], path: &str) -> Option<bool> {
    let mut builder = GitignoreBuilder::new("");
    for glob in globs {
        builder.add_line(None, glob).ok()?;
    }
    Some(builder.build().ok()?.matched_path_or_any_parents(Path::new(path), false).is_ignore())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn globs_match_what_gitignore_matches(
        globs in proptest::collection::vec(r"[!#/\\]{0,2}(a|b|ab|\*|\*\*|\?|/|\[ab\]|\{a,b\}|\.|\[|\{| |\\|/\*\*){0,5}/?", 0..4),
        path in r"[ab. #!\[]{1,2}(/[ab. *]{1,2}){0,3}",
    ) {
        // No note has another path.
        prop_assume!(VaultPath::parse(&path).is_some());
        let ours = Globs::new(globs.iter().cloned()).ok().map(|globs| globs.cover(&path));
        prop_assert_eq!(ours, as_gitignore(&globs, &path));
    }
}
