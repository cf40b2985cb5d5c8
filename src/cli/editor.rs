//! `situated editor`: plugins that this program contains, written into an editor's own folder and taken out again.

mod carried;
mod installed;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use self::carried::{OBSIDIAN, PLUGINS, Plugin, Surroundings};
use self::installed::{Installed, Standing};
use super::args::{EditorAction, EditorName};
use super::print::{bold, dim, padded, printable, shown, typed, yellow};
use super::session::{CliFailure, Session};
use super::{confirm, exit, target};
use crate::daemon::config::Config;
use protocol::folders::home;
use vault::settings::VaultConfig;

/// `situated editor`.
pub(super) fn run(action: EditorAction, session: &mut Session) -> Result<u8, CliFailure> {
    let around = surroundings()?;
    match action {
        EditorAction::Install { editor, dry_run, yes, vault, dir } => {
            let plugin = Plugin::of(editor);
            let installed = Installed::look(place(plugin, (vault, dir), around, session)?);
            install(plugin, &installed, dry_run, yes, session)
        }
        EditorAction::List => list(&around, session),
        EditorAction::Uninstall { editor, vault, dir } => {
            let plugin = Plugin::of(editor);
            let installed = Installed::look(place(plugin, (vault, dir), around, session)?);
            uninstall(plugin, &installed, session)
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
        vault: None,
    })
}

/// The folder of a plugin: as named, or where the editor looks for it.
fn place(
    plugin: &Plugin,
    (vault, dir): (Option<PathBuf>, Option<PathBuf>),
    mut around: Surroundings,
    session: &Session,
) -> Result<PathBuf, CliFailure> {
    match (&vault, plugin.editor) {
        (Some(vault), EditorName::Obsidian) => around.vault = Some(of_obsidian(vault, session)?),
        (Some(_), _) => {
            return Err(CliFailure::usage("`--vault` is for Obsidian alone, whose plugins lie in the vault"));
        }
        (None, _) => {}
    }
    let folder = dir.or_else(|| plugin.folder(&around));
    let folder = folder.ok_or_else(|| {
        CliFailure::usage("Obsidian's plugins lie in the vault: say which with `--vault`, by name or folder")
    })?;
    Ok(std::path::absolute(folder)?)
}

/// The folder of a vault that Obsidian knows, by the vault's name or its folder.
fn of_obsidian(vault: &Path, session: &Session) -> Result<PathBuf, CliFailure> {
    let vaults = vaults(session)?;
    let folder = target::configured(vault, &vaults).map_or_else(|| vault.to_owned(), |at| vaults[at].path.clone());
    if !folder.join(OBSIDIAN).is_dir() {
        let message = format!(
            "{} is no vault of Obsidian's: it has no folder `{OBSIDIAN}`; open it in Obsidian first, or name another ({})",
            shown(&folder),
            target::names(&vaults)
        );
        return Err(CliFailure::usage(message));
    }
    Ok(folder)
}

fn vaults(session: &Session) -> Result<Vec<VaultConfig>, CliFailure> {
    let (loaded, _) = Config::read(&session.overrides());
    Ok(target::or_served(loaded, session)?.config.engine.vaults)
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
    if plugin.editor == EditorName::Obsidian && !writes.is_empty() && !yes {
        let question = format!(
            "Obsidian's plugins lie in the vault, where nothing else of situated's ever writes. Write {}?",
            shown(installed.folder())
        );
        if !confirm::answered_yes(&question, "say `--yes` to have it written, or `--dry-run` to see what would be")? {
            return Err(CliFailure::new(exit::NOTHING, "nothing was written"));
        }
    }
    installed.install(plugin).map_err(|error| CliFailure::new(exit::CANNOT_CREATE, error.to_string()))?;
    let what = if writes.is_empty() { "It was there already:" } else { "Installed" };
    session.result(
        json!({ "editor": plugin.name, "folder": installed.folder(), "written": writes.len() }),
        format!("{} the plugin for {} in {}", bold(what), plugin.title, shown(installed.folder())),
    )?;
    session.say(plugin.next(installed.folder()));
    Ok(exit::OK)
}

fn list(around: &Surroundings, session: &mut Session) -> Result<u8, CliFailure> {
    let mut all: Vec<Value> = Vec::new();
    let with = |vault: VaultConfig| Surroundings { vault: Some(vault.path), ..around.clone() };
    let vaults = vaults(session)?.into_iter().filter(|vault| vault.path.join(OBSIDIAN).is_dir());
    let arounds: Vec<Surroundings> = vaults.map(with).collect();
    let places = PLUGINS.iter().flat_map(|plugin| {
        // With Obsidian, each vault has its own copy of the plugin.
        let arounds = if plugin.editor == EditorName::Obsidian { &arounds[..] } else { std::slice::from_ref(around) };
        arounds.iter().filter_map(move |around| Some((plugin, around.vault.as_deref(), plugin.folder(around)?)))
    });
    for (plugin, vault, folder) in places {
        let installed = Installed::look(folder);
        let vault = vault.map_or_else(String::new, |vault| format!(" --vault {}", printable(&typed(vault))));
        let install = format!("situated editor install {}{vault}", plugin.name);
        let (standing, changed) = (installed.standing(plugin), installed.changed(plugin));
        let said = match &standing {
            Standing::Absent => dim(format!("not installed: {install}")),
            Standing::Current => shown(installed.folder()),
            Standing::Other(version) => {
                let is_ours = version == env!("CARGO_PKG_VERSION");
                let what =
                    if is_ours { "a part is missing".to_owned() } else { format!("of version {}", printable(version)) };
                format!("{}  {}", shown(installed.folder()), yellow(format!("{what}: {install}")))
            }
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
        let why = format!("the plugin for {} is not installed in {}", plugin.title, shown(installed.folder()));
        return session.nothing(exit::NOTHING, why);
    }
    let kept = installed.uninstall(plugin)?;
    session.result(
        json!({ "editor": plugin.name, "folder": installed.folder(), "kept": kept }),
        format!("{} the plugin for {} from {}", bold("Removed"), plugin.title, shown(installed.folder())),
    )?;
    if !kept.is_empty() {
        session.say(format!("{} somebody has changed, so it stays: {}", yellow("note:"), kept.join(", ")));
    }
    Ok(exit::OK)
}
