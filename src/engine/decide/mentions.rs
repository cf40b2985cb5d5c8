//! What the links of a note mention, as it is stored.

use std::cell::LazyCell;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

use note::{Link, LinkKind, Note};

/// What marks the root from which a link in a vault that is a part of something larger may be written.
const ROOTS: [&str; 2] = [".obsidian", ".git"];

/// What links between notes mention ([`Link::mention`]), each once; with `tags` also what its tags do. `root` is the
/// vault's: a link to a file in it by its path on the disk mentions its path from there.
pub(super) fn mentions(note: &Note, tags: bool, root: &Path) -> Vec<String> {
    let mut seen = HashSet::new();
    let real = LazyCell::new(|| root.canonicalize().ok());
    let home = protocol::folders::home;
    let of_file = |file: String| within(&file, root, home).or_else(|| within(&file, real.as_deref()?, home));
    let of_root = |link: &Link| Link { target: below(link, root, Path::exists)?, ..link.clone() }.mention();
    let mention = |link: &Link| link.file().and_then(of_file).or_else(|| of_root(link)).or_else(|| link.mention());
    let tags = note.tags.iter().filter(|_| tags).map(|tag| format!("#{tag}"));
    let mentions = note.links.iter().filter_map(mention).chain(tags);
    mentions.filter(|mention| seen.insert(mention.clone())).collect()
}

/// The path from the vault's root of the file that a path on the disk names.
fn within(file: &str, root: &Path, home: impl FnOnce() -> Option<PathBuf>) -> Option<String> {
    let file = match file.strip_prefix("~/") {
        Some(below) => home()?.join(below),
        None => PathBuf::from(file),
    };
    let below: Vec<&str> = file.strip_prefix(root).ok()?.iter().map(|name| name.to_str()).collect::<Option<_>>()?;
    (!below.is_empty()).then(|| format!("/{}", below.join("/")))
}

/// The path from the vault's root of what a link names from the root of the repository, or of Obsidian's vault, that the
/// vault is a part of.
fn below(link: &Link, root: &Path, exists: impl Fn(&Path) -> bool) -> Option<String> {
    let (path, marks) = match link.target.strip_prefix('/') {
        Some(path) => (path, &ROOTS[..]),
        // Obsidian writes whole paths without a slash before them.
        None if link.kind == LinkKind::Wiki => (link.target.as_str(), &ROOTS[..1]),
        None => return None,
    };
    let is_own = || path.split('/').next().is_some_and(|first| exists(&root.join(first)));
    root.ancestors().skip(1).find_map(|above| {
        let rest = Path::new(path).strip_prefix(root.strip_prefix(above).ok()?).ok()?.to_str()?;
        let is_root = || marks.iter().any(|mark| exists(&above.join(mark)));
        (!rest.is_empty() && is_root() && !is_own()).then(|| format!("/{rest}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_the_vault_are_mentioned_from_its_root() {
        let home = || Some(PathBuf::from("/home/u"));
        for (text, expected) in [
            ("[x](/home/u/Notes/sub/a.md)", Some("/sub/a.md")),
            ("[x](file:///home/u/Notes/My%20Plan.md#h)", Some("/My Plan.md")),
            ("[x](~/Notes/a.org)", Some("/a.org")),
            ("[x](~/Other/a.org)", None),
            ("[x](/sub/a.md)", None),
            ("[x](/home/u/Notes)", None),
            ("[x](/home/u/Notes2/a.md)", None),
            ("[x](https://a.b/home/u/Notes/a.md)", None),
        ] {
            let file = note::link(text).unwrap().file();
            let place = file.and_then(|file| within(&file, Path::new("/home/u/Notes"), home));
            assert_eq!(place.as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn what_is_named_from_a_root_above_is_mentioned_from_the_vault() {
        let there = ["/r/.git", "/r/p/docs/own", "/home/u/.obsidian"].map(Path::new);
        for (root, text, expected) in [
            ("/r/p/docs", "[x](/p/docs/sub/a.md)", Some("/sub/a.md")),
            ("/r/p/docs", "[x](p/docs/a.md)", None),
            ("/r/p/docs", "[x](/docs/a.md)", None),
            ("/r/p/docs", "[x](/p/docs)", None),
            ("/r/p/docs", "[x](/p/other/a.md)", None),
            ("/r/docs", "[x](/docs/a.md)", Some("/a.md")),
            ("/r/docs", "[[docs/a]]", None),
            ("/r/p/docs/own", "[x](/own/a.md)", None),
            ("/home/u/Work", "[[Work/Projects/Plan|plan]]", Some("/Projects/Plan")),
            ("/home/u/Work", "[[Workshop/Plan]]", None),
            ("/home/v/Work", "[[Work/Projects/Plan]]", None),
        ] {
            let link = note::link(text).unwrap();
            assert_eq!(below(&link, Path::new(root), |path| there.contains(&path)).as_deref(), expected, "{text}");
        }
        let own = note::link("[x](/own/a.md)").unwrap();
        assert_eq!(below(&own, Path::new("/r/own"), |path| there.contains(&path) || path.ends_with("own/own")), None);
    }

    // Links name paths with slashes.
    #[cfg(unix)]
    #[test]
    fn each_is_mentioned_once() {
        use note::{NoteRules, VaultPath};

        let dir = tempfile::tempdir().unwrap();
        let (real, root) = (dir.path().join("real"), dir.path().join("link"));
        std::fs::create_dir(&real).unwrap();
        std::os::unix::fs::symlink(&real, &root).unwrap();
        let real = real.canonicalize().unwrap();
        let text = format!("#Read [[A]] [a](A) [r]({}/r.md) [l]({}/l.md)", real.display(), root.display());
        let note = note::parse(&VaultPath::parse("n.md").unwrap(), text.as_bytes(), &NoteRules::default());
        assert_eq!(mentions(&note, true, &root), ["A", "/r.md", "/l.md", "#Read"]);
        assert_eq!(mentions(&note, false, &root).len(), 3);
    }
}
