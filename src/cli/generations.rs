//! `situated generations`: other ways of writing contexts, built beside the one that is in use.

use serde_json::{Value, json};

use super::args::{GenerationCommand, Generations as Args};
use super::consent::{leaves, vectors_made};
use super::jobs::{follow, unless_paused};
use super::print::{bold, counted, dim, green, padded, printable};
use super::rebuild::taken;
use super::session::{CliFailure, Session, safe};
use super::{confirm, exit};
use protocol::generations::{
    BuildGenerationRequest, DropGenerationRequest, GenerationInfo, GenerationList, GenerationsRequest,
    UseGenerationRequest,
};
use protocol::jobs::Job;
use protocol::status::{Status, StatusRequest};

/// `situated generations`.
pub(super) fn run(args: Args, session: &mut Session) -> Result<u8, CliFailure> {
    let vault = args.vault;
    match args.command.unwrap_or(GenerationCommand::List) {
        GenerationCommand::List => list(vault.as_deref(), session),
        GenerationCommand::Build { name, yes, dry_run } => build(&name, vault.as_deref(), yes, dry_run, session),
        GenerationCommand::Use { name } => {
            session.call(&UseGenerationRequest { name: name.clone(), vault })?;
            session.done(Value::Null, format!("searches are answered from `{}` now", safe(&name)))
        }
        GenerationCommand::Drop { name } => {
            session.call(&DropGenerationRequest { name: name.clone(), vault })?;
            session.done(Value::Null, format!("`{}` is gone; what was paid for is in the archive", safe(&name)))
        }
    }
}

fn list(vault: Option<&str>, session: &mut Session) -> Result<u8, CliFailure> {
    let reply = session.client()?.ask(&GenerationsRequest { vault: vault.map(str::to_owned) })?;
    let Some(GenerationList { generations }) = session.unless_json(reply)? else { return Ok(exit::OK) };
    for generation in &generations {
        session.out.line(line(generation))?;
    }
    if generations.iter().all(|generation| generation.name == "default") {
        session.say("others are written as `[generation.NAME]` with keys of `[context]`; then `situated generations build NAME`");
    }
    Ok(exit::OK)
}

fn line(generation: &GenerationInfo) -> String {
    let GenerationInfo { vault, name, provider, model, active, built, chunks, waiting, failed, .. } = generation;
    let state = match () {
        () if *active => green("answers"),
        () if !built => dim("not built"),
        () => "built".to_owned(),
    };
    let mut about = format!("{} {}", printable(provider), printable(model)).trim_end().to_owned();
    if *built {
        about.push_str(&format!(", {}", counted(*chunks, "chunk")));
    }
    if *waiting > 0 {
        about.push_str(&format!(", {waiting} to be written"));
    }
    if *failed > 0 {
        about.push_str(&format!(", {failed} given up"));
    }
    format!("{} {}  {state}  {}", padded(&printable(vault), 12), bold(padded(&printable(name), 16)), dim(about))
}

fn build(name: &str, vault: Option<&str>, yes: bool, dry_run: bool, session: &mut Session) -> Result<u8, CliFailure> {
    let mut client = session.client()?;
    let request = |dry_run| BuildGenerationRequest { name: name.to_owned(), vault: vault.map(str::to_owned), dry_run };
    let job = client.call(&request(true))?;
    if dry_run && session.globals.json {
        session.json(json!({ "estimate": job }))?;
        return Ok(exit::OK);
    }
    let mut status = client.call(&StatusRequest::default())?;
    let all = client.call(&GenerationsRequest { vault: vault.map(str::to_owned) })?;
    if let Some(own) = all.generations.into_iter().find(|generation| generation.name == name) {
        (status.contexts.provider, status.contexts.model) = (own.provider, own.model);
    }
    session.terms(format!("{}\nWhat answers now goes on answering.", described(&job, &status)), !yes);
    if let Some(problem) = &job.problem {
        session.terms(safe(problem), !yes);
    }
    if dry_run {
        return Ok(exit::OK);
    }
    unless_paused(&mut client)?;
    if !yes && !confirm::go_on()? {
        return session.nothing(exit::OK, "nothing was done");
    }
    let job = client.call(&request(false))?;
    follow(job, &mut client, session)
}

/// What building a generation takes: contexts, and vectors if an embedder that takes time or money makes them. `status`
/// names its model.
fn described(job: &Job, status: &Status) -> String {
    let asked = job.estimate.as_ref().filter(|estimate| estimate.chunks > 0);
    let contexts = match (asked, &job.estimate, status.contexts.provider.as_str()) {
        (Some(estimate), ..) => taken(estimate, false, status),
        (None, Some(_), _) => "No chunk of it lacks a model's context".to_owned(),
        (None, None, "none") => "It has no contexts".to_owned(),
        (None, None, _) => "Its contexts come from the notes themselves".to_owned(),
    };
    let mut said = match (asked, &job.vectors[..]) {
        (Some(_), _) => format!(
            "{contexts}\nOnce it answers, the model is asked for what you change, too, within the day's budget."
        ),
        (None, []) => format!("{contexts}: it costs nothing."),
        (None, _) => format!("{contexts}."),
    };
    for offer in &job.vectors {
        said.push_str(&format!("\n{}", vectors_made(offer)));
        // What a model takes says all that leaves.
        if asked.is_none() {
            said.push_str(&format!("\n{}", leaves(offer)));
        }
    }
    said
}

#[cfg(test)]
mod tests;
