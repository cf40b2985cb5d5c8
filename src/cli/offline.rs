//! `situated contexts` and `situated compact`: work on a store that no daemon holds.

use std::fs::File;
use std::io::{BufReader, IsTerminal as _, Read, Write};
use std::path::{Path, PathBuf};

use serde_json::json;

use super::args::{ContextsAction, OnlyVault};
use super::exit;
use super::print::{bytes, counted, printable, yellow};
use super::replace::Draft;
use super::session::{CliFailure, Session, safe};
use super::target;
use crate::daemon::config::{Loaded, name_of_folder, real_folder};
use crate::daemon::sandbox::make_files_private;
use crate::daemon::serve::bind::{BindError, DataLock};
use engine::settings::Settings;
use note::Private;
use provider::Embedder;
use store::{CompactReport, ReadInputs, Store, StoreError};
use vault::settings::VaultConfig;

/// Most lines of an import that are passed over and named.
const MOST_NAMED: usize = 20;

impl From<StoreError> for CliFailure {
    fn from(error: StoreError) -> Self {
        let code = if matches!(error, StoreError::Locked(_)) { exit::TEMPORARY } else { exit::IO };
        CliFailure::new(code, error.to_string())
    }
}

/// The lock of the data folder: while it is held no daemon can start. What is written under it is as private as what a
/// daemon writes.
fn lock(loaded: &Loaded) -> Result<DataLock, CliFailure> {
    make_files_private();
    let lock = DataLock::acquire(&loaded.config.engine.data_dir).map_err(|error| {
        let said = match &error {
            BindError::AlreadyRunning { running, .. } => {
                let pid = running.as_ref().map_or_else(String::new, |running| format!(" (pid {})", running.pid));
                format!(
                    "a daemon runs{pid}, and the store can only be opened while none does; `situated stop`, then again"
                )
            }
            _ => error.to_string(),
        };
        CliFailure::new(error.exit_code(), said)
    })?;
    engine::take_over(&loaded.config.engine.data_dir, &loaded.config.engine.vaults);
    Ok(lock)
}

/// The vault that is meant: by name, by its folder, or the only one.
fn vault(name: Option<&str>, loaded: &Loaded) -> Result<VaultConfig, CliFailure> {
    let vaults = &loaded.config.engine.vaults;
    match (name, vaults.as_slice()) {
        (Some(name), _) => target::configured(Path::new(name), vaults)
            .map(|at| vaults[at].clone())
            .or_else(|| of_folder(name, loaded))
            .ok_or_else(|| match vaults.as_slice() {
                [] => CliFailure::usage(format!(
                    "no vault is configured, and no daemon runs that was given one: name the folder of `{name}` instead"
                )),
                _ => CliFailure::usage(format!("there is no vault `{name}`; there is {}", target::names(vaults))),
            }),
        (None, [only]) => Ok(only.clone()),
        (None, []) => Err(CliFailure::usage(
            "no vault is configured, and no daemon runs that was given one: name its folder, or let `situated init` write a \
             configuration",
        )),
        (None, _) => Err(CliFailure::usage(format!("say which vault with --vault: {}", target::names(vaults)))),
    }
}

/// The vault of a folder that no configuration names. The folder may be gone, if its index is there.
fn of_folder(path: &str, loaded: &Loaded) -> Option<VaultConfig> {
    let (folder, given) = (real_folder(Path::new(path)), PathBuf::from(path));
    let is_known = |folder: &PathBuf| folder.is_dir() || index_of(folder, loaded).is_dir();
    let folder = [folder, given].into_iter().find(is_known)?;
    Some(VaultConfig::new(name_of_folder(&folder), folder))
}

/// The index of a vault: named after its path as the configuration spells it, or of a vault that had this path.
fn index_of(vault: &Path, loaded: &Loaded) -> PathBuf {
    let Settings { data_dir, vaults, .. } = &loaded.config.engine;
    let own = engine::vault_dir(data_dir, vault);
    let mut others = if own.is_dir() { Vec::new() } else { engine::orphans(data_dir, vaults) };
    others.retain(|other| other.vault.as_deref() == Some(vault));
    others.pop().map_or(own, |other| other.dir)
}

/// Opens the store of the vault that is meant, while no daemon can start; with `make` it is made if the vault was never
/// indexed.
fn open(name: Option<&str>, make: bool, session: &Session) -> Result<(VaultConfig, Store, DataLock), CliFailure> {
    let loaded = target::or_served(session.config()?, session)?;
    let vault = vault(name, &loaded)?;
    let lock = lock(&loaded)?;
    let dir = index_of(&vault.path, &loaded);
    if !dir.is_dir() && !make {
        return Err(CliFailure::new(
            exit::NOTHING,
            format!("the vault `{}` was never indexed; `situated run` does", vault.name),
        ));
    }
    let (identity, dimensions) = (Embedder::Builtin.identity(), Embedder::Builtin.dimensions());
    // A damaged store stays where it is, for the daemon to say what of it could not be brought back.
    let opened = Store::open_unscanned(&dir, identity, dimensions, &|| true, ReadInputs::AtOnce, || ());
    let scanned = opened.and_then(|(store, ())| store.scan(&|| true, &mut drop).map(|()| store));
    let store = scanned.map_err(|error| match error {
        StoreError::Damaged(..) => {
            let hint = "`situated run` makes it anew, brings contexts back from their journal, and says what is lost";
            CliFailure::new(exit::IO, format!("{error}\n{hint}"))
        }
        error => error.into(),
    })?;
    Ok((vault, store, lock))
}

