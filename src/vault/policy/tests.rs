//! Tables of verdicts, and the property that a path alone is judged as the walk judges it.

use std::collections::BTreeSet;
use std::fs;
use std::sync::atomic::AtomicBool;

use super::*;
use crate::walk::walk;
use proptest::prelude::*;

fn path(text: &str) -> VaultPath {
    VaultPath::parse(text).unwrap()
}

fn policy(root: &Path, exclude: &[&str]) -> Policy {
    let mut config = VaultConfig::new("test", root);
    config.exclude = exclude.iter().map(|glob| (*glob).to_owned()).collect();
    Policy::new(root, &config).unwrap()
}

/// A vault with these ignore files.
fn vault(files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let file = dir.path().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    dir
}

#[test]
fn verdicts_by_name() {
    let dir = vault(&[]);
    let policy = policy(dir.path(), &[]);
    let notes = [
        "a.md",
        "a/b/c.MD",
        "x.Markdown",
        "t.txt",
        "a b.md",
        "\u{F7FF}.md",
        "note.sync-conflict-20260101-101010-ABCDEFG.md",
    ];
    for name in notes {
        assert_eq!(policy.verdict(&path(name), false), EntryKind::Note, "{name}");
    }
    let ignored = [
        (
            Why::DotName,
            ".md .obsidian/x.md a/.trash/b/x.md .#a.md .a.md.swp .note.md.ISE5wh .syncthing.a.md.tmp .a.md.icloud",
        ),
        (Why::Temporary, "a.md~ a.swp a.swx #a.md# a.md.tmp 4913 sedA1b2C3 ~$a.txt a.md.part"),
        (Why::NotANote, "a.png a amd a.md.bak sedimentary a.tid Makefile"),
    ];
    for (why, names) in ignored {
        for name in names.split(' ') {
            assert_eq!(policy.verdict(&path(name), false), EntryKind::Ignored(why), "{name}");
        }
    }
    for name in ["a", "a.md", "4913", "sediments", "sedA1b2C3", "a/b c"] {
        assert_eq!(policy.verdict(&path(name), true), EntryKind::Folder, "{name}");
    }
}

#[test]
fn verdicts_by_ignore_files() {
    let dir = vault(&[
        (".gitignore", "\u{FEFF}drafts/\n*.txt\n/top.md\nkept/*\n!kept/a.md\n# comment\nbad{glob\nnames\u{fc}\n"),
        (".situatedignore", "!drafts/\nsecret*\n"),
        ("sub/.gitignore", "!*.txt\ndeep/x.md\n"),
        ("sub/deep/.situatedignore", "!x.md\n"),
        ("shut/.gitignore", "!*.txt\n"),
        ("shut2/.gitignore", "*\n"),
    ]);
    let policy = policy(dir.path(), &["shut/", "./Templates/**", "!listed.txt", "old-*"]);
    use Why::{Excluded, GitIgnore, SituatedIgnore};
    let cases = [
        ("drafts/a.md", Ok(()), "the other ignore file of the same folder wins"),
        ("a.txt", Err(GitIgnore), ""),
        ("any/where/a.txt", Err(GitIgnore), "without a slash a glob matches at any depth"),
        ("top.md", Err(GitIgnore), ""),
        ("any/top.md", Ok(()), "a leading slash anchors"),
        ("kept/a.md", Ok(()), ""),
        ("kept/b.md", Err(GitIgnore), ""),
        ("sub/a.txt", Ok(()), "the deeper file wins"),
        ("sub/other/a.txt", Ok(()), "the deeper file holds below its folder"),
        ("sub/deep/x.md", Ok(()), "the deepest wins"),
        ("shut/a.txt", Err(Excluded), "nothing comes back out of an ignored folder"),
        ("shut2/a/b.md", Err(GitIgnore), ""),
        ("x/secret plans/a.md", Err(SituatedIgnore), ""),
        ("Templates/daily.md", Err(Excluded), "a leading ./ is forgiven"),
        ("x/Templates/daily.md", Ok(()), "a glob with a slash is anchored"),
        ("listed.txt", Ok(()), "the configuration can keep what an ignore file drops"),
        ("x/old-plan.md", Err(Excluded), ""),
    ];
    for (name, expected, why) in cases {
        let expected = expected.map_or_else(EntryKind::Ignored, |()| EntryKind::Note);
        assert_eq!(policy.verdict(&path(name), false), expected, "{name} {why}");
    }
    assert_eq!(policy.verdict(&path("Templates"), true), EntryKind::Folder);
    assert_eq!(policy.verdict(&path("kept"), true), EntryKind::Folder);
    assert!(policy.is_ignore_file(&path("a/.gitignore")) && policy.is_ignore_file(&path(".situatedignore")));
    assert!(!policy.is_ignore_file(&path(".gitignore/a.md")));
}

