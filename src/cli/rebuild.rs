//! `situated rebuild`: says what it takes, asks, and follows it to its end.

use std::io::{BufRead as _, IsTerminal as _, Write as _};

use serde_json::json;

use super::args::Rebuild;
use super::exit;
use super::jobs::{follow, scope};
use super::money::{estimated, minutes, tokens};
use super::print::{bold, counted};
use super::session::{Failure, Session, safe};
use super::target;
use protocol::contexts::Estimate;
use protocol::jobs::RebuildRequest;
use protocol::status::{Status, StatusRequest};

/// `situated rebuild`.
pub(super) fn run(args: &Rebuild, session: &mut Session) -> Result<u8, Failure> {
    let mut client = session.client()?;
    let scope = scope(args.what.as_deref(), &mut client)?;
    let (vault, path, batch) = (scope.vault.clone(), scope.path.clone(), args.batch);
    let mut request = RebuildRequest { vault, path, dry_run: true, batch, ..RebuildRequest::default() };
    let job = client.call(&request)?;
    let notes = job.total.unwrap_or(0);
    if args.dry_run && session.globals.json {
        session.json(json!({ "estimate": job }))?;
        return Ok(exit::OK);
    }
    let place = target::named(&scope);
    let work = format!("{} of {place} will be read, cut and embedded anew.", bold(counted(notes, "note")));
    match &job.estimate {
        Some(estimate) => {
            let status = client.call(&StatusRequest::default())?;
            session.say(format!("{work}\n{}\nSearches are answered meanwhile.", taken(estimate, args.batch, &status)));
        }
        None => session.say(format!(
            "{work} Contexts come from the note itself: it costs nothing.\nSearches are answered meanwhile."
        )),
    }
    if args.dry_run {
        return Ok(exit::OK);
    }
    if notes == 0 {
        session.say("there is nothing to do");
        return Ok(exit::NOTHING);
    }
    if !args.yes && !confirmed()? {
        session.say("nothing was done");
        return Ok(exit::OK);
    }
    request.dry_run = false;
    let job = client.call(&request)?;
    follow(job, &mut client, session)
}

/// What it takes to have a model write the contexts: work, money, time, and where the text goes.
pub(super) fn taken(estimate: &Estimate, batch: bool, status: &Status) -> String {
    if estimate.chunks == 0 {
        return "No chunk of it is to have a model's context: it costs nothing.".to_owned();
    }
    let model = format!("{} {}", safe(&status.contexts.provider), safe(&status.contexts.model));
    let how = if batch { ", in batches, which may take the provider a day" } else { "" };
    let mut said = format!(
        "{model} writes contexts for {} of {} in {}: {}.\n{}, {}{how}.",
        counted(estimate.chunks, "chunk"),
        counted(estimate.notes, "note"),
        counted(estimate.calls, "call"),
        tokens(estimate.tokens_in, estimate.tokens_cached, estimate.tokens_out),
        bold(capital(&estimated(estimate))),
        minutes(estimate.minutes),
    );
    for leaving in &status.leaves_machine {
        said.push_str("\nLeaves this machine: ");
        said.push_str(&safe(leaving));
    }
    said
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

pub(super) fn confirmed() -> Result<bool, Failure> {
    let mut stdin = std::io::stdin().lock();
    if !stdin.is_terminal() || !std::io::stderr().is_terminal() {
        return Err(Failure::usage(
            "nobody can be asked here; say `--yes` to go on, or `--dry-run` to see what it would do",
        ));
    }
    write!(std::io::stderr(), "Go on? [y/N] ")?;
    let mut answer = String::new();
    stdin.read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_says_work_money_time_and_where_to() {
        let status: Status = serde_json::from_value(json!({
            "state": "idle", "vaults": [], "problems": [], "leaves_machine": ["text of notes, to api.example.com"],
            "contextualizer": "", "embedder": "", "uptime_s": 0, "rss_bytes": 0, "version": "", "pid": 1,
            "supervisor": "none", "socket": "/s",
            "contexts": {
                "provider": "anthropic", "model": "own\u{1b}[2J", "wanted": 0, "waiting": 0, "old_generation": 0,
                "drifted": 0, "failed": 0,
            },
        }))
        .unwrap();
        let estimate = Estimate {
            notes: 670,
            chunks: 3350,
            calls: 671,
            tokens_in: 1_200_000,
            tokens_cached: 0,
            tokens_out: 230_000,
            micro_dollars: Some(235_000),
            price_as_of: Some("2026-11-12".into()),
            minutes: 7.2,
        };
        let said = taken(&estimate, false, &status);
        let plain = anstream::adapter::strip_str(&said).to_string();
        assert_eq!(
            plain,
            "anthropic own writes contexts for 3,350 chunks of 670 notes in 671 calls: 1,200,000 tokens read, 230,000 \
             written.\nAbout $0.235 (prices of 2026-11-12), about 7 min.\nLeaves this machine: text of notes, to \
             api.example.com"
        );
        let unknown = Estimate { micro_dollars: None, price_as_of: None, ..estimate.clone() };
        let said = taken(&unknown, true, &status);
        assert!(said.contains("Price unknown: 1,430,000 tokens") && !said.contains('$'), "{said}");
        assert!(said.contains("may take the provider a day"), "{said}");
        assert!(taken(&Estimate { chunks: 0, ..estimate }, false, &status).contains("costs nothing"));
    }
}
