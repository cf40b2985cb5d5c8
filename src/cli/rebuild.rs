//! `situated rebuild`: says what it takes, asks, and follows it to its end.

use serde_json::json;

use super::args::Rebuild;
use super::consent::work;
use super::jobs::{follow, scope, unless_paused};
use super::print::{bold, counted};
use super::session::{CliFailure, Session, safe};
use super::target;
use super::{confirm, exit};
use protocol::contexts::{Estimate, Offer, OfferedWork};
use protocol::jobs::{Job, RebuildRequest, Scope};
use protocol::status::{Status, StatusRequest};

/// `situated rebuild`.
pub(super) fn run(args: &Rebuild, session: &mut Session) -> Result<u8, CliFailure> {
    let mut client = session.client()?;
    let scope = scope(args.what.as_deref(), args.vault.as_deref(), &mut client)?;
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
    let mut terms = match &job.estimate {
        Some(estimate) => {
            let status = client.call(&StatusRequest::default())?;
            let agrees = if agrees(&scope, estimate, &status) { FROM_THEN_ON } else { "" };
            format!("{work}\n{}{agrees}\nSearches are answered meanwhile.", taken(estimate, args.batch, &status))
        }
        None => {
            format!("{work} Contexts come from the note itself: it costs nothing.\nSearches are answered meanwhile.")
        }
    };
    if let Some(problem) = &job.problem {
        terms.push('\n');
        terms.push_str(&safe(problem));
    }
    // One note that costs nothing is done before anybody has read the question.
    let is_trifle = notes == 1 && job.estimate.as_ref().is_none_or(|estimate| estimate.chunks == 0);
    let asks = !args.yes && !is_trifle && notes > 0;
    session.terms(terms, args.dry_run || asks);
    if args.dry_run {
        return Ok(exit::OK);
    }
    unless_paused(&mut client)?;
    if notes == 0 {
        return session.nothing(exit::NOTHING, "there is nothing to do");
    }
    if asks && !confirm::go_on()? {
        return session.nothing(exit::OK, "nothing was done");
    }
    request.dry_run = false;
    let begun = Job { estimate: job.estimate, ..client.call(&request)? };
    follow(begun, &mut client, session)
}

const FROM_THEN_ON: &str = "\nA yes holds from then on: the model is asked for what you change, too, within the day's budget, \
    until `situated contexts stop`.";

/// Whether the user, by saying yes, lets the model be asked for more than this: whoever rebuilds a whole vault agrees to the
/// model.
fn agrees(scope: &Scope, estimate: &Estimate, status: &Status) -> bool {
    let concerns = |offer: &Offer| {
        offer.what == OfferedWork::Contexts && scope.vault.as_ref().is_none_or(|vault| *vault == offer.vault)
    };
    scope.path.is_none() && estimate.chunks > 0 && status.contexts.offers.iter().any(concerns)
}

/// What it takes to have a model write the contexts: work, money, time, and where the text goes.
pub(super) fn taken(estimate: &Estimate, batch: bool, status: &Status) -> String {
    if estimate.chunks == 0 {
        return "No chunk of it is to have a model's context: it costs nothing.".to_owned();
    }
    let model = format!("{} {}", safe(&status.contexts.provider), safe(&status.contexts.model));
    let how = if batch { ", in batches, which may take the provider a day" } else { "" };
    let mut said = format!("{model} writes contexts for {}{how}.", work(estimate));
    // Queries and what is asked do not leave by it.
    for leaving in status.leaves_machine.iter().filter(|leaving| leaving.starts_with("text of notes")) {
        said.push_str("\nLeaves this machine: ");
        said.push_str(&safe(leaving));
    }
    said
}

#[cfg(test)]
mod tests;