#[test]
fn installed_packages_are_left_out_unless_they_are_asked_for() {
    let dir = vault(&[("kept/.situatedignore", "!node_modules/\n"), ("git/.gitignore", "node_modules/\n")]);
    let policy = policy(dir.path(), &["!named/node_modules"]);
    for (name, expected) in [
        ("node_modules/left-pad/README.md", Some(Why::Packages)),
        ("web/app/node_modules/a/b.md", Some(Why::Packages)),
        ("venv/lib/python3.13/site-packages/pip/LICENSE.txt", Some(Why::Packages)),
        ("git/node_modules/a.md", Some(Why::GitIgnore)),
        ("kept/node_modules/a.md", None),
        ("kept/web/node_modules/a.md", None),
        ("named/node_modules/a.md", None),
        ("node_modules.md", None),
        ("my node_modules/a.md", None),
    ] {
        let expected = expected.map_or(EntryKind::Note, EntryKind::Ignored);
        assert_eq!(policy.verdict(&path(name), false), expected, "{name}");
    }
}

#[test]
fn a_bad_glob_is_named() {
    let dir = vault(&[]);
    for glob in ["a{b", "[z-a].md", "notes/[ab"] {
        let mut config = VaultConfig::new("test", dir.path());
        config.exclude = vec!["fine".into(), glob.into()];
        let error = Policy::new(dir.path(), &config).err().unwrap().to_string();
        assert!(error.contains(&format!("`{glob}`")), "{error}");
    }
}

#[test]
fn a_walk_reads_ignore_files_anew() {
    let dir = vault(&[("a/x.md", ""), ("a/.gitignore", "x.md")]);
    let policy = policy(dir.path(), &[]);
    assert_eq!(policy.verdict(&path("a/x.md"), false), EntryKind::Ignored(Why::GitIgnore));
    fs::remove_file(dir.path().join("a/.gitignore")).unwrap();
    let found = walk(dir.path(), &policy, Some(&path("a")), &AtomicBool::new(false)).unwrap();
    assert_eq!(found.files.len(), 1);
    assert_eq!(policy.verdict(&path("a/x.md"), false), EntryKind::Note);
}

#[cfg(unix)]
#[test]
fn an_ignore_file_that_is_no_file_of_the_vault_is_not_read() {
    let dir = vault(&[("outside", "*.md\n"), ("vault/a.md", ""), ("vault/sub/a.md", "")]);
    let root = dir.path().join("vault");
    std::os::unix::fs::symlink("../outside", root.join(".gitignore")).unwrap();
    crate::testing::make_fifo(&root.join("sub/.situatedignore"));
    let policy = policy(&root, &[]);
    assert_eq!(policy.verdict(&path("a.md"), false), EntryKind::Note);
    assert_eq!(policy.verdict(&path("sub/a.md"), false), EntryKind::Note);
}

#[test]
fn copies_of_conflicts() {
    let copies = [
        "a.sync-conflict-20260101-101010-ABCDEFG.md",
        "Plan (Ann's conflicted copy 2026-01-01).md",
        "Plan (Conflicted copy phone 202601011200).md",
        "Plan (conflict copy).md",
        "Plan (Case Conflict 1).md",
        "Plan (SFConflict ann@example.org 2026-01-01-10-10-10).md",
        "Plan_conflict-20260101-101010.md",
        "Plan_laptop_Jan-01-101010-2026_Conflict.md",
        "Plan.Conflict.md",
    ];
    for name in copies {
        assert!(is_conflict(path(&format!("x/{name}")).file_name()), "{name}");
    }
    for name in [
        "Resolving a conflicted copy.md",
        "Conflict.md",
        "conflict (2024).md",
        "(conflicted copy/a.md",
        "war_conflict-zones.md",
    ] {
        assert!(!is_conflict(path(name).file_name()), "{name}");
    }
}

