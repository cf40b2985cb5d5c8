//! `situated models add`: the model first, then its line in the configuration.

use std::io::{IsTerminal as _, Write as _};
use std::path::Path;

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};

use super::configure::{Named, Setting, named_in};
use super::{as_json, failed, kind, licence, origin};
use crate::cli::args::AddModel;
use crate::cli::print::{bold, bytes, dim, printable, shown};
use crate::cli::session::{CliFailure, Session};
use crate::cli::{confirm, exit, jobs, replace};
use crate::daemon::config::{Config, ConfigErrors, config_file};
use crate::daemon::sandbox::make_files_private;
use protocol::daemon::{Problems, ReloadRequest};
use provider::hub::Hub;
use provider::models::{AddEvent, Installed, ModelKind, Shelf, Source};

const INSTEAD: &str = "say `--yes` to have the model named in the configuration, or `--no-config` to leave that alone";

/// `situated models add`.
pub(super) fn run(args: &AddModel, session: &mut Session) -> Result<u8, CliFailure> {
    // Models are in the daemon's folder, which is hidden from other users.
    make_files_private();
    let kind = ModelKind::from(args.kind);
    let source = Source::parse(&args.what).map_err(failed)?;
    let id = source.id().map_err(failed)?;
    let (loaded, _) = Config::read(&session.overrides());
    let shelf = Shelf::of(&loaded.config.engine.data_dir);
    let setting = Setting::of(kind, &id, &shelf);
    let file = config_file(&session.overrides());
    // A symbolic link (as dotfiles often are) stays one: its target is written.
    let file = file.canonicalize().unwrap_or(file);
    let asks = !args.yes && !args.no_config && matches!(planned(&file, &setting), Ok(Some(_)));
    if asks {
        // Checked before a download, not after it.
        if session.globals.json {
            return Err(CliFailure::usage(format!("--json asks nothing; {INSTEAD}")));
        }
        confirm::somebody(INSTEAD)?;
    }
    let (model, new) = fetch(&shelf, &source, kind, session)?;
    let (loaded, _) = Config::read(&session.overrides());
    if !session.globals.json {
        tell(&model, new, session)?;
    }
    let mut told = json!({ "model": as_json(&model, &loaded), "added": new });
    if args.no_config {
        told["config"] = json!({ "file": file, "written": false, "lines": setting.lines() });
        session.say(format!("To use it, put this into {}:", shown(&file)));
        session.print(told, |out| out.text(&setting.lines()))?;
        return Ok(exit::OK);
    }
    let Some(written) = configure(&file, &setting, args.yes, session)? else {
        told["config"] = json!({ "file": file, "written": false });
        return session.done(told, "The configuration stays as it is; the model stays here.");
    };
    let reloaded = reload(session);
    if session.globals.json {
        told["config"] = json!({ "file": file, "written": written });
        told["reloaded"] = if reloaded == Ok(false) { Value::Null } else { reloaded.is_ok().into() };
        session.json(told)?;
    } else {
        next(kind, &reloaded, session);
    }
    Ok(if reloaded.is_ok() { exit::OK } else { exit::NOTHING })
}

/// Downloads or copies the model, with a bar for its weights.
fn fetch(shelf: &Shelf, source: &Source, kind: ModelKind, session: &Session) -> Result<(Installed, bool), CliFailure> {
    let hidden = session.globals.quiet || session.globals.json;
    let bar = jobs::bar(hidden || !std::io::stderr().is_terminal());
    let hear = |event: AddEvent<'_>| match event {
        AddEvent::Described { licence, bytes: all } => {
            let size = all.map_or("size not said".to_owned(), bytes);
            let licence = licence.map_or("licence not said".to_owned(), |name| format!("licence {}", printable(name)));
            if let Source::Hub(id) = source {
                let line = format!("{}: {size}, {licence}", bold(printable(&id.to_string())));
                // Not through the session: it holds standard output, which threads cannot share.
                bar.suspend(|| drop(if hidden { Ok(()) } else { writeln!(anstream::stderr(), "{line}") }));
            }
        }
        AddEvent::File { name, here, all } => progress(&bar, name, here, all),
        AddEvent::Trying => {
            bar.set_style(ProgressStyle::default_spinner());
            bar.set_message("trying it");
        }
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let added = runtime.block_on(shelf.add(source, kind, Hub::from_env, &hear));
    bar.finish_and_clear();
    added.map_err(failed)
}

