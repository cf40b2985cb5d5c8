//! What the links of a note mention, as it is stored.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use note::Link;

/// What links between notes mention ([`Link::mention`]), each once. `root` is the vault's: a link to a file in it by its
/// path on the disk mentions its path from there.
pub(super) fn mentions(links: &[Link], root: &Path) -> Vec<String> {
    let mut seen = HashSet::new();
    let mention = |link: &Link| within(link, root, protocol::folders::home).or_else(|| link.mention());
    links.iter().filter_map(mention).filter(|mention| seen.insert(mention.clone())).collect()
}

fn within(link: &Link, root: &Path, home: impl FnOnce() -> Option<PathBuf>) -> Option<String> {
    let file = link.file()?;
    let file = match file.strip_prefix("~/") {
        Some(below) => home()?.join(below),
        None => PathBuf::from(file),
    };
    let below: Vec<&str> = file.strip_prefix(root).ok()?.iter().map(|name| name.to_str()).collect::<Option<_>>()?;
    (!below.is_empty()).then(|| format!("/{}", below.join("/")))
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
            let link = note::link(text).unwrap();
            assert_eq!(within(&link, Path::new("/home/u/Notes"), home).as_deref(), expected, "{text}");
        }
    }
}
