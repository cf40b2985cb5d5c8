//! `situated status`: is it healthy, is it current, what does it do, what leaves the machine, what is wrong.

use serde_json::json;

use super::args::Status as Args;
use super::exit;
use super::jobs::is_free;
use super::money::estimated;
use super::print::{
    Out, age, bold, bytes, counted, dim, green, grouped, millis, now, printable, printable_lines, red, yellow,
};
use super::session::{Failure, Session, safe};
use crate::engine::handle::{ContextStatus, EmbedStatus, State, Status, VaultStatus};
use crate::plan::Action;

/// Lists are cut here: `--json` has all that the daemon tells.
const SHOWN: usize = 5;

/// `situated status`.
pub(super) fn run(args: Args, session: &mut Session) -> Result<u8, Failure> {
    let answer = session.client().and_then(|mut client| Ok(client.call("status", json!({ "vault": args.vault }))?));
    let answer = match answer {
        Ok(answer) => answer,
        Err(Failure::Said { code: exit::UNREACHABLE, message }) => {
            if session.globals.json {
                session.json(json!({ "running": false, "message": message }))?;
            } else {
                session.out.line(format!("{} {}", red("●"), bold("not running")))?;
                session.say(printable_lines(&message));
            }
            return Ok(exit::NOT_RUNNING);
        }
        Err(failure) => return Err(failure),
    };
    if session.globals.json {
        let mut answer = answer;
        answer["running"] = true.into();
        session.json(answer)?;
        return Ok(exit::OK);
    }
    print(&serde_json::from_value(answer)?, now(), &mut session.out)?;
    Ok(exit::OK)
}

fn print(status: &Status, now: i64, out: &mut Out) -> std::io::Result<()> {
    let pending: u64 = status.vaults.iter().map(|vault| vault.pending).sum();
    let (dot, health) = match status.state {
        State::Idle if status.problems.is_empty() => (green("●"), "healthy, up to date"),
        State::Idle => (yellow("●"), "up to date, but see below"),
        State::Indexing => (green("●"), "healthy, indexing"),
        State::Starting => (yellow("●"), "starting"),
        State::Paused => (yellow("●"), "paused; `situated resume` lets it go on"),
        State::Degraded => (red("●"), "needs you: see below"),
    };
    let pending = if pending > 0 { format!(", {} to look at", counted(pending, "path")) } else { String::new() };
    out.line(format!("{dot} {}{pending}", bold(health)))?;
    let by =
        if status.supervisor == "none" { String::new() } else { format!(", kept by {}", safe(&status.supervisor)) };
    let memory = if status.rss_bytes > 0 { format!(", {} of memory", bytes(status.rss_bytes)) } else { String::new() };
    let about = format!(
        "situated {}, process {}{by}, up {}{memory}",
        safe(&status.version),
        status.pid,
        millis(status.uptime_s as f64 * 1000.0)
    );
    out.wrapped("  ", &about)?;
    out.wrapped("  ", &format!("socket {}", safe(&status.socket.to_string_lossy())))?;
    for vault in &status.vaults {
        out.line("")?;
        print_vault(vault, now, out)?;
    }
    out.line("")?;
    let vectors = format!("Vectors: {}.", safe(&status.embedder));
    if is_free(&status.contexts.provider) {
        out.wrapped("", &format!("Contexts: {}. {vectors}", safe(&status.contextualizer)))?;
    } else {
        let ContextStatus { provider, model, .. } = &status.contexts;
        out.wrapped("", &format!("Contexts: {} {}. {vectors}", safe(provider), safe(model)))?;
        print_contexts(&status.contexts, now, out)?;
    }
    print_embedding(&status.embedding, out)?;
    if status.leaves_machine.is_empty() {
        out.wrapped("", "Nothing leaves this machine.")?;
    }
    for leaving in &status.leaves_machine {
        out.wrapped("", &format!("Leaves this machine: {}", safe(leaving)))?;
    }
    for problem in &status.problems {
        out.line("")?;
        out.line(red("Problem"))?;
        out.wrapped("  ", &safe(problem))?;
    }
    Ok(())
}

/// Vectors that a slow embedder makes: what waits for it, and how far the next one is.
fn print_embedding(embedding: &EmbedStatus, out: &mut Out) -> std::io::Result<()> {
    if embedding.waiting > 0 {
        let wait =
            if embedding.waiting == 1 { "waits for its vectors and is" } else { "wait for their vectors and are" };
        let notes = counted(embedding.waiting, "note");
        out.wrapped("  ", &format!("{notes} {wait} found by words meanwhile"))?;
    }
    let Some(next) = &embedding.next else { return Ok(()) };
    let far = match embedding.total {
        0 => String::new(),
        total => format!(": {} of {} are ready", grouped(embedding.done), counted(total, "note")),
    };
    out.wrapped("  ", &format!("{} is to take over{far}", safe(next)))
}