/// A small tree of names that ignore files below are likely to speak of.
fn trees() -> impl Strategy<Value = Vec<(String, Option<String>)>> {
    // A byte that is no character, which no name has on Windows.
    let raw = if cfg!(windows) { "c" } else { "\u{F7FF}" };
    let name = move || proptest::sample::select(vec!["a", "b", "drafts", "x y", ".hidden", raw]);
    let folder = proptest::collection::vec(name(), 0..4).prop_map(|names| names.join("/"));
    let file = proptest::sample::select(vec!["a.md", "b.MD", "c.txt", ".d.md", "e.png", "f.md~", "g.markdown"]);
    let line = proptest::sample::select(vec![
        "*.md",
        "!*.md",
        "a/",
        "!a/",
        "/a",
        "b",
        "!b",
        "drafts/",
        "**/a.md",
        "a/**",
        "!a/b/",
        "*",
        "!*/",
        "c.txt",
        "x\\ y",
        "b/*.txt",
        "!/b/c.txt",
        "[",
        "{",
    ]);
    let ignore_file =
        (proptest::sample::select(vec![".gitignore", ".situatedignore"]), proptest::collection::vec(line, 0..4))
            .prop_map(|(name, lines)| (name, Some(lines.join("\n"))));
    let entry = prop_oneof![3 => file.prop_map(|name| (name, None)), 1 => ignore_file];
    proptest::collection::vec((folder, entry), 0..30).prop_map(|entries| {
        let place = |folder: String, name: &str| {
            if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
        };
        entries.into_iter().map(|(folder, (name, text))| (place(folder, name), text)).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_path_is_judged_as_the_walk_judges_it(
        tree in trees(),
        exclude in proptest::collection::vec(proptest::sample::select(vec!["a/", "*.txt", "!b/c.txt", "/drafts/a.md"]), 0..2),
    ) {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in &tree {
            let file = dir.path().join(path(name).to_relative());
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text.as_deref().unwrap_or("")).unwrap();
        }
        let found = walk(dir.path(), &policy(dir.path(), &exclude), None, &AtomicBool::new(false)).unwrap();
        let walked: BTreeSet<VaultPath> = found.files.into_iter().map(|(path, _)| path).collect();

        // One policy never saw a walk, so that it reads each ignore file when a path asks for it.
        let alone = policy(dir.path(), &exclude);
        let judged: BTreeSet<VaultPath> = tree.iter().map(|(name, _)| path(name))
            .filter(|path| alone.verdict(path, false) == EntryKind::Note).collect();
        prop_assert_eq!(&judged, &walked);

        let folders: BTreeSet<VaultPath> = tree.iter()
            .flat_map(|(name, _)| path(name).ancestors().map(path).collect::<Vec<_>>())
            .filter(|folder| alone.verdict(folder, true) == EntryKind::Folder).collect();
        prop_assert_eq!(folders.into_iter().collect::<Vec<_>>(), found.folders);

        // And walking a part gives that part.
        for part in ["a", "b", "drafts/a", "a/a.md"].map(path) {
            let found = walk(dir.path(), &alone, Some(&part), &AtomicBool::new(false)).unwrap();
            let files: Vec<VaultPath> = found.files.into_iter().map(|(path, _)| path).collect();
            let expected: Vec<VaultPath> = walked.iter().filter(|path| path.is_under(&part)).cloned().collect();
            prop_assert_eq!(files, expected, "{}", part);
        }
    }
}

#[test]
fn old_versions_that_logseq_keeps_are_left_out_unless_they_are_asked_for() {
    let dir = vault(&[]);
    let left_out = EntryKind::Ignored(Why::OldVersions);
    for (name, verdict) in [
        ("logseq/bak/pages/Plan/2026-03-05T10_00_00.000Z.Desktop.md", left_out),
        ("graph/logseq/bak/x.md", left_out),
        ("logseq/version-files/base/x.md", left_out),
        ("logseq/.recycle/pages_x.md", EntryKind::Ignored(Why::DotName)),
        ("logseq/custom.md", EntryKind::Note),
        ("logseq/bak.md", EntryKind::Note),
        ("pages/bak/x.md", EntryKind::Note),
        ("mylogseq/bak/x.md", EntryKind::Note),
    ] {
        assert_eq!(policy(dir.path(), &[]).verdict(&path(name), false), verdict, "{name}");
    }
    let kept = policy(dir.path(), &["!logseq/bak"]);
    assert_eq!(kept.verdict(&path("logseq/bak/x.md"), false), EntryKind::Note);
}

#[test]
fn folders_of_templates_are_left_out_unless_they_are_asked_for() {
    let dir = vault(&[
        (".obsidian/templates.json", r#"{"folder":"Extras/Templates/","dateFormat":"YYYY"}"#),
        (".obsidian/plugins/templater-obsidian/data.json", r#"{"command_timeout":5,"templates_folder":"Templater"}"#),
    ]);
    let left_out = EntryKind::Ignored(Why::Templates);
    for (name, verdict) in [
        ("Extras/Templates/Daily.md", left_out),
        ("Extras/Templates/deep/er.md", left_out),
        ("Templater/x.md", left_out),
        ("Extras/Templates.md", EntryKind::Note),
        ("Extras/Other.md", EntryKind::Note),
        ("Templates/x.md", EntryKind::Note),
    ] {
        assert_eq!(policy(dir.path(), &[]).verdict(&path(name), false), verdict, "{name}");
    }
    let kept = policy(dir.path(), &["!Templater"]);
    assert_eq!(kept.verdict(&path("Templater/x.md"), false), EntryKind::Note);
    // A walk reads the settings again.
    assert_eq!(kept.verdict(&path("Extras/Templates/Daily.md"), false), left_out);
    std::fs::write(dir.path().join(".obsidian/templates.json"), r#"{"folder":"Forms"}"#).unwrap();
    assert_eq!(kept.verdict(&path("Forms/x.md"), false), EntryKind::Note);
    kept.refresh(None, &None, IgnoreFiles::default());
    assert_eq!(kept.verdict(&path("Forms/x.md"), false), left_out);
    assert_eq!(kept.verdict(&path("Extras/Templates/Daily.md"), false), EntryKind::Note);
    for broken in [r#"{"folder":""}"#, r#"{"folder":"/"}"#, r#"{"folder":"../up"}"#, r#"{"folder":7}"#, "[]", ""] {
        let dir = vault(&[(".obsidian/templates.json", broken)]);
        assert_eq!(policy(dir.path(), &[]).verdict(&path("a/b.md"), false), EntryKind::Note, "{broken}");
    }
}
