//! `situated models`: models that run in this process. No daemon is needed for any of it.

mod add;
mod configure;

use serde_json::{Value, json};

use super::args::{ModelsAction, ModelsCommand};
use super::print::{bold, bytes, dim, green, padded, printable, red, shown, yellow};
use super::session::{CliFailure, Session};
use super::{confirm, exit};
use crate::daemon::config::{Config, Loaded, ValueOrigin};
use index::embed::settings::EmbedProvider;
use index::search::rerank::RerankProvider;
use protocol::daemon::Problem;
use protocol::folders::Folders;
use provider::hub::{HubError, ModelId, located};
use provider::models::{Installed, ModelError, ModelFault, ModelKind, Origin, Shelf};

/// `situated models`.
pub(super) fn run(args: ModelsCommand, session: &mut Session) -> Result<u8, CliFailure> {
    match args.command.unwrap_or(ModelsAction::List) {
        ModelsAction::Add(args) => add::run(&args, session),
        ModelsAction::List => list(session),
        ModelsAction::Check { name } => check(name.as_deref(), session),
        ModelsAction::Remove { name, yes } => remove(&name, yes, session),
    }
}

/// The problem of a configuration that names a cross-encoder which is not here, at the line that names it. The daemon
/// itself downloads a missing embedder when it starts.
pub(super) fn absent(loaded: &Loaded) -> Option<Problem> {
    let rerank = &loaded.config.engine.rerank;
    if rerank.provider != RerankProvider::Transformer || find(rerank.model(), loaded).is_some() {
        return None;
    }
    Some(loaded.problem_at("rerank.model", &ModelKind::CrossEncoder.absent(rerank.model())))
}

/// The folder of a model that the configuration names.
fn find(name: &str, loaded: &Loaded) -> Option<std::path::PathBuf> {
    located(name, Shelf::of(&loaded.config.engine.data_dir).folder(), &Folders::here().hub_cache)
}

/// The keys of the configuration that name a model.
fn users(model: &Installed, loaded: &Loaded) -> Vec<&'static str> {
    let embed = &loaded.config.engine.embed;
    let rerank = &loaded.config.engine.rerank;
    let here = |folder: Option<std::path::PathBuf>| {
        let real = |folder: &std::path::Path| folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        !model.partial && folder.is_some_and(|folder| real(&folder) == real(&model.folder))
    };
    let mut users = Vec::new();
    if rerank.provider == RerankProvider::Transformer && here(find(rerank.model(), loaded)) {
        users.push("rerank.model");
    }
    match embed.provider {
        EmbedProvider::Transformer if here(find(embed.model(), loaded)) => users.push("embed.model"),
        EmbedProvider::Static if here(embed.path.clone()) => users.push("embed.path"),
        _ => {}
    }
    users
}

/// The section of a key.
fn section(key: &str) -> String {
    format!("[{}]", key.split('.').next().unwrap_or(key))
}

/// Where a model came from, in a few words.
fn origin(model: &Installed) -> String {
    match model.known().map(|record| &record.origin) {
        Some(Origin::Hub { host, commit: Some(commit), .. }) => {
            format!("{host}, commit {}", commit.chars().take(8).collect::<String>())
        }
        Some(Origin::Hub { host, .. }) => host.clone(),
        Some(Origin::Folder(folder)) => folder.clone(),
        Some(Origin::Found) => "was here before it was added".to_owned(),
        None if model.partial => "a download that ended early".to_owned(),
        None if model.record.is_some() => "its record cannot be read".to_owned(),
        None => "added by the daemon, or an older version".to_owned(),
    }
}

fn licence(model: &Installed) -> &str {
    model.known().and_then(|record| record.licence.as_deref()).unwrap_or("not said")
}

fn kind(model: &Installed) -> &'static str {
    model.known().map_or("-", |record| record.kind.name())
}

/// A model as programs see it.
fn as_json(model: &Installed, loaded: &Loaded) -> Value {
    let record = model.known();
    json!({
        "name": model.id.to_string(), "folder": model.folder, "bytes": model.bytes, "partial": model.partial,
        "kind": record.map(|record| record.kind), "licence": record.and_then(|record| record.licence.as_ref()),
        "origin": record.map(|record| &record.origin), "added": record.map(|record| &record.added),
        "files": record.map(|record| &record.files), "used_by": users(model, loaded),
    })
}

fn list(session: &mut Session) -> Result<u8, CliFailure> {
    let (loaded, _) = Config::read(&session.overrides());
    let shelf = Shelf::of(&loaded.config.engine.data_dir);
    let models = shelf.list()?;
    if session.globals.json {
        let models: Vec<Value> = models.iter().map(|model| as_json(model, &loaded)).collect();
        session.json(json!({ "folder": shelf.folder(), "models": models }))?;
        return Ok(exit::OK);
    }
    let width = models.iter().map(|model| model.id.to_string().len()).max().unwrap_or_default();
    for model in &models {
        let used: Vec<String> = users(model, &loaded).into_iter().map(section).collect();
        let used = if used.is_empty() {
            String::new()
        } else {
            format!("  {}", green(format!("in use by {}", used.join(", "))))
        };
        session.out.line(format!(
            "{}  {}  {}  {}  {}{used}",
            bold(padded(&printable(&model.id.to_string()), width)),
            padded(kind(model), 13),
            padded(&bytes(model.bytes), 8),
            padded(&format!("licence {}", printable(licence(model))), 18),
            dim(printable(&origin(model))),
        ))?;
    }
    if models.is_empty() {
        session.say(format!(
            "No model is here; the built-in one needs none. A reranker: {}",
            bold("situated models add cross-encoder ORG/NAME")
        ));
    }
    if let Some(problem) = absent(&loaded) {
        session.say(yellow(printable(&problem.to_string())));
    }
    Ok(exit::OK)
}

