//! `situated vault`: which folders are searched. The command edits the configuration, and a running daemon applies the
//! change at once; a change that the daemon refuses is undone.

mod edit;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use serde_json::json;

use super::args::VaultAction;
use super::print::{bold, bytes, counted, cyan, dim, printable, shown, typed};
use super::session::{CliFailure, Session};
use super::target::{self, served};
use super::{confirm, exit, input, replace};
use crate::daemon::config::{Config, ConfigErrors, Loaded, config_file, free_name, real_folder, sample_file_of};
use context::settings::Provider;
use protocol::contexts::StatsRequest;
use protocol::daemon::{Problems, ReloadRequest, VaultInfo};
use protocol::folders::home;
use protocol::status::{Status, StatusRequest};
use vault::root::look_at;
use vault::settings::VaultConfig;

/// How long a daemon may take to switch to other vaults: what runs in it may take as long as a search may.
const TAKEN_OVER_WITHIN: Duration = Duration::from_secs(30);

/// The user is asked before a folder with more notes is added.
const MANY_NOTES: usize = 50_000;

const INSTEAD: &str = "say `--yes` to do it without being asked";

/// `situated vault`.
pub(super) fn run(action: VaultAction, session: &mut Session) -> Result<u8, CliFailure> {
    match action {
        VaultAction::Add { path, name, yes } => add(&path, name, yes, session),
        VaultAction::List => list(session),
        VaultAction::Remove { name, delete_data, yes } => remove(&name, delete_data, yes, session),
        VaultAction::Rename { old, new } => rename(&old, &new, session),
    }
}

/// The configuration as a file: where it is, and its text; `None` if there is none yet.
struct Written {
    file: PathBuf,
    text: Option<String>,
    loaded: Loaded,
    /// Whether a daemon runs that has read the file as it is, and serves only some of its vaults: those that `situated run`
    /// was given.
    is_chosen_from: bool,
}

/// Why a vault of the file is not served, and what ends that.
const CHOSEN: &str =
    "the daemon has the folders that `situated run` was given; `situated stop` and `situated run` serve all";

impl Written {
    fn read(session: &Session) -> Result<Self, CliFailure> {
        let file = config_file(&session.overrides());
        // A symbolic link (as dotfiles often are) stays one: its target is written.
        let file = file.canonicalize().or_else(|_| std::path::absolute(&file)).unwrap_or(file);
        let text = input::if_there(&file)?;
        let status = session.running()?.map(|mut client| client.call(&StatusRequest::default())).transpose()?;
        // A daemon that reads another file would not go by what is written into this one.
        if let Some(Status { config, .. }) = &status
            && !config.file.as_os_str().is_empty()
            && config.file.canonicalize().unwrap_or_else(|_| config.file.clone()) != file
        {
            return Err(CliFailure::usage(format!(
                "the daemon reads {}, not {}: say `--config` with the file that it reads, or `situated stop` first",
                shown(&config.file),
                shown(&file)
            )));
        }
        let (loaded, mut problems) = Config::read(&session.overrides());
        // A folder that is gone is a reason to remove its vault, not to leave it.
        let gone = |key: &str| {
            let vaults = &loaded.config.engine.vaults;
            vaults.iter().any(|vault| {
                key == format!("vault.{}.path", vault.name) && look_at(&vault.path, Path::metadata).is_err()
            })
        };
        problems.retain(|problem| !problem.key.as_deref().is_some_and(gone));
        if text.is_some() && !problems.is_empty() {
            let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
            let message =
                format!("the configuration is wrong, so it is left as it is; mend it first\n{}", said.join("\n"));
            return Err(CliFailure::new(ConfigErrors::EXIT_CODE, message));
        }
        let named = &loaded.config.engine.vaults;
        let mut is_chosen_from = false;
        if let Some(Status { config, vaults: served, .. }) = &status {
            let all_named = served.iter().all(|vault| is_named(&vault.path, named));
            // What the file that it read says of them, as of private notes, is known to nobody here.
            if config.changed && !all_named {
                let what =
                    if text.is_none() { "is gone: put it back" } else { "has changed: `situated config reload`" };
                let message = format!("{}, which the daemon has read, {what} first", shown(&file));
                return Err(CliFailure::new(ConfigErrors::EXIT_CODE, message));
            }
            is_chosen_from = !config.changed && served.len() < named.len() && all_named;
        }
        Ok(Written { file, text, loaded, is_chosen_from })
    }