/// `situated contexts`.
pub(super) fn contexts(action: ContextsAction, session: &mut Session) -> Result<u8, CliFailure> {
    match action {
        // These three are clients of the daemon, unlike the other two.
        ContextsAction::Start(args) => super::consent::start(&args, session),
        ContextsAction::Stop { vault } => super::consent::stop(vault, session),
        ContextsAction::Review(args) => super::review::review(&args, session),
        ContextsAction::Export { vault: name, templates, file } => {
            let (vault, store, _lock) = open(name.as_deref(), false, session)?;
            let file = file.filter(|path| path != Path::new("-"));
            let private = Private::new(&vault.private);
            let (lines, stays) = match &file {
                Some(path) => export_to(path, &store, templates, &private)?,
                None => (export_to_stdout(&store, templates, &private, session)?, false),
            };
            // Standard output is the export itself unless it went to a file.
            if file.is_some() && session.globals.json {
                session.json(json!({ "vault": vault.name, "contexts": lines }))?;
            }
            let stays = if stays { "; the file stays as it is" } else { "" };
            session.say(format!("{} exported{stays}", counted(lines, "context")));
            Ok(exit::OK)
        }
        ContextsAction::Import { vault: name, file } => {
            let (vault, store, _lock) = open(name.as_deref(), true, session)?;
            let input: Box<dyn Read> = match file.as_deref().filter(|path| *path != Path::new("-")) {
                Some(path) => Box::new(File::open(path).map_err(CliFailure::of_file(exit::IO, path))?),
                None => Box::new(std::io::stdin()),
            };
            let report = store.import(BufReader::new(input))?;
            store.flush(true)?;
            let said = format!("{} added, {} known already", counted(report.added, "context"), report.known);
            session.done(json!({ "vault": vault.name, "report": report }), said)?;
            for (line, why) in report.bad.iter().take(MOST_NAMED) {
                session.say(format!("{} line {line}: {}", yellow("passed over"), safe(why)));
            }
            if report.bad.len() > MOST_NAMED {
                session.say(format!("{} {} in all", yellow("passed over"), counted(report.bad.len() as u64, "line")));
            }
            Ok(if report.bad.is_empty() { exit::OK } else { exit::NOTHING })
        }
    }
}

fn export_to_stdout(store: &Store, templates: bool, private: &Private, session: &Session) -> Result<u64, CliFailure> {
    if std::io::stdout().is_terminal() {
        session.say(yellow("(writing to the terminal; name a file to keep it)"));
    }
    let mut pipe = Pipe { failed: None };
    let result = store.export(&mut pipe, &|context| templates || context.is_paid(), private);
    match pipe.failed {
        Some(kind) => Err(std::io::Error::from(kind).into()),
        None => Ok(result?),
    }
}

/// Exports to a file, whole or not at all: it may be the last good copy of what was paid for, and is not replaced by
/// nothing. Returns the contexts, and whether a file that was there stays.
fn export_to(path: &Path, store: &Store, templates: bool, private: &Private) -> Result<(u64, bool), CliFailure> {
    let failed = CliFailure::of_file(exit::CANNOT_CREATE, path);
    let draft = Draft::of(path).map_err(&failed)?;
    let lines = store.export(&draft.out, &|context| templates || context.is_paid(), private)?;
    let stays = lines == 0 && path.exists();
    if !stays {
        draft.land().map_err(failed)?;
    }
    Ok((lines, stays))
}

/// Standard output that remembers how it failed: the store returns only a message, and a closed pipe must be told from
/// a full disk.
struct Pipe {
    failed: Option<std::io::ErrorKind>,
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        std::io::stdout().write(bytes).inspect_err(|error| self.failed = Some(error.kind()))
    }
    fn flush(&mut self) -> std::io::Result<()> {
        std::io::stdout().flush().inspect_err(|error| self.failed = Some(error.kind()))
    }
}

/// `situated compact`.
pub(super) fn compact(args: &OnlyVault, session: &mut Session) -> Result<u8, CliFailure> {
    let loaded = target::or_served(session.config()?, session)?;
    let vaults: Vec<VaultConfig> = match &args.name() {
        None if loaded.config.engine.vaults.len() > 1 => loaded.config.engine.vaults.clone(),
        name => vec![vault(name.as_deref(), &loaded)?],
    };
    let _lock = lock(&loaded)?;
    let mut reports = Vec::new();
    for vault in vaults {
        let dir = index_of(&vault.path, &loaded);
        let CompactReport { before, after } = store::compact(&dir)?;
        session.say(format!("{}: {} before, {} now", printable(&vault.name), bytes(before), bytes(after)));
        reports.push(json!({ "vault": vault.name, "before": before, "after": after }));
    }
    if session.globals.json {
        session.json(json!({ "vaults": reports }))?;
    }
    Ok(exit::OK)
}