fn check(name: Option<&str>, session: &mut Session) -> Result<u8, CliFailure> {
    let (loaded, _) = Config::read(&session.overrides());
    let shelf = Shelf::of(&loaded.config.engine.data_dir);
    let models = match name {
        Some(name) => vec![named(name, &shelf)?],
        None => shelf.list()?,
    };
    let checked: Vec<(Installed, Vec<ModelFault>)> =
        models.into_iter().map(|model| (model.clone(), shelf.check(&model))).collect();
    let missing = absent(&loaded).filter(|_| name.is_none());
    let fine = missing.is_none() && checked.iter().all(|(_, faults)| faults.is_empty());
    let code = if fine { exit::OK } else { exit::NOTHING };
    if session.globals.json {
        let models = checked.iter().map(|(model, faults)| {
            json!({ "name": model.id.to_string(), "recorded": model.known().is_some(), "faults": faults })
        });
        let (models, missing): (Vec<Value>, Vec<&Problem>) = (models.collect(), missing.iter().collect());
        session.json(json!({ "models": models, "problems": missing }))?;
        return Ok(code);
    }
    for (model, faults) in &checked {
        let id = bold(printable(&model.id.to_string()));
        if faults.is_empty() {
            let how = match model.known() {
                Some(record) => format!("{} files are as they were added; it opens and answers", record.files.len()),
                None => "it opens and answers; what its files were is not written down".to_owned(),
            };
            session.out.line(format!("{}  {id}  {how}", green("fine ")))?;
            continue;
        }
        for fault in faults {
            session.out.line(format!(
                "{}  {id}  {}: {}",
                red("wrong"),
                shown(&fault.path),
                printable(&fault.problem)
            ))?;
        }
        session.out.line(format!("       {}", remedy(model)))?;
    }
    if let Some(problem) = missing {
        session.out.line(format!("{}  {}", red("wrong"), printable(&problem.to_string())))?;
    } else if checked.is_empty() {
        session.say("No model is here.");
    }
    Ok(code)
}

/// What to do about a model that is wrong.
fn remedy(model: &Installed) -> String {
    let id = &model.id;
    let kind = model.known().map_or("KIND", |record| record.kind.name());
    if model.partial {
        return format!("go on with it: situated models add {kind} {id}; or be rid of it: situated models remove {id}");
    }
    let what = match model.known().map(|record| &record.origin) {
        Some(Origin::Folder(folder)) => folder.clone(),
        Some(Origin::Found | Origin::Hub { .. }) | None => id.to_string(),
    };
    format!("add it anew: move {} away, then situated models add {kind} {what}", model.folder.display())
}

/// The model of that name.
fn named(name: &str, shelf: &Shelf) -> Result<Installed, CliFailure> {
    let id = ModelId::parse(name).ok_or_else(|| CliFailure::usage(HubError::Name(name.to_owned()).to_string()))?;
    let none =
        || CliFailure::new(exit::NOTHING, format!("no model {id} is here; `situated models list` says which are"));
    shelf.find(&id).ok_or_else(none)
}

fn remove(name: &str, yes: bool, session: &mut Session) -> Result<u8, CliFailure> {
    let (loaded, _) = Config::read(&session.overrides());
    let shelf = Shelf::of(&loaded.config.engine.data_dir);
    let model = named(name, &shelf)?;
    if let Some(key) = users(&model, &loaded).into_iter().next() {
        let place = match loaded.origin(key) {
            ValueOrigin::Default => key.to_owned(),
            origin => format!("{key} ({origin})"),
        };
        return Err(CliFailure::new(
            exit::NOTHING,
            format!("{} is in use: {place} names it; change that first, or take the section out", model.id),
        ));
    }
    let freed = bytes(model.bytes);
    session.terms(format!("{} at {} takes {freed}.", bold(printable(name)), shown(&model.folder)), !yes);
    if !yes && !confirm::answered_yes("Remove it?", "say `--yes` to remove it")? {
        return session.nothing(exit::OK, "nothing was removed");
    }
    shelf.remove(&model).map_err(failed)?;
    let json = json!({ "removed": model.id.to_string(), "freed_bytes": model.bytes });
    session.result(json, format!("Removed {}; {freed} are free again", printable(&model.id.to_string())))
}

/// A failure with its exit code.
fn failed(error: ModelError) -> CliFailure {
    let code = match &error {
        ModelError::Hub(HubError::Name(_) | HubError::NoFolder(_) | HubError::Endpoint(_))
        | ModelError::Lacks { .. }
        | ModelError::Unnamed(_) => exit::USAGE,
        ModelError::Hub(HubError::Refused { .. } | HubError::Own(_)) | ModelError::Unfit { .. } => exit::NOTHING,
        ModelError::Hub(HubError::Busy(_)) => exit::TEMPORARY,
        ModelError::Taken { .. } | ModelError::NoRoom { .. } => exit::CANNOT_CREATE,
        ModelError::Hub(HubError::Network { .. } | HubError::Wrong { .. } | HubError::File { .. }) => exit::IO,
    };
    CliFailure::new(code, error.to_string())
}
