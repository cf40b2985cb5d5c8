//! Notes as resources: `note://VAULT/PATH`, listed by how recently they were changed.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use rmcp::model::{ListResourcesResult, MetaObject, ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use serde_json::{Value, json};

use super::caller::Caller;
use super::daemon::Trouble;
use super::results::{NoteLines, TRUST};
use super::{clean, size};
use note::Format;
use protocol::daemon::{HelloRequest, VaultInfo};
use protocol::hit::{Lines, split_lines};
use protocol::note::{RecentAnswer, RecentNote};

const SCHEME: &str = "note://";

/// Characters that are percent-encoded in the name of a vault.
const PART: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The same for a path.
const PATH: &AsciiSet = &PART.remove(b'/');

/// The key in `_meta` of everything that is text of a note.
const MARK: &str = "situated/trust";

/// Notes per page.
pub(super) const PAGE: usize = 100;

/// The address of a note.
pub(super) fn uri(vault: &str, path: &str) -> String {
    format!("{SCHEME}{}/{}", utf8_percent_encode(vault, PART), utf8_percent_encode(path, PATH))
}

/// Vault and path of an address.
pub(super) fn place(uri: &str) -> Option<(String, String)> {
    let (vault, path) = uri.strip_prefix(SCHEME)?.split_once('/')?;
    let (vault, path) = (decode(vault)?, decode(path)?);
    (!vault.is_empty() && !path.is_empty()).then_some((vault, path))
}

/// What a model takes for the name of a note.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Named {
    pub(super) vault: Option<String>,
    pub(super) path: String,
    /// The lines of a result, if it was copied with them.
    pub(super) lines: Option<Lines>,
}

/// A note as a model names it: by a path or title, by the address of a resource, a file or a note in Obsidian, or as a
/// result names it with its lines.
pub(super) fn named(typed: &str, vault: Option<&String>) -> Named {
    let uri = typed.trim();
    let of = place(uri).or_else(|| in_obsidian(uri)).map(|(vault, path)| (Some(vault), path));
    let file = || uri.strip_prefix("file://").and_then(decode).or_else(|| obsidians(uri, "path"));
    let (of, path) = of.or_else(|| Some((None, file()?))).unwrap_or_else(|| (None, clean::named(typed)));
    let vault = of.or_else(|| vault.map(|name| clean::named(name)));
    // Without an extension before the colon all of it may be a title: `John 3:16`.
    match split_lines(&path).filter(|(path, _)| Format::of(path).is_some()) {
        Some((path, lines)) => Named { vault, path: path.to_owned(), lines: Some(lines) },
        None => Named { vault, path, lines: None },
    }
}

/// Vault and name of `obsidian://open?vault=VAULT&file=NAME`.
fn in_obsidian(uri: &str) -> Option<(String, String)> {
    Some((obsidians(uri, "vault")?, obsidians(uri, "file")?))
}

/// A value of `obsidian://open?KEY=VALUE&…`.
fn obsidians(uri: &str, key: &str) -> Option<String> {
    let query = uri.strip_prefix("obsidian://open?")?;
    query.split('&').find_map(|pair| decode(pair.strip_prefix(key)?.strip_prefix('=')?))
}

/// The name of a vault that Obsidian calls `name`, which is that of its folder.
pub(super) fn of_obsidian(name: &str, vaults: &[VaultInfo]) -> Option<String> {
    let of_folder = |vault: &&VaultInfo| vault.path.file_name().is_some_and(|folder| folder == name);
    let known = vaults.iter().find(|vault| vault.name == name).or_else(|| vaults.iter().find(of_folder))?;
    Some(known.name.clone())
}

/// As [`named`], where what names the vault may be Obsidian's name of it.
pub(super) async fn named_now(typed: &str, vault: Option<&String>, caller: &Caller) -> Result<Named, Trouble> {
    let mut named = named(typed, vault);
    if let Some((name, _)) = in_obsidian(typed.trim()) {
        let known = of_obsidian(&name, &caller.call(HelloRequest::default()).await?.vaults);
        named.vault = known.or(named.vault);
    }
    Ok(named)
}

fn decode(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let digits = [bytes.next()?, bytes.next()?];
            let digits = std::str::from_utf8(&digits).ok().filter(|hex| hex.bytes().all(|b| b.is_ascii_hexdigit()))?;
            out.push(u8::from_str_radix(digits, 16).ok()?);
        } else {
            out.push(byte);
        }
    }
    String::from_utf8(out).ok()
}

fn mark() -> MetaObject {
    let Value::Object(mark) = json!({ (MARK): TRUST }) else { return MetaObject::default() };
    MetaObject(mark)
}

/// A page of notes, of the answer of `recent`.
pub(super) fn page(recent: &RecentAnswer) -> ListResourcesResult {
    let resource = |note: &RecentNote| {
        let name = note.path.rsplit('/').next().unwrap_or_default();
        Resource::new(uri(&note.vault, &note.path), clean::name(name))
            .with_title(size::cut(&clean::line(&note.title), 200))
            .with_mime_type("text/markdown")
            .with_size(note.bytes)
            .with_meta(mark())
    };
    let mut page = ListResourcesResult::with_all_items(recent.notes.iter().map(resource).collect());
    page.next_cursor.clone_from(&recent.next);
    page
}

/// How notes are addressed.
pub(super) fn template() -> ResourceTemplate {
    ResourceTemplate::new("note://{vault}/{+path}", "note")
        .with_title("A note")
        .with_description("A note by the name of its vault and its path in it, as it is on disk now")
        .with_mime_type("text/markdown")
}

/// The text of a note.
pub(super) fn contents(uri: &str, note: &NoteLines) -> ReadResourceResult {
    let mut text = note.text.clone();
    if let Some(omitted) = &note.omitted {
        text.push_str(&format!("\n[situated left out {}. {}]\n", omitted.what, omitted.how));
    }
    let contents = ResourceContents::text(text, uri).with_mime_type("text/markdown").with_meta(mark());
    ReadResourceResult::new(vec![contents])
}

#[cfg(test)]
mod tests;