/// Contexts that a model writes: what waits, what is old, stale or failed, and what to do about it.
fn print_contexts(contexts: &ContextStatus, now: i64, out: &mut Out) -> std::io::Result<()> {
    let waiting = match contexts.waiting {
        0 => "none waits for it".to_owned(),
        1 => "1 waits for it".to_owned(),
        n => format!("{} wait for it", grouped(n)),
    };
    out.wrapped("  ", &format!("the model is to write {}; {waiting}", counted(contexts.wanted, "context")))?;
    if let Some(held) = &contexts.held {
        out.wrapped("  ", &format!("nothing is asked at present: {}", safe(held)))?;
    }
    if contexts.old_generation > 0 {
        let cost = match &contexts.renewal {
            Some(renewal) => match renewal.micro_dollars {
                Some(0) => "; new ones are free".to_owned(),
                Some(_) => format!("; new ones would cost {}", estimated(renewal)),
                None => format!("; new ones: {}", estimated(renewal)),
            },
            None => String::new(),
        };
        let are = if contexts.old_generation == 1 { "is" } else { "are" };
        let old = counted(contexts.old_generation, "context");
        out.wrapped("  ", &format!("{old} {are} of an older model or prompt{cost}: `situated rebuild`"))?;
    }
    if contexts.drifted > 0 {
        let were = if contexts.drifted == 1 { "was" } else { "were" };
        let drifted = counted(contexts.drifted, "context");
        let what = format!("{drifted} {were} written for text that has become another: `situated sync --since all`");
        out.wrapped("  ", &what)?;
    }
    if contexts.failed > 0 {
        let failed = counted(contexts.failed, "chunk");
        let what =
            format!("{failed} got nothing usable from the model; the free context serves, the next sync asks again");
        out.wrapped("  ", &what)?;
    }
    let synced = contexts.synced_at.map_or("not yet".to_owned(), |then| match age(now, then).as_str() {
        "now" => "just now".to_owned(),
        age => format!("{age} ago"),
    });
    out.wrapped("  ", &format!("last look after stale ones: {synced}; `situated cost` says what was spent"))
}

fn print_vault(vault: &VaultStatus, now: i64, out: &mut Out) -> std::io::Result<()> {
    out.line(format!("{}  {}", bold(printable(&vault.name)), dim(printable(&vault.path.to_string_lossy()))))?;
    let changed = vault.last_change.map_or("not indexed yet".to_owned(), |then| match age(now, then).as_str() {
        "now" => "changed just now".to_owned(),
        age => format!("changed {age} ago"),
    });
    let size = if vault.index_bytes > 0 { format!(", {} on disk", bytes(vault.index_bytes)) } else { String::new() };
    out.wrapped(
        "  ",
        &format!(
            "{}, {}{size}; {changed}, by {}",
            counted(vault.notes, "note"),
            counted(vault.chunks, "chunk"),
            safe(&vault.watch)
        ),
    )?;
    let decided = |action: Action| vault.decisions.iter().filter(|d| d.action == action).map(|d| d.count).sum::<u64>();
    let decided: Vec<String> = [
        (Action::Keep, "kept"),
        (Action::Reembed, "re-embedded"),
        (Action::Regenerate, "regenerated"),
        (Action::Remove, "removed"),
    ]
    .into_iter()
    .map(|(action, word)| (decided(action), word))
    .filter(|(n, _)| *n > 0)
    .map(|(n, word)| format!("{} {word}", grouped(n)))
    .collect();
    if !decided.is_empty() {
        out.wrapped("  ", &format!("chunks since the start: {}", decided.join(", ")))?;
    }
    for (what, why) in [("doubted", &vault.doubt), ("watching", &vault.watch_problem)] {
        if let Some(why) = why {
            out.wrapped("  ", &format!("{what}: {}", safe(why)))?;
        }
    }
    if vault.skipped_total > 0 {
        out.line(format!("  {}", yellow(format!("{} skipped", counted(vault.skipped_total, "file")))))?;
        for file in vault.skipped.iter().take(SHOWN) {
            out.wrapped("    ", &format!("{}: {}", safe(&file.path), safe(&file.why)))?;
        }
        rest(vault.skipped_total, out)?;
    }
    if !vault.conflicts.is_empty() {
        let count = vault.conflicts.len() as u64;
        let copies = if count == 1 { "copy" } else { "copies" };
        out.line(format!("  {}", yellow(format!("{count} {copies} made by a sync conflict"))))?;
        for path in vault.conflicts.iter().take(SHOWN) {
            out.wrapped("    ", &safe(path))?;
        }
        rest(count, out)?;
    }
    if vault.warned > 0 {
        out.wrapped("  ", &format!("{} with warnings; `situated get` shows them", counted(vault.warned, "note")))?;
    }
    Ok(())
}