    fn vaults(&self) -> &[VaultConfig] {
        &self.loaded.config.engine.vaults
    }

    /// The position of a vault in the file.
    fn position(&self, name: &str, session: &Session) -> Result<usize, CliFailure> {
        target::configured(Path::new(name), self.vaults()).ok_or_else(|| {
            if let Some(vault) = served(session).iter().flatten().flatten().find(|vault| vault.name == name) {
                return CliFailure::usage(format!(
                    "`{name}` was given to `situated run`, and no configuration names it yet: `situated vault add {}` has \
                     one name it",
                    typed(&vault.path)
                ));
            }
            let names = if self.vaults().is_empty() { "none".to_owned() } else { target::names(self.vaults()) };
            CliFailure::usage(format!("there is no vault `{name}` in {}: it names {names}", self.file.display()))
        })
    }

    fn cannot(&self, why: &str) -> CliFailure {
        CliFailure::new(exit::CANNOT_CREATE, format!("{} stays as it is: {why}", self.file.display()))
    }

    /// Replaces the text of the file, if the new one is a valid configuration, and has a running daemon apply it; `false`
    /// if none runs.
    fn change(&self, new: &str, session: &Session, is_so: &dyn Fn(&[VaultInfo]) -> bool) -> Result<bool, CliFailure> {
        check(&self.file, new, session)?;
        let written = replace::file(&self.file, self.text.as_deref(), new, false);
        written.map_err(|error| self.cannot(&error.to_string()))?;
        take_over(self, new, session, is_so)
    }

    /// Replaces `new` by the former text.
    fn take_back(&self, new: &str) -> Result<(), CliFailure> {
        match &self.text {
            Some(old) => replace::file(&self.file, Some(new), old, false).map(drop)?,
            None => std::fs::remove_file(&self.file)?,
        }
        Ok(())
    }
}

fn is_named(path: &Path, vaults: &[VaultConfig]) -> bool {
    vaults.iter().any(|vault| vault.path == path)
}

/// Whether a text is a valid configuration, as that of this file.
pub(super) fn check(file: &Path, text: &str, session: &Session) -> Result<(), CliFailure> {
    let problems = Config::problems_of(file, text, &session.overrides());
    let said: Vec<String> = problems.into_iter().map(|problem| problem.message).collect();
    if said.is_empty() { Ok(()) } else { Err(CliFailure::usage(said.join("\n"))) }
}

