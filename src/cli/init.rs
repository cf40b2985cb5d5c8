//! `situated init`: a commented configuration for one's vaults. Asks three questions where somebody can answer, writes
//! one new file, never over another, and offers to start the daemon at login.

mod estimate;
mod find;
mod questions;

use std::fs::OpenOptions;
use std::io::{ErrorKind, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use platform::files::Private as _;
use serde_json::json;

use super::args::{Init, Install, ServiceAction};
use super::consent::within;
use super::exit;
use super::money::estimated;
use super::print::{bold, counted, dim, printable, shown};
use super::replace;
use super::session::{CliFailure, Session};
use crate::daemon::config::{Config, config_file, free_name, quoted, real_folder, sample_file_of};
use context::settings::{ContextConfig, Provider};
use provider::settings::BudgetConfig;
use questions::Answers;
use vault::settings::VaultConfig;

/// `situated init`.
pub(super) fn run(args: Init, session: &mut Session) -> Result<u8, CliFailure> {
    let file = config_file(&session.overrides());
    let here = std::env::current_dir()?;
    let somebody = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    let answers = if args.vault.is_none() && !args.yes && !session.globals.json && somebody {
        // Checked first, so that nobody answers in vain.
        if file.symlink_metadata().is_ok() {
            return Err(taken(&file, &[], &[]));
        }
        questions::ask(&here, &mut std::io::stdin().lock(), &mut anstream::stderr())?
    } else {
        let found = find::named(args.vault.as_deref(), &here);
        if found.is_err() && args.vault.is_none() && file.symlink_metadata().is_ok() {
            return Err(taken(&file, &[], &[]));
        }
        let vault = found?;
        Answers { vaults: vec![vault], provider: Provider::Template, at_login: false }
    };
    let vaults = configured(&answers.vaults);
    let text = sample_file_of(&vaults, answers.provider);
    // Of a file that exists it is said that it does.
    let named = if file.symlink_metadata().is_ok() {
        Config::read(&session.overrides()).0.config.engine.vaults
    } else {
        super::vault::check(&file, &text, session)?;
        Vec::new()
    };
    write(&file, &text, &vaults, &named)?;
    if session.globals.json {
        let listed: Vec<_> = vaults.iter().map(|vault| json!({ "name": vault.name, "path": vault.path })).collect();
        session.json(json!({ "file": file, "vault": listed.first(), "vaults": listed }))?;
        return Ok(exit::OK);
    }
    tell(&file, &vaults, session)?;
    if answers.provider != Provider::Template {
        let first = match answers.provider {
            Provider::Ollama => "\n",
            _ => " say where its key is in [context] (`key_file` or `key_command`),\nthen ",
        };
        session.say(format!(
            "\nContexts are going to be written by {}:{first}ask it one tiny question with {}",
            answers.provider.name(),
            bold("situated doctor --provider")
        ));
        session.say(offered(&vaults, answers.provider));
    }
    let code = answers.at_login.then(|| at_login(session));
    session.say(next(code, session.running().is_ok_and(|client| client.is_some())));
    let promise = if answers.provider == Provider::Template { "; nothing leaves this machine" } else { "" };
    session.say(dim(format!("Nothing is ever written to a vault{promise}.")));
    Ok(code.unwrap_or(exit::OK))
}

/// The next steps; `service` is the exit code of installing the service, if that was asked for, and `runs` whether a daemon
/// runs.
fn next(service: Option<u8>, runs: bool) -> String {
    let search = format!("{}      ask it", bold("situated search WORDS"));
    let why = match service {
        Some(code) if code != exit::OK => {
            "\nThe service is not installed, for the reason above. The configuration is written all the same.\n"
        }
        _ => "",
    };
    let first = match (runs, service) {
        (true, Some(exit::OK)) => {
            return format!("\nNext:  {search}\n       {}            see how far it is", bold("situated status"));
        }
        (true, _) => format!("{}              end the daemon that runs\n       ", bold("situated stop")),
        (false, _) => String::new(),
    };
    let run = format!("{}               index and watch, in this terminal", bold("situated run"));
    let at_login = format!("\n       {}   do so at every login", bold("situated service install"));
    let at_login = if service.is_none() || runs { at_login } else { String::new() };
    format!("{why}\nNext:  {first}{run}{at_login}\n       {search}, in another terminal")
}

/// Says what a model will take, and that nothing is sent before the user agrees.
fn offered(vaults: &[VaultConfig], provider: Provider) -> String {
    let config = ContextConfig { provider, ..ContextConfig::default() };
    let estimate = estimate::of_vaults(vaults, &config).map_or_else(String::new, |sum| {
        let model = printable(config.model()).into_owned();
        if sum.chunks == 0 {
            return format!("{model}, with its defaults, for what you change from now on: nothing waits for it. ");
        }
        let (chunks, notes) = (counted(sum.chunks, "chunk"), counted(sum.notes, "note"));
        let days = BudgetConfig::default().days(sum.micro_dollars, sum.tokens_in + sum.tokens_out);
        let days = days.map_or_else(String::new, |days| format!(", {}", within(days)));
        format!("{model}, with its defaults, for {chunks} of {notes}: {}{days}. ", bold(estimated(&sum)))
    });
    if provider::leaves(&config) {
        let yes = bold("situated contexts start");
        format!("{estimate}Nothing is sent or bought before you have said {yes}.")
    } else {
        format!("{estimate}Nothing leaves this machine.")
    }
}

fn tell(file: &Path, vaults: &[VaultConfig], session: &mut Session) -> Result<(), CliFailure> {
    match vaults {
        [vault] => session.out.line(format!(
            "{} for the vault {} at {}",
            bold("Wrote a configuration"),
            bold(printable(&vault.name)),
            shown(&vault.path)
        ))?,
        vaults => {
            session.out.line(format!("{} for {} vaults", bold("Wrote a configuration"), vaults.len()))?;
            for vault in vaults {
                session.out.line(format!("  {} at {}", bold(printable(&vault.name)), shown(&vault.path)))?;
            }
        }
    }
    Ok(session.out.line(format!("  {}", shown(file)))?)
}

/// Installs the service, as `situated service install` does; returns its exit code.
fn at_login(session: &mut Session) -> u8 {
    session.say(format!("\n{}", dim("situated service install")));
    let install = ServiceAction::Install(Install::default());
    super::service::run(&install, session).unwrap_or_else(|failure| failure.tell(false))
}

/// Gives each folder a unique name.
fn configured(folders: &[PathBuf]) -> Vec<VaultConfig> {
    let mut vaults: Vec<VaultConfig> = Vec::new();
    for folder in folders {
        let name = free_name(folder, vaults.iter());
        vaults.push(VaultConfig::new(name, folder.clone()));
    }
    vaults
}

fn write(file: &Path, text: &str, vaults: &[VaultConfig], named: &[VaultConfig]) -> Result<(), CliFailure> {
    let failed = CliFailure::of_file(exit::CANNOT_CREATE, file);
    replace::folder_of(file).map_err(&failed)?;
    // `create_new` neither follows a link nor loses a race against another `init`.
    match OpenOptions::new().write(true).create_new(true).private().open(file) {
        Ok(mut out) => out.write_all(text.as_bytes()).and_then(|()| out.sync_all()).map_err(failed),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(taken(file, vaults, named)),
        Err(error) => Err(failed(error)),
    }
}

/// The error for a configuration that exists: it stays as it is, and the message says what to add to the vaults that it
/// has `named`.
fn taken(file: &Path, vaults: &[VaultConfig], named: &[VaultConfig]) -> CliFailure {
    let known = |vault: &VaultConfig| named.iter().find(|named| real_folder(&named.path) == real_folder(&vault.path));
    let tables = vaults.iter().filter(|vault| known(vault).is_none()).map(|vault| {
        let (name, path) = (quoted(&free_name(&vault.path, named.iter())), quoted(&vault.path.to_string_lossy()));
        format!("\n\n[[vault]]\nname = {name}\npath = {path}")
    });
    let tables: String = tables.collect();
    let add = match vaults {
        [] => "`situated vault add FOLDER` adds a vault to it; to begin anew, move it away first".to_owned(),
        [vault, ..] if tables.is_empty() => {
            let name = known(vault).map_or(&vault.name, |named| &named.name);
            format!("it names this vault already: `{name}`")
        }
        _ => format!("to add the vault, append{tables}"),
    };
    CliFailure::new(exit::CANNOT_CREATE, format!("{} exists and is left as it is; {add}", file.display()))
}

#[cfg(test)]
mod tests;