fn rest(total: u64, out: &mut Out) -> std::io::Result<()> {
    let more = total.saturating_sub(SHOWN as u64);
    if more > 0 { out.line(dim(format!("    and {} more; --json lists them", grouped(more)))) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::super::search::tests::Page;
    use super::*;
    use crate::context::cost::Estimate;
    use crate::engine::handle::SkippedFile;

    fn status() -> Status {
        Status {
            state: State::Idle,
            vaults: vec![VaultStatus {
                name: "no\u{1b}[31mtes".into(),
                path: "/home/me/Notes".into(),
                notes: 1234,
                chunks: 5678,
                last_change: Some(90),
                watch: "inotify".into(),
                skipped: (0..6).map(|i| SkippedFile { path: format!("{i}.md"), why: "too large".into() }).collect(),
                skipped_total: 9,
                ..VaultStatus::default()
            }],
            problems: vec!["the disk is full; make room".into()],
            leaves_machine: Vec::new(),
            contexts: crate::engine::handle::ContextStatus::default(),
            contextualizer: "template/1".into(),
            embedder: "builtin/1".into(),
            embedding: EmbedStatus { waiting: 2, next: Some("openai m".into()), done: 3, total: 1234 },
            sandbox: crate::sandbox::Sandbox::default(),
            held: Vec::new(),
            paused_until: None,
            uptime_s: 61,
            rss_bytes: 50_000_000,
            version: "0.1.0".into(),
            pid: 7,
            supervisor: "systemd".into(),
            socket: "/run/user/1000/situated/sock".into(),
        }
    }

    #[test]
    fn one_screen_answers_the_questions() {
        let page = Page::default();
        print(&status(), 100, &mut Out::to(page.clone(), 80)).unwrap();
        let text = page.text();
        for expected in [
            "up to date, but see below",
            "1,234 notes, 5,678 chunks",
            "changed just now, by inotify",
            "9 files skipped",
            "and 4 more",
            "Nothing leaves this machine",
            "the disk is full; make room",
        ] {
            assert!(text.contains(expected), "{expected}\n{text}");
        }
        assert!(!text.contains('\u{1b}'), "{text:?}");
        assert!(text.lines().count() < 30, "{text}");
    }

    fn shown(status: &Status, width: usize) -> String {
        let page = Page::default();
        print(status, 10_000, &mut Out::to(page.clone(), width)).unwrap();
        page.text().replace("\n  ", " ")
    }

    #[test]
    fn contexts_of_a_model_are_told_in_words() {
        let renewal =
            Estimate { micro_dollars: Some(420_000), price_as_of: Some("2026-11-12".into()), ..Estimate::default() };
        let contexts = ContextStatus {
            provider: "anthropic".into(),
            model: "own\u{1b}[2J".into(),
            wanted: 5678,
            waiting: 12,
            old_generation: 1234,
            drifted: 3,
            failed: 1,
            held: Some("today's budget is used up".into()),
            renewal: Some(renewal.clone()),
            synced_at: Some(0),
        };
        let leaves = vec!["text of notes, to api.example.com".to_owned()];
        let told = shown(&Status { contexts: contexts.clone(), leaves_machine: leaves, ..status() }, 80);
        for expected in [
            "Contexts: anthropic own. Vectors: builtin/1. the model is to write 5,678 contexts; 12 wait for it",
            "nothing is asked at present: today's budget is used up",
            "1,234 contexts are of an older model or prompt; new ones would cost about $0.42 (prices of 2026-11-12): \
             `situated rebuild`",
            "3 contexts were written for text that has become another",
            "1 chunk got nothing usable from the model",
            "last look after stale ones: 2 h ago",
            "Leaves this machine: text of notes, to api.example.com",
        ] {
            assert!(told.contains(expected), "{expected}\n{told}");
        }
        let unpriced = Estimate { micro_dollars: None, tokens_in: 900, tokens_out: 99, ..renewal };
        let told =
            shown(&Status { contexts: ContextStatus { renewal: Some(unpriced), ..contexts.clone() }, ..status() }, 120);
        assert!(told.contains("new ones: price unknown: 999 tokens") && !told.contains('$'), "{told}");
        let quiet = ContextStatus { provider: "ollama".into(), model: "m".into(), ..ContextStatus::default() };
        let told = shown(&Status { contexts: quiet, ..status() }, 80);
        assert!(told.contains("none waits for it") && told.contains("not yet") && !told.contains("older"), "{told}");
        // The template needs no words of its own.
        for provider in ["template", ""] {
            let contexts = ContextStatus { provider: provider.into(), ..contexts.clone() };
            assert!(!shown(&Status { contexts, ..status() }, 80).contains("is to write"));
        }
    }

    #[test]
    fn it_fits_a_terminal_of_twenty_columns() {
        let page = Page::default();
        print(&Status { vaults: Vec::new(), ..status() }, 100, &mut Out::to(page.clone(), 20)).unwrap();
        for line in page.text().lines().skip(1) {
            assert!(super::super::print::columns(line) <= 20, "{line:?}");
        }
    }
}