fn add(path: &Path, name: Option<String>, yes: bool, session: &mut Session) -> Result<u8, CliFailure> {
    let written = Written::read(session)?;
    let folder = folder(path).map_err(CliFailure::usage)?;
    let name = name.map(|name| name.trim().to_owned());
    let served = served(session)?.unwrap_or_default();
    let named = written.vaults().iter().find(|vault| real_folder(&vault.path) == folder);
    if let Some(vault) = named.filter(|vault| name.as_ref().is_none_or(|name| *name == vault.name)) {
        let taken = served.iter().any(|served| served.name == vault.name);
        return session.done(
            json!({ "vault": vault.name, "path": vault.path, "file": written.file, "taken_over": taken }),
            format!("{} is a vault already: {}", shown(&folder), bold(printable(&vault.name))),
        );
    }
    if written.is_chosen_from {
        return Err(CliFailure::new(
            exit::TEMPORARY,
            format!("{CHOSEN} that are named, and then one more can be added"),
        ));
    }
    // Vaults that only `situated run` was given are named in the file from now on, or the daemon would drop them.
    let unnamed = served.into_iter().filter(|served| !is_named(&served.path, written.vaults()));
    let mut wanted: Vec<VaultConfig> = unnamed.map(|served| VaultConfig::new(served.name, served.path)).collect();
    let given = wanted.iter().position(|vault| vault.path == folder).map(|at| wanted.remove(at).name);
    let free = || free_name(&folder, written.vaults().iter().chain(&wanted));
    let vault = VaultConfig::new(name.or(given).unwrap_or_else(free), &folder);
    ask_about(&vault, yes)?;
    wanted.push(vault.clone());
    let text = match &written.text {
        None => sample_file_of(&wanted, Provider::Template),
        Some(text) => wanted.iter().try_fold(text.clone(), |text, vault| {
            edit::added(&text, &vault.name, &vault.path).map_err(|why| written.cannot(&why))
        })?,
    };
    let taken = written.change(&text, session, &|served| served.iter().any(|now| now.name == vault.name))?;
    let (name, file) = (bold(printable(&vault.name)), shown(&written.file));
    session.result(
        json!({ "vault": vault.name, "path": vault.path, "file": written.file, "taken_over": taken }),
        format!("{} {name} at {} ({file})", bold("Added"), shown(&vault.path)),
    )?;
    session.say(if taken {
        format!("The daemon indexes and watches it now: {}", bold("situated status"))
    } else {
        format!("No daemon runs; {} starts one.", bold("situated run"))
    });
    Ok(exit::OK)
}

/// The folder as the daemon will know it, or why it can be no vault.
pub(super) fn folder(path: &Path) -> Result<PathBuf, String> {
    let folder = path.canonicalize().map_err(|error| error.to_string());
    let why = match &folder {
        Ok(folder) if !folder.is_dir() => "it is not a folder",
        Ok(folder) if folder.parent().is_none() => "the whole machine is no vault",
        Ok(folder) if folder.to_str().is_none() => "its path is not UTF-8, and the configuration is",
        Ok(_) => return folder,
        Err(error) => error,
    };
    Err(format!("{}: {why}; name the folder that holds the notes", shown(path)))
}

/// Asks the user about a folder that is probably not meant.
fn ask_about(vault: &VaultConfig, yes: bool) -> Result<(), CliFailure> {
    if yes {
        return Ok(());
    }
    let is_home = home().is_some_and(|home| home.canonicalize().unwrap_or(home) == vault.path);
    let notes = if is_home { 0 } else { notes_in(vault) };
    let doubt = if is_home {
        "this is your home folder: everything in it that looks like a note would be searched"
    } else if notes == 0 {
        "there is no note in it yet"
    } else if notes > MANY_NOTES {
        "it holds more than 50,000 notes, which takes a while"
    } else {
        return Ok(());
    };
    let question = format!("{}: {doubt}. Add it?", shown(&vault.path));
    if confirm::answered_yes(&question, &format!("{doubt}; {INSTEAD}"))? {
        return Ok(());
    }
    Err(CliFailure::new(exit::NOTHING, "nothing was added"))
}

/// Notes in a folder, as the daemon will count them.
fn notes_in(config: &VaultConfig) -> usize {
    let Ok(policy) = vault::policy::Policy::new(&config.path, config) else { return 0 };
    let walk = vault::walk::walk(&config.path, &policy, None, &AtomicBool::new(false));
    walk.map_or(0, |walk| walk.files.len())
}