fn progress(bar: &ProgressBar, name: &str, here: u64, all: Option<u64>) {
    if bar.message() != name {
        let template = if all.is_some() {
            "{wide_bar:.cyan} {bytes}/{total_bytes}  {bytes_per_sec}  {msg}"
        } else {
            "{spinner} {bytes}  {bytes_per_sec}  {msg}"
        };
        bar.set_style(jobs::style(template));
        bar.set_message(name.to_owned());
        bar.reset_elapsed();
    }
    if let Some(all) = all {
        bar.set_length(all);
    }
    bar.set_position(here);
}

fn tell(model: &Installed, new: bool, session: &mut Session) -> Result<(), CliFailure> {
    let verb = if new { "Added" } else { "It is here already:" };
    Ok(session.out.line(format!(
        "{} {}: {}, {}, licence {}, from {}",
        bold(verb),
        bold(printable(&model.id.to_string())),
        kind(model),
        bytes(model.bytes),
        printable(licence(model)),
        printable(&origin(model)),
    ))?)
}

/// What would be written; `None` if the file has it already.
fn planned(file: &Path, setting: &Setting) -> Result<Option<Named>, String> {
    let text = std::fs::read_to_string(file).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => "there is none yet; `situated init` writes one".to_owned(),
        _ => error.to_string(),
    })?;
    named_in(&text, setting)
}

/// Names the model in the configuration: `true` if that had to be written, `false` if the file had it already; `None`
/// if the user says no.
fn configure(file: &Path, setting: &Setting, yes: bool, session: &mut Session) -> Result<Option<bool>, CliFailure> {
    let by_hand = |code: u8, why: &str| {
        CliFailure::new(
            code,
            format!(
                "the model is added, and the configuration {} stays as it is: {why}\nTo use the model, put this into it:\n{}",
                file.display(),
                setting.lines()
            ),
        )
    };
    let Some(named) = planned(file, setting).map_err(|why| by_hand(exit::CANNOT_CREATE, &why))? else {
        session.say(format!("{} names it already.", shown(file)));
        return Ok(Some(false));
    };
    if !session.globals.json {
        session.out.line(format!("{} would say in {}:", shown(file), bold(setting.header())))?;
        for line in &named.changes {
            session.out.line(format!("  {}", printable(line)))?;
        }
    }
    if !yes && !confirm::answered_yes("Write it?", INSTEAD)? {
        return Ok(None);
    }
    let problems = Config::problems_of(file, &named.new, &session.overrides());
    if !problems.is_empty() {
        let said = ConfigErrors { problems };
        return Err(by_hand(ConfigErrors::EXIT_CODE, &format!("it is wrong\n{said}")));
    }
    let written = replace::file(file, Some(&named.old), &named.new, false);
    written.map_err(|error| by_hand(exit::CANNOT_CREATE, &error.to_string()))?;
    if !session.globals.json {
        session.out.line(format!("{} {}", bold("Wrote"), shown(file)))?;
    }
    let (loaded, _) = Config::read(&session.overrides());
    if let Some(variable) = setting.overruled(&loaded) {
        session.say(format!("The variable {variable} says otherwise, and is stronger than the file: unset it."));
    }
    Ok(Some(true))
}

/// Makes a running daemon read the configuration again; `false` if none runs. The error is what prevents it.
fn reload(session: &Session) -> Result<bool, String> {
    let asked = session.running().transpose().map(|client| Ok(client?.call(&ReloadRequest {})?));
    match asked {
        None => Ok(false),
        Some(Ok(Problems { problems, .. })) => problems.first().map_or(Ok(true), |problem| Err(problem.to_string())),
        Some(Err(CliFailure::Said { message, .. })) => Err(message),
        Some(Err(CliFailure::Quiet)) => Ok(true),
    }
}

/// What the user can type now.
fn next(kind: ModelKind, reloaded: &Result<bool, String>, session: &Session) {
    session.say(match reloaded {
        Err(problem) => format!("The daemon goes on as before: {}; start it again.", printable(problem)),
        Ok(true) => "The daemon has read its configuration again.".to_owned(),
        Ok(false) => format!("No daemon runs; {} starts one.", bold("situated run")),
    });
    session.say(match kind {
        ModelKind::CrossEncoder => {
            format!("Now:  {}   {}", bold("situated search --rerank \"…\""), dim("it judges the best passages anew"))
        }
        ModelKind::Embedder | ModelKind::Static => format!(
            "Now:  {}   {}",
            bold("situated status"),
            dim("how far the new vectors are; until then the old ones answer")
        ),
    });
}
