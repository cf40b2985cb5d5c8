//! `situated editor`: plugins that this program carries, written into an editor's own folder and taken out again.

mod carried;
mod installed;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use self::carried::{PLUGINS, Plugin, Surroundings};
use self::installed::{Installed, Standing};
use super::args::EditorAction;
use super::exit;
use super::print::{bold, dim, padded, printable, yellow};
use super::session::{CliFailure, Session};
use protocol::folders::home;

/// `situated editor`.
pub(super) fn run(action: EditorAction, session: &mut Session) -> Result<u8, CliFailure> {
    let around = surroundings()?;
    match action {
        EditorAction::Install { editor, dry_run, yes, dir } => {
            let plugin = Plugin::of(editor);
            let installed = Installed::look(place(plugin, dir, &around)?);
            install(plugin, &installed, dry_run, yes, session)
        }
        EditorAction::List => list(&around, session),
        EditorAction::Uninstall { editor, dir } => {
            let plugin = Plugin::of(editor);
            uninstall(plugin, &Installed::look(place(plugin, dir, &around)?), session)
        }
    }
}

fn surroundings() -> Result<Surroundings, CliFailure> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folder = |name: &str| variable(name).filter(|path| path.is_absolute());
    let home =
        home().ok_or_else(|| CliFailure::usage("which folder is your home is not known: set HOME, or say --dir"))?;
    Ok(Surroundings {
        home,
        data_home: folder("XDG_DATA_HOME"),
        config_home: folder("XDG_CONFIG_HOME"),
        nvim_name: variable("NVIM_APPNAME"),
    })
}

fn place(plugin: &Plugin, dir: Option<PathBuf>, around: &Surroundings) -> Result<PathBuf, CliFailure> {
    let folder = dir.unwrap_or_else(|| plugin.folder(around));
    Ok(std::path::absolute(folder)?)
}

fn install(
    plugin: &Plugin,
    installed: &Installed,
    dry_run: bool,
    yes: bool,
    session: &mut Session,
) -> Result<u8, CliFailure> {
    let writes = installed.writes(plugin);
    let changed = installed.changed(plugin);
    if session.globals.json && dry_run {
        let paths: Vec<&PathBuf> = writes.iter().map(|write| &write.path).collect();
        session.json(
            json!({ "editor": plugin.name, "folder": installed.folder(), "would_write": paths, "changed": changed }),
        )?;
        return Ok(exit::OK);
    }
    if dry_run {
        for write in &writes {
            let what = if write.before.is_some() { "replace" } else { "write" };
            session.out.line(format!("would {what} {}", shown(&write.path)))?;
        }
        if writes.is_empty() {
            session.say("nothing would be written: all of it is there");
        }
    }
    if !changed.is_empty() && !yes {
        let message = format!(
            "in {} somebody has changed {}, which would be overwritten; say `--yes` to have that done, or move it away",
            shown(installed.folder()),
            changed.join(", ")
        );
        return Err(CliFailure::new(exit::CANNOT_CREATE, message));
    }
    if dry_run {
        return Ok(exit::OK);
    }
    installed.install(plugin).map_err(|error| CliFailure::new(exit::CANNOT_CREATE, error.to_string()))?;
    if session.globals.json {
        session.json(json!({ "editor": plugin.name, "folder": installed.folder(), "written": writes.len() }))?;
        return Ok(exit::OK);
    }
    let what = if writes.is_empty() { "It was there already:" } else { "Installed" };
    session.out.line(format!("{} the plugin for {} in {}", bold(what), plugin.title, shown(installed.folder())))?;
    session.say(plugin.next(installed.folder()));
    Ok(exit::OK)
}

fn list(around: &Surroundings, session: &mut Session) -> Result<u8, CliFailure> {
    let mut all: Vec<Value> = Vec::new();
    for plugin in &PLUGINS {
        let installed = Installed::look(plugin.folder(around));
        let (standing, changed) = (installed.standing(plugin), installed.changed(plugin));
        let said = match &standing {
            Standing::Absent => dim(format!("not installed: situated editor install {}", plugin.name)),
            Standing::Current => shown(installed.folder()),
            Standing::Other(version) => format!(
                "{}  {}",
                shown(installed.folder()),
                yellow(format!("of version {}: situated editor install {}", printable(version), plugin.name))
            ),
        };
        if session.globals.json {
            let version = match &standing {
                Standing::Absent => None,
                Standing::Current => Some(env!("CARGO_PKG_VERSION")),
                Standing::Other(version) => Some(version.as_str()),
            };
            let current = standing == Standing::Current;
            all.push(json!({
                "editor": plugin.name, "folder": installed.folder(), "version": version, "current": current, "changed": changed,
            }));
            continue;
        }
        session.out.line(format!("{}  {said}", bold(padded(plugin.name, 8))))?;
        if !changed.is_empty() {
            session
                .out
                .line(format!("          {}", yellow(format!("changed by somebody: {}", changed.join(", ")))))?;
        }
    }
    if session.globals.json {
        session.json(json!({ "editors": all }))?;
    }
    Ok(exit::OK)
}

fn uninstall(plugin: &Plugin, installed: &Installed, session: &mut Session) -> Result<u8, CliFailure> {
    if installed.standing(plugin) == Standing::Absent {
        session.say(format!("the plugin for {} is not installed in {}", plugin.title, shown(installed.folder())));
        return Ok(exit::NOTHING);
    }
    let kept = installed.uninstall(plugin)?;
    if session.globals.json {
        session.json(json!({ "editor": plugin.name, "folder": installed.folder(), "kept": kept }))?;
        return Ok(exit::OK);
    }
    session.out.line(format!(
        "{} the plugin for {} from {}",
        bold("Removed"),
        plugin.title,
        shown(installed.folder())
    ))?;
    if !kept.is_empty() {
        session.say(format!("{} somebody has changed, so it stays: {}", yellow("note:"), kept.join(", ")));
    }
    Ok(exit::OK)
}

fn shown(path: &Path) -> String {
    printable(&path.to_string_lossy()).into_owned()
}