fn list(session: &mut Session) -> Result<u8, CliFailure> {
    let (loaded, problems) = Config::read(&session.overrides());
    if let Some(problem) = problems.first() {
        session.say(format!("the configuration is wrong, so this may not be all: {}", printable(&problem.to_string())));
    }
    let named = &loaded.config.engine.vaults;
    let status = session.running()?.map(|mut client| client.call(&StatusRequest::default())).transpose()?;
    let has_read = status.as_ref().is_some_and(|status| !status.config.changed);
    let served = status.map(|status| status.vaults);
    let in_file = |path: &Path| is_named(path, named);
    let none = named.is_empty() && served.as_ref().is_none_or(Vec::is_empty);
    let code = if none { exit::NOTHING } else { exit::OK };
    if session.globals.json {
        let mut vaults: Vec<_> = served.iter().flatten().map(|vault| {
            json!({ "name": vault.name, "path": vault.path, "notes": vault.notes, "served": true, "configured": in_file(&vault.path) })
        }).collect();
        let unserved = named.iter().filter(|vault| !served.iter().flatten().any(|served| served.path == vault.path));
        vaults.extend(
            unserved
                .map(|vault| json!({ "name": vault.name, "path": vault.path, "served": false, "configured": true })),
        );
        session.json(json!({ "file": loaded.file, "vaults": vaults }))?;
        return Ok(code);
    }
    for vault in served.iter().flatten() {
        let whence = if in_file(&vault.path) || !problems.is_empty() {
            ""
        } else {
            "  not in the configuration: given to `situated run`, or read before that changed"
        };
        let notes = counted(vault.notes, "note");
        let path = cyan(shown(&vault.path));
        session.out.line(format!("{}  {path}  {notes}{}", bold(printable(&vault.name)), dim(whence)))?;
    }
    for vault in named.iter().filter(|vault| !served.iter().flatten().any(|served| served.path == vault.path)) {
        let why = match &served {
            None => String::new(),
            Some(_) if has_read => format!("  not served: {CHOSEN}"),
            Some(_) => "  not served yet: `situated config reload`".to_owned(),
        };
        session.out.line(format!("{}  {}{}", bold(printable(&vault.name)), cyan(shown(&vault.path)), dim(&why)))?;
    }
    if served.is_none() {
        session.say(dim("(no daemon runs; this is what the configuration names)"));
    }
    if none {
        session.say(format!("There is none; {} adds one.", bold("situated vault add FOLDER")));
    }
    Ok(code)
}

fn remove(name: &str, delete_data: bool, yes: bool, session: &mut Session) -> Result<u8, CliFailure> {
    let written = Written::read(session)?;
    let at = written.position(name, session)?;
    let name = written.vaults()[at].name.as_str();
    if written.vaults().len() == 1 {
        return Err(CliFailure::usage(format!(
            "`{name}` is the only vault, and a daemon without one has nothing to do: `situated vault add` another first; to \
             have none searched, `situated stop` the daemon (`situated service uninstall`, if it starts at login)"
        )));
    }
    let folder = written.vaults()[at].path.clone();
    let data = engine::vault_dir(&written.loaded.config.engine.data_dir, &folder);
    if delete_data && !yes {
        let question = format!(
            "What was indexed of {} ({}{}) is deleted; its notes stay. Go on?",
            bold(printable(name)),
            shown(&data),
            bought(name, session)
        );
        if !confirm::answered_yes(&question, INSTEAD)? {
            return Err(CliFailure::new(exit::NOTHING, "nothing was removed"));
        }
    }
    let text = written.text.as_deref().unwrap_or_default();
    let text = edit::removed(text, at).map_err(|why| written.cannot(&why))?;
    let taken = written.change(&text, session, &|served| served.iter().all(|now| now.name != name))?;
    let size = store::look(&data).bytes;
    if delete_data {
        delete(&data)?;
    }
    let kept = data.is_dir().then_some(&data);
    session.result(
        json!({ "vault": name, "path": folder, "taken_over": taken, "data": kept }),
        format!("{} {}; its notes in {} stay as they are", bold("Removed"), bold(printable(name)), shown(&folder)),
    )?;
    if data.is_dir() {
        session.say(format!(
            "What was indexed of it stays too ({}, {}), and serves again if it is added again.",
            shown(&data),
            bytes(size)
        ));
    }
    Ok(exit::OK)
}

