//! Adds, removes and renames vaults in the text of a configuration; comments, order and everything else stay. Pure.

use std::path::Path;

use toml_edit::{ArrayOfTables, DocumentMut, Item, Table, value};

use crate::cli::toml_text;

/// The text with one more vault.
///
/// # Errors
/// It is not TOML, or its vaults are written as values in brackets.
pub(super) fn added(text: &str, name: &str, path: &Path) -> Result<String, String> {
    edited(text, |document| {
        let mut table = Table::new();
        table.insert("name", value(name));
        table.insert("path", value(path.to_string_lossy().as_ref()));
        // An empty line before it, as before those that a person writes.
        table.decor_mut().set_prefix("\n");
        tables(document)?.push(table);
        Ok(())
    })
}

/// The text without the vault at this position, counted from 0. Comments before it stay if a vault follows.
///
/// # Errors
/// As [`added`]; or there are fewer vaults.
pub(super) fn removed(text: &str, at: usize) -> Result<String, String> {
    edited(text, |document| {
        let tables = tables(document)?;
        let gone = tables.get(at).ok_or_else(nowhere)?.decor().prefix().and_then(|prefix| prefix.as_str());
        let above = gone.filter(|text| text.contains('#')).map(str::to_owned);
        tables.remove(at);
        if let (Some(above), Some(next)) = (above, tables.get_mut(at)) {
            let own = next.decor().prefix().and_then(|prefix| prefix.as_str()).unwrap_or_default().to_owned();
            next.decor_mut().set_prefix(if own.contains('#') { own } else { above });
        }
        Ok(())
    })
}

/// The text in which the vault at this position has another name.
///
/// # Errors
/// As [`removed`].
pub(super) fn renamed(text: &str, at: usize, name: &str) -> Result<String, String> {
    edited(text, |document| {
        toml_text::set(tables(document)?.get_mut(at).ok_or_else(nowhere)?, "name", name);
        Ok(())
    })
}

fn edited(text: &str, edit: impl FnOnce(&mut DocumentMut) -> Result<(), String>) -> Result<String, String> {
    let mut document = toml_text::parsed(text)?;
    edit(&mut document)?;
    Ok(toml_text::written(text, &document))
}

fn tables(document: &mut DocumentMut) -> Result<&mut ArrayOfTables, String> {
    let vaults = document.entry("vault").or_insert_with(|| Item::ArrayOfTables(ArrayOfTables::new()));
    let inline = || "its vaults are not written as [[vault]] tables, which alone can be edited here".to_owned();
    vaults.as_array_of_tables_mut().ok_or_else(inline)
}

fn nowhere() -> String {
    "the vault is not written in it".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# mine\nlog = \"info\"\n\n# The vaults\n[[vault]]\nname = \"a\" # first\npath = \"/a\"\nexclude = [\"x/\"]\n\n[[vault]]\npath = \"/b\"\n\n# later\n[search]\nlimit = 3\n";

    #[test]
    fn a_vault_is_added_behind_the_others_and_all_else_stays() {
        let new = added(TEXT, "new \"one\"", Path::new("/n/ö")).unwrap();
        let expected =
            TEXT.replace("path = \"/b\"\n", "path = \"/b\"\n\n[[vault]]\nname = 'new \"one\"'\npath = \"/n/ö\"\n");
        assert_eq!(new, expected);
        let first = added("log = \"info\"\n\n[search]\nlimit = 3\n", "n", Path::new("/n")).unwrap();
        assert!(
            first.starts_with("log = \"info\"\n") && first.contains("[[vault]]\nname = \"n\"\npath = \"/n\"\n"),
            "{first}"
        );
        assert_eq!(added("", "n", Path::new("/n")).unwrap().trim_start(), "[[vault]]\nname = \"n\"\npath = \"/n\"\n");
        assert!(added("\u{FEFF}log = \"info\"\n", "n", Path::new("/n")).unwrap().starts_with('\u{FEFF}'));
    }

    #[test]
    fn a_vault_is_taken_out_and_the_comment_above_stays() {
        let without = TEXT.replace("[[vault]]\nname = \"a\" # first\npath = \"/a\"\nexclude = [\"x/\"]\n\n", "");
        assert_eq!(removed(TEXT, 0).unwrap(), without);
        assert_eq!(removed(TEXT, 1).unwrap(), TEXT.replace("\n[[vault]]\npath = \"/b\"\n", ""));
        assert!(removed(TEXT, 2).is_err());
    }

    #[test]
    fn a_vault_is_called_otherwise() {
        assert_eq!(renamed(TEXT, 0, "z").unwrap(), TEXT.replace("name = \"a\" # first", "name = \"z\" # first"));
        assert_eq!(renamed(TEXT, 1, "z").unwrap(), TEXT.replace("path = \"/b\"\n", "path = \"/b\"\nname = \"z\"\n"));
    }

    #[test]
    fn what_cannot_be_edited_says_so() {
        assert!(added("a = ", "n", Path::new("/n")).unwrap_err().contains("line 1"));
        assert!(added("vault = [{ path = \"/a\" }]\n", "n", Path::new("/n")).unwrap_err().contains("[[vault]]"));
    }
}
