//! The texts of the live search: the daemon's state, and what to do when there are no hits.

use crate::cli::jobs::running;
use crate::cli::live::state::{Link, State};
use crate::cli::print::{counted, printable_lines};
use protocol::status::RunState as Daemon;

/// The placeholder that is shown until a query is typed.
pub(super) fn placeholder(state: &State) -> String {
    let notes = match &state.link {
        Link::There { vaults, .. } => vaults
            .iter()
            .filter(|(name, _)| state.vault.as_ref().is_none_or(|searched| searched == name))
            .map(|(_, notes)| notes)
            .sum(),
        _ => 0,
    };
    if notes > 0 { format!("search {}", counted(notes, "note")) } else { "search".to_owned() }
}

/// The text that is shown in place of hits, if there are none.
pub(super) fn instead_of_hits(state: &State) -> Option<String> {
    if let Link::Away(why) = &state.link {
        return Some(format!(
            "No daemon answers.\n\n{}\n\nThis screen comes back to life by itself as soon as one does; Esc leaves.\n\n\
             New here? `situated try` shows it on a sample vault, `situated init` sets it up, `situated --help` lists \
             everything.",
            printable_lines(why)
        ));
    }
    if let Some(failure) = &state.failure {
        return Some(printable_lines(failure).into_owned());
    }
    if !state.list.answer.hits.is_empty() {
        return None;
    }
    let nothing_typed = state.near.is_none() && state.query.text().trim().is_empty();
    Some(match &state.link {
        Link::Looking => "Looking for the daemon …".to_owned(),
        _ if nothing_typed => "Type what you look for: words, \"a phrase\", -without, tag:work, path:Projects/, \
                               type:daily, after:2026-01.\n\nF1 shows the keys, Esc leaves."
            .to_owned(),
        _ if state.is_waiting() => "…".to_owned(),
        _ if state.near.is_some() => "Nothing lies near it. Esc goes back.".to_owned(),
        _ => "Nothing found. Try fewer or other words; Ctrl-T changes how they are looked for.".to_owned(),
    })
}

/// The daemon's state, and whether it needs the user's attention.
pub(super) fn daemon(state: &State) -> (String, bool) {
    match &state.link {
        Link::Looking => ("looking for the daemon".to_owned(), false),
        Link::Away(_) => ("no daemon".to_owned(), true),
        Link::There { daemon, vaults } => {
            let notes = counted(vaults.iter().map(|(_, notes)| notes).sum(), "note");
            let doing = match (&state.job, daemon) {
                (Some(job), _) => running(job),
                (None, Daemon::Starting) => "starting".to_owned(),
                (None, Daemon::Indexing) => "indexing".to_owned(),
                (None, Daemon::Idle) => "up to date".to_owned(),
                (None, Daemon::Paused) => "paused".to_owned(),
                (None, Daemon::Degraded) => "needs you: `situated status`".to_owned(),
            };
            (format!("{notes} · {doing}"), *daemon == Daemon::Degraded)
        }
    }
}
