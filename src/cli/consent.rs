//! `situated contexts start` and `stop`: the user agrees to a model that costs money or runs elsewhere, after reading
//! what it takes.

use serde_json::json;

use super::args::StartContexts;
use super::confirm;
use super::exit;
use super::money::{estimated, minutes, tokens};
use super::print::{bold, counted, yellow};
use super::session::{CliFailure, Session, safe};
use crate::daemon::config::Config;
use ::provider::{KeyPlace, key_place};
use context::cost::dollars;
use protocol::contexts::{Estimate, Offer, OfferedWork, Offers, StartContextsRequest, StopContextsRequest};

/// What contexts are that `--replace` has written anew. A rebuild that ended early leaves what it did not come to, which
/// may be by this very model.
pub(super) const OLDER: &str = "older than the model, the prompt or the last rebuild";

/// `situated contexts start`.
pub(super) fn start(args: &StartContexts, session: &mut Session) -> Result<u8, CliFailure> {
    let mut client = session.client()?;
    let (vault, replace) = (args.vault.clone(), args.replace);
    let mut request = StartContextsRequest { vault, replace, dry_run: true, ..StartContextsRequest::default() };
    let offers = client.call(&request)?;
    if !(args.dry_run && session.globals.json) {
        for offer in &offers.vaults {
            session.terms(described(offer, args.replace), !args.yes);
        }
        let config = session.config().map(|loaded| loaded.config).ok();
        for why in config.iter().flat_map(|config| offers.vaults.iter().filter_map(|offer| keyless(offer, config))) {
            session.terms(yellow(why), !args.yes);
        }
    }
    let asks = offers.vaults.iter().any(|offer| !offer.agreed || takes(offer, args.replace).any(|e| e.chunks > 0));
    if args.dry_run || !asks {
        if session.globals.json {
            session.json(json!(offers))?;
        } else if !asks {
            session.say("there is nothing to agree to: models are asked as notes change");
        }
        return Ok(exit::OK);
    }
    if !args.yes && !confirm::answered_yes("Start?", "say `--yes` to agree, or `--dry-run` to see what it takes")? {
        return session.nothing(exit::OK, "nothing was started");
    }
    request.dry_run = false;
    let offers = client.call(&request)?;
    let works = |offer: &&Offer| offer.what != OfferedWork::Reranking;
    let said = if offers.vaults.iter().any(|offer| works(&offer)) {
        "it is done in the background, within the budget; `situated status` says how far"
    } else {
        "searches are reranked from now on, within the day's budget"
    };
    session.done(json!(offers), said)
}

/// `situated contexts stop`.
pub(super) fn stop(vault: Option<String>, session: &mut Session) -> Result<u8, CliFailure> {
    let offers: Offers = session.call(&StopContextsRequest { vault })?;
    let mut said = all_stopped(&offers.vaults);
    said.push("`situated contexts start` goes on".to_owned());
    session.done(json!(offers), said.join("\n"))
}

/// Says of each offer what no model is asked for any more, and nothing twice: a generation beside the one that answers
/// has an offer of its own.
fn all_stopped(offers: &[Offer]) -> Vec<String> {
    let mut said: Vec<String> = Vec::new();
    for line in offers.iter().map(stopped) {
        if !said.contains(&line) {
            said.push(line);
        }
    }
    said
}

/// Says what no model is asked for any more.
fn stopped(offer: &Offer) -> String {
    let vault = safe(&offer.vault);
    match offer.what {
        OfferedWork::Contexts => {
            format!("no model is asked for contexts of `{vault}` any more; those that are written stay")
        }
        OfferedWork::Vectors => {
            format!("{} is shown no text of `{vault}` from now on; vectors that it has made stay", model(offer))
        }
        OfferedWork::Reranking => {
            format!("{} judges no search any more, but for those with `--rerank`", model(offer))
        }
    }
}

fn model(offer: &Offer) -> String {
    format!("{} {}", safe(&offer.provider), safe(&offer.model)).trim_end().to_owned()
}

/// Estimates of the work that the model will be asked for.
fn takes(offer: &Offer, replace: bool) -> impl Iterator<Item = &Estimate> {
    std::iter::once(&offer.estimate).chain(offer.replacing.as_ref().filter(|_| replace))
}

/// Describes an offer: work, money, days, what leaves the machine, and what stays as it is.
fn described(offer: &Offer, replace: bool) -> String {
    let mut said = match offer.what {
        OfferedWork::Contexts => contexts(offer, replace),
        OfferedWork::Vectors => vectors(offer),
        OfferedWork::Reranking => reranking(offer),
    };
    said.push('\n');
    said.push_str(&leaves(offer));
    said
}

/// What leaves this machine, and to where.
pub(super) fn leaves(offer: &Offer) -> String {
    match &offer.leaves_to {
        Some(host) => format!("Leaves this machine: {}, to {}.", leaving(offer), safe(host)),
        None => "Nothing leaves this machine.".to_owned(),
    }
}

/// What to say if no key is found for what is offered. Only the daemon knows whether it was given one in another way.
fn keyless(offer: &Offer, config: &Config) -> Option<String> {
    offer.leaves_to.as_ref()?;
    let section = match offer.what {
        OfferedWork::Contexts => "context",
        OfferedWork::Vectors => "embed",
        OfferedWork::Reranking => "rerank",
    };
    let asked = config.providers().find(|asked| asked.section == section)?;
    let KeyPlace { place, .. } = key_place(asked.whose, asked.key).filter(|key| key.found == Some(false))?;
    Some(format!(
        "There is no key in {place}: unless the daemon has one, nothing is asked. Put it into a file with mode 0600, and name \
         that in `{section}.key_file`."
    ))
}

