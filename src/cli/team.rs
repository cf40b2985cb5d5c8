//! `situated team`: vaults that are shared with a team.

use std::time::Duration;

use serde_json::Value;

use super::args::TeamAction;
use super::print::{Out, bold, counted, dim, green, padded, printable, yellow};
use super::session::{CliFailure, Session, safe};
use super::{confirm, cost, exit};
use protocol::team::{
    TeamDifferences, TeamDropRequest, TeamInfo, TeamInitRequest, TeamList, TeamPublishRequest, TeamStatusRequest,
    TeamVault, TeamVerifyRequest, VaultDifferences,
};

/// As long as it takes: a first publication may take hours.
const PATIENCE: Option<Duration> = None;

/// `situated team`.
pub(super) fn run(action: TeamAction, session: &mut Session) -> Result<u8, CliFailure> {
    match action {
        TeamAction::Status { team } => session.show(session.client()?.ask(&TeamStatusRequest { team })?, print),
        TeamAction::Init { team, bits } => {
            session.show(session.patient_client(PATIENCE)?.ask(&TeamInitRequest { team, bits })?, print)
        }
        TeamAction::Publish { team, take_over } => {
            session.show(session.patient_client(PATIENCE)?.ask(&TeamPublishRequest { team, take_over })?, print)
        }
        TeamAction::Verify { team } => {
            let reply = session.patient_client(PATIENCE)?.ask(&TeamVerifyRequest { team })?;
            let Some(TeamDifferences { vaults }) = session.unless_json(reply)? else { return Ok(exit::OK) };
            for vault in &vaults {
                session.out.line(compared(vault))?;
                for line in named(vault) {
                    session.out.line(line)?;
                }
            }
            if vaults.is_empty() {
                session.say("nothing is published from here; `publish` in a `[[vault]]` names the team");
            }
            Ok(exit::OK)
        }
        TeamAction::Drop { team, yes } => {
            if !yes {
                let all = session.call(&TeamStatusRequest { team: Some(team.clone()) })?;
                for why in all.teams.iter().filter_map(|team| team.problem.as_ref()) {
                    session.terms(yellow(printable(why)), true);
                }
                // Those that are to be published are not there yet.
                let there = all.teams.iter().flat_map(|team| &team.vaults).filter(|vault| !vault.keeper.is_empty());
                let vaults: Vec<String> = there.map(|vault| printable(&vault.name).into_owned()).collect();
                let vaults = if vaults.is_empty() { "it has no vaults".to_owned() } else { vaults.join(", ") };
                let what = format!(
                    "The collection of `{}` goes, for all who read it: {vaults}. Vaults are not touched.",
                    safe(&team)
                );
                session.terms(what, true);
                if !confirm::answered_yes("Take it away?", "say `--yes` to go on")? {
                    return session.nothing(exit::OK, "nothing was done");
                }
            }
            session.call(&TeamDropRequest { team: team.clone() })?;
            session.done(Value::Null, format!("the collection of `{}` is gone", safe(&team)))
        }
    }
}

fn print(list: &TeamList, out: &mut Out) -> std::io::Result<()> {
    list.teams.iter().flat_map(lines).try_for_each(|line| out.line(line))
}

/// A team, its vaults, and what is wrong.
fn lines(team: &TeamInfo) -> Vec<String> {
    let TeamInfo { name, host, collection, searched, server, embedder, points, vaults, saved, problem } = team;
    let mut about = format!("{} at {}", printable(collection), printable(host));
    if !server.is_empty() {
        about.push_str(&format!(", Qdrant {}, {}", printable(server), counted(*points, "point")));
    }
    if !embedder.is_empty() {
        about.push_str(&format!(", vectors of {}", printable(embedder)));
    }
    if !searched {
        about.push_str(", not searched from here");
    }
    let mut lines = vec![format!("{}  {}", bold(padded(&printable(name), 16)), dim(about))];
    lines.extend(problem.iter().map(|why| format!("  {}", yellow(printable(why)))));
    lines.extend(saved.iter().map(|saved| format!("  not bought this month, for it was here: {}", cost::saved(saved))));
    for vault in vaults {
        let TeamVault { name, keeper, revision, own, notes, left, problem } = vault;
        let state = match () {
            () if !own => dim(format!("kept by {}, revision {revision}", printable(keeper))),
            () if problem.is_some() => yellow("not up to date"),
            () if *left > 0 => format!("{} there, {left} to go", counted(*notes, "note")),
            () => format!("{}, {}", green("published"), counted(*notes, "note")),
        };
        lines.push(format!("  {}  {state}", padded(&printable(name), 16)));
        lines.extend(problem.iter().map(|why| format!("    {}", yellow(printable(why)))));
    }
    lines
}

fn compared(vault: &VaultDifferences) -> String {
    let VaultDifferences { team, vault, notes, points, differences, foreign, .. } = vault;
    let found = match differences {
        0 => green("no difference"),
        n => yellow(format!("{}, mended", counted(*n as u64, "difference"))),
    };
    let of_others = if *foreign > 0 {
        format!("; {} of others left alone", counted(*foreign as u64, "point"))
    } else {
        String::new()
    };
    let looked = format!("{}, {}", counted(*notes as u64, "note"), counted(*points as u64, "point"));
    format!(
        "{} {}  {found} {}",
        bold(padded(&printable(vault), 16)),
        dim(printable(team)),
        dim(format!("({looked}{of_others})"))
    )
}

/// The notes that differed, by how.
fn named(vault: &VaultDifferences) -> Vec<String> {
    let kinds = [
        ("missing", &vault.missing),
        ("outdated", &vault.outdated),
        ("damaged", &vault.damaged),
        ("not to be there", &vault.extra),
    ];
    let line = |(kind, notes): (&str, &Vec<String>)| {
        let notes: Vec<String> = notes.iter().map(|note| printable(note).into_owned()).collect();
        (!notes.is_empty()).then(|| format!("  {kind}: {}", notes.join(", ")))
    };
    kinds.into_iter().filter_map(line).collect()
}