/// How many contexts of a vault a model wrote, as far as a daemon can say.
fn bought(name: &str, session: &Session) -> String {
    let request = StatsRequest { vault: Some(name.to_owned()), ..StatsRequest::default() };
    let written = session.call(&request).map_or(0, |stats| stats.contextualized);
    if written > 0 { format!(", with {} that a model wrote", counted(written, "context")) } else { String::new() }
}

/// Deletes a folder once the daemon has closed what is in it, which may be a while after it last answered from it.
fn delete(folder: &Path) -> Result<(), CliFailure> {
    let until = Instant::now() + TAKEN_OVER_WITHIN;
    while folder.is_dir() {
        let is_over = Instant::now() > until;
        let waits = store::is_in_use(folder) && !is_over;
        let removed = if waits { Ok(()) } else { std::fs::remove_dir_all(folder) };
        if let Some(error) = removed.err().filter(|_| is_over) {
            let message = format!("{} could not be deleted: {error}; delete it by hand", folder.display());
            return Err(CliFailure::new(exit::IO, message));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

fn rename(old: &str, new: &str, session: &mut Session) -> Result<u8, CliFailure> {
    let (written, new) = (Written::read(session)?, new.trim());
    let at = written.position(old, session)?;
    let old = written.vaults()[at].name.as_str();
    if old == new {
        let taken = served(session)?.iter().flatten().any(|served| served.name == new);
        let same = json!({ "vault": new, "before": old, "taken_over": taken });
        return session.done(same, "It is called that already.");
    }
    let text = written.text.as_deref().unwrap_or_default();
    let text = edit::renamed(text, at, new).map_err(|why| written.cannot(&why))?;
    let is_so =
        |served: &[VaultInfo]| served.iter().any(|now| now.name == new) && served.iter().all(|now| now.name != old);
    let taken = written.change(&text, session, &is_so)?;
    session.result(
        json!({ "vault": new, "before": old, "taken_over": taken }),
        format!("{} {} is {} now; its index and contexts stay", bold("Renamed:"), printable(old), bold(printable(new))),
    )
}

/// Makes a running daemon apply the configuration as it is now, and waits until it does; `false` if none runs. A change
/// that the daemon refuses is undone.
fn take_over(
    written: &Written,
    new: &str,
    session: &Session,
    is_so: &dyn Fn(&[VaultInfo]) -> bool,
) -> Result<bool, CliFailure> {
    let unheard = |code: u8, why: String| {
        let message = format!("{} is written, but the daemon does not go by it yet: {why}", written.file.display());
        CliFailure::new(code, message)
    };
    let client = session.running().map_err(|failure| match failure {
        CliFailure::Said { code, message } => unheard(code, message),
        CliFailure::Quiet => CliFailure::Quiet,
    });
    let Some(mut client) = client? else { return Ok(false) };
    let asked = client.call(&ReloadRequest {}).map_err(|error| unheard(error.exit_code(), error.to_string()));
    let Problems { problems, restarts } = asked?;
    if let Some(problem) = problems.first() {
        written.take_back(new)?;
        // The file is as it was, but written anew.
        let _ = client.call(&ReloadRequest {});
        return Err(CliFailure::new(
            exit::NOTHING,
            format!("the daemon goes on as before, and so does the file: {problem}"),
        ));
    }
    if restarts {
        session.say(dim("the daemon starts itself anew, for the kernel held it to the folders that it had"));
        drop(client);
    }
    let until = Instant::now() + TAKEN_OVER_WITHIN;
    loop {
        // A client that connects while the daemon restarts waits until it listens.
        if served(session).is_ok_and(|served| served.as_deref().is_some_and(is_so)) {
            return Ok(true);
        }
        if Instant::now() > until {
            let message = "the configuration is written, but the daemon does not go by it yet; see `situated status`, and its log";
            return Err(CliFailure::new(exit::TEMPORARY, message));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}
