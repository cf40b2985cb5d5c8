//! `situated contexts start` and `stop`: the user's yes to a model that costs money or is elsewhere, after what it takes was
//! said.

use serde_json::json;

use super::args::StartContexts;
use super::confirm;
use super::exit;
use super::money::{estimated, minutes, tokens};
use super::print::{bold, counted};
use super::session::{CliFailure, Session, safe};
use protocol::contexts::{Estimate, Offer, Offers, StartContextsRequest, StopContextsRequest};

/// `situated contexts start`.
pub(super) fn start(args: &StartContexts, session: &mut Session) -> Result<u8, CliFailure> {
    let mut client = session.client()?;
    let (vault, replace) = (args.vault.clone(), args.replace);
    let mut request = StartContextsRequest { vault, replace, dry_run: true, ..StartContextsRequest::default() };
    let offers = client.call(&request)?;
    if !(args.dry_run && session.globals.json) {
        for offer in &offers.vaults {
            session.say(described(offer, args.replace));
        }
    }
    let asks = offers.vaults.iter().any(|offer| !offer.agreed || takes(offer, args.replace).any(|e| e.chunks > 0));
    if args.dry_run || !asks {
        if session.globals.json {
            session.json(json!(offers))?;
        } else if !asks {
            session.say("there is nothing to agree to: contexts are asked for as notes change");
        }
        return Ok(exit::OK);
    }
    if !args.yes && !confirm::answered_yes("Start?", "say `--yes` to agree, or `--dry-run` to see what it takes")? {
        session.say("nothing was started");
        return Ok(exit::OK);
    }
    request.dry_run = false;
    let offers = client.call(&request)?;
    let said = "contexts are written in the background, within the day's budget; `situated status` says how far";
    session.done(json!(offers), said)
}

/// `situated contexts stop`.
pub(super) fn stop(vault: Option<String>, session: &mut Session) -> Result<u8, CliFailure> {
    let offers: Offers = session.client()?.call(&StopContextsRequest { vault })?;
    let vaults: Vec<String> = offers.vaults.iter().map(|offer| format!("`{}`", safe(&offer.vault))).collect();
    let said = format!(
        "no model is asked for contexts of {} any more; those that are written stay. `situated contexts start` goes on",
        vaults.join(", ")
    );
    session.done(json!(offers), said)
}

/// What is going to be asked for.
fn takes(offer: &Offer, replace: bool) -> impl Iterator<Item = &Estimate> {
    std::iter::once(&offer.estimate).chain(offer.replacing.as_ref().filter(|_| replace))
}

/// What an offer is: work, money, days, what leaves the machine, and what stays as it is.
fn described(offer: &Offer, replace: bool) -> String {
    let model = format!("{} {}", safe(&offer.provider), safe(&offer.model));
    let mut said = format!("{}: {model} writes contexts for ", bold(safe(&offer.vault)));
    if offer.estimate.chunks == 0 {
        said.push_str("what you change from now on; nothing waits for it");
    } else {
        said.push_str(&work(&offer.estimate));
        if let Some(days) = offer.days {
            said.push_str(&format!("; {}", within(days)));
        }
    }
    said.push('.');
    if let Some(replacing) = &offer.replacing {
        let old = counted(offer.kept, "context");
        said.push_str(&if replace {
            format!("\n{old} of another model {} written anew: {}.", are(offer.kept), work(replacing))
        } else {
            let cost = estimated(replacing);
            format!("\n{old} of another model {} kept; `--replace` has them written anew ({cost}).", are(offer.kept))
        });
    }
    said.push('\n');
    said.push_str(&match &offer.leaves_to {
        Some(host) => format!("Leaves this machine: text of notes, to {}.", safe(host)),
        None => "Nothing leaves this machine.".to_owned(),
    });
    said
}

fn are(n: u64) -> &'static str {
    if n == 1 { "is" } else { "are" }
}

fn work(estimate: &Estimate) -> String {
    format!(
        "{} of {} in {}: {}; {}, {}",
        counted(estimate.chunks, "chunk"),
        counted(estimate.notes, "note"),
        counted(estimate.calls, "call"),
        tokens(estimate.tokens_in, estimate.tokens_cached, estimate.tokens_out),
        bold(estimated(estimate)),
        minutes(estimate.minutes),
    )
}

/// How long the day's budget makes it take.
pub(super) fn within(days: u64) -> String {
    match days {
        u64::MAX => "the day's budget is 0, so nothing is asked for".to_owned(),
        1 => "within a day's budget".to_owned(),
        days => format!("{} within the day's budget", counted(days, "day")),
    }
}

/// What waits for a yes, in one line, for `status`.
pub(super) fn waiting(offer: &Offer) -> String {
    let days = offer.days.map_or_else(String::new, |days| format!(", {}", within(days)));
    let to =
        offer.leaves_to.as_ref().map_or_else(String::new, |host| format!("; text of notes goes to {}", safe(host)));
    let what = match offer.estimate.chunks {
        0 => "what changes from now on".to_owned(),
        chunks => format!("{}, {}{days}", counted(chunks, "chunk"), estimated(&offer.estimate)),
    };
    format!("waits for your yes: `situated contexts start` ({what}{to})")
}

#[cfg(test)]
mod tests;