/// What is sent to the model.
fn leaving(offer: &Offer) -> &'static str {
    match offer.what {
        OfferedWork::Contexts | OfferedWork::Vectors => "text of notes",
        OfferedWork::Reranking => "queries, and the passages found for them",
    }
}

fn vectors(offer: &Offer) -> String {
    let (estimate, vault, model) = (&offer.estimate, bold(safe(&offer.vault)), model(offer));
    if estimate.notes == 0 && offer.agreed {
        return format!("{vault}: {model} makes the vectors of what you change from now on; nothing waits for it.");
    }
    if estimate.notes == 0 {
        return format!("{vault}: {model} takes over as embedder; all vectors are there.");
    }
    format!("{} Then it takes over as embedder.", vectors_made(offer))
}

/// The vectors that an embedder makes, and what that takes.
pub(super) fn vectors_made(offer: &Offer) -> String {
    let notes = counted(offer.estimate.notes, "note");
    let (vault, calls) = (bold(safe(&offer.vault)), calls(&offer.estimate));
    format!("{vault}: {} makes the vectors of {notes} {calls}.", model(offer))
}

fn reranking(offer: &Offer) -> String {
    format!("{}: {} judges what each search finds: {}.", bold("all vaults"), model(offer), each(offer))
}

/// What one search costs at most.
fn each(offer: &Offer) -> String {
    match offer.estimate.micro_dollars {
        Some(0) => "free".to_owned(),
        Some(cost) => format!("at most {} a search", dollars(cost)),
        None => "at a price that is not known, within the day's token budget".to_owned(),
    }
}

/// What contexts take, and what happens to the existing ones.
fn contexts(offer: &Offer, replace: bool) -> String {
    let mut said = format!("{}: {} writes contexts for ", bold(safe(&offer.vault)), model(offer));
    if offer.estimate.chunks == 0 {
        said.push_str("what you change from now on; nothing waits for it");
    } else {
        said.push_str(&work(&offer.estimate));
    }
    // With `--replace` they are the days of all.
    let days = offer.days.map_or_else(String::new, |days| format!("; {}", within(days)));
    if !(replace && offer.replacing.is_some()) {
        said.push_str(&days);
    }
    said.push('.');
    if let Some(replacing) = &offer.replacing {
        let (old, are) = (counted(offer.kept, "context"), are(offer.kept));
        said.push_str(&if replace {
            format!("\n{old}, {OLDER}, {are} written anew: {}{days}.", work(replacing))
        } else {
            let cost = estimated(replacing);
            format!("\n{old}, {OLDER}, {are} kept; `--replace` has them written anew ({cost}).")
        });
    }
    said
}

fn are(n: u64) -> &'static str {
    if n == 1 { "is" } else { "are" }
}

/// The contexts that a model writes, and what that takes.
pub(super) fn work(estimate: &Estimate) -> String {
    let (chunks, notes) = (counted(estimate.chunks, "chunk"), counted(estimate.notes, "note"));
    format!("{chunks} of {notes} {}", calls(estimate))
}

/// The number of calls, with their tokens, money and time.
fn calls(estimate: &Estimate) -> String {
    format!(
        "in {}: {}; {}, {}",
        counted(estimate.calls, "call"),
        tokens(estimate.tokens_in, estimate.tokens_cached, estimate.tokens_out),
        bold(estimated(estimate)),
        minutes(estimate.minutes),
    )
}

/// How many days the work takes within the day's budget.
pub(super) fn within(days: u64) -> String {
    match days {
        u64::MAX => "the day's budget is 0, so nothing is asked for".to_owned(),
        1 => "within a day's budget".to_owned(),
        days => format!("{} within the day's budget", counted(days, "day")),
    }
}

/// What waits for a yes, a line each, which names the vault if there are several.
pub(super) fn all_waiting<'a>(offers: impl Iterator<Item = &'a Offer> + Clone) -> Vec<String> {
    let is_named = |offer: &Offer| !offer.vault.is_empty() && offers.clone().count() > 1;
    let whose = |offer: &Offer| if is_named(offer) { format!("{}: ", safe(&offer.vault)) } else { String::new() };
    offers.clone().map(|offer| format!("{}{}", whose(offer), waiting(offer))).collect()
}

/// What waits for a yes, in one line.
fn waiting(offer: &Offer) -> String {
    let days = offer.days.map_or_else(String::new, |days| format!(", {}", within(days)));
    let goes = if offer.what == OfferedWork::Reranking { "go" } else { "goes" };
    let to = offer
        .leaves_to
        .as_ref()
        .map_or_else(String::new, |host| format!("; {} {goes} to {}", leaving(offer), safe(host)));
    let estimate = &offer.estimate;
    let what = match offer.what {
        OfferedWork::Contexts if estimate.chunks == 0 => "what changes from now on".to_owned(),
        OfferedWork::Contexts => format!("{}, {}{days}", counted(estimate.chunks, "chunk"), estimated(estimate)),
        OfferedWork::Vectors => format!("vectors of {}, {}", counted(estimate.notes, "note"), estimated(estimate)),
        OfferedWork::Reranking => format!("reranking by {}, {}", model(offer), each(offer)),
    };
    format!("waits for your yes: `situated contexts start` ({what}{to})")
}

#[cfg(test)]
mod tests;
