//! Names that a vault has, and notes by name.

use super::{ToolResult, vault};
use crate::mcp::caller::Caller;
use crate::mcp::daemon::Trouble;
use crate::mcp::{clean, params, show};
use protocol::hit::LinkedNotes;
use protocol::names::NamesRequest;

/// `list_names`, as text alone.
pub(in crate::mcp) async fn names(asked: params::Names, caller: &Caller) -> Result<ToolResult, Trouble> {
    let params::Names { what, like, vault: of, limit } = asked;
    let asked = NamesRequest { what, like, vault: vault(of.as_ref()), limit, ..NamesRequest::default() };
    let found = caller.call(asked).await?;
    let mut lines = Vec::with_capacity(found.names.len());
    for name in &found.names {
        let (text, count) = (clean::name(&name.name), name.notes);
        lines.push(match (&name.path, &name.vault) {
            (Some(path), Some(vault)) => format!("{text} (vault {}, {})", clean::name(vault), clean::name(path)),
            _ => format!("{text} ({count})"),
        });
    }
    let more =
        if (found.names.len() as u64) < found.total { " `like`, or a larger `limit`, shows others." } else { "" };
    let about = format!("{} of {} names, with the notes that have each.{more}", found.names.len(), found.total);
    Ok(ToolResult { text: show::list(&about, &lines), structured: None })
}

/// The paths of the notes that a note links to, and of those that link to it, each as many as half the room holds; and
/// how many more there are.
pub(in crate::mcp) fn linked(
    (links, backlinks): (&LinkedNotes, &LinkedNotes),
    room: usize,
) -> (Vec<String>, Vec<String>) {
    let paths = |notes: &LinkedNotes| {
        let mut paths = fitting(notes.notes.iter().map(|path| clean::name(path)), room / 2);
        let more = (notes.count as usize).saturating_sub(paths.len());
        paths.extend((more > 0).then(|| format!("and {more} more")));
        paths
    };
    (paths(links), paths(backlinks))
}

/// The first paths of notes, as many as so many characters hold.
pub(in crate::mcp) fn fitting(paths: impl Iterator<Item = String>, mut room: usize) -> Vec<String> {
    let fits = |path: &String| {
        // With what marks it as a path.
        let left = room.checked_sub(path.chars().count() + 6);
        room = left.unwrap_or_default();
        left.is_some()
    };
    paths.take_while(fits).collect()
}
