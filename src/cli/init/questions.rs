//! The three questions of `situated init`: which vaults, who writes contexts, start at login or not. Enter takes the
//! answer in brackets.

use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};

use super::find::{self, Found};
use crate::cli::print::{bold, columns, counted, cut_front, dim, padded, printable, said_width, wrap};
use crate::cli::session::CliFailure;
use crate::cli::vault;
use context::settings::Provider;

/// Wrong answers to one question before `init` gives up.
const TRIES: usize = 3;

/// Columns of a path in the list.
const PATH_COLUMNS: usize = 44;

/// What was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Answers {
    /// At least one.
    pub vaults: Vec<PathBuf>,
    /// Who writes contexts.
    pub provider: Provider,
    /// Whether the daemon starts at login.
    pub at_login: bool,
}

/// Asks.
pub(super) fn ask(here: &Path, input: &mut impl BufRead, talk: &mut impl Write) -> Result<Answers, CliFailure> {
    let home = protocol::folders::home();
    let mut found = home.as_deref().map(find::at_home).unwrap_or_default();
    // The vault that we are in comes first.
    let own = here.canonicalize().ok().and_then(|here| find::above(&here)).filter(|own| Some(own) != home.as_ref());
    if let Some(own) = own.clone() {
        found.retain(|other| !other.path.starts_with(&own) && !own.starts_with(&other.path));
        found.insert(0, find::found(own));
    }
    let mut asker = Asker { input, talk };
    let vaults = asker.vaults(&found, own.is_some(), home.as_deref(), here)?;
    let provider = asker.provider()?;
    let at_login = asker.at_login()?;
    Ok(Answers { vaults, provider, at_login })
}

struct Asker<'a, I, T> {
    input: &'a mut I,
    talk: &'a mut T,
}

impl<I: BufRead, T: Write> Asker<'_, I, T> {
    fn vaults(
        &mut self,
        found: &[Found],
        own: bool,
        home: Option<&Path>,
        here: &Path,
    ) -> Result<Vec<PathBuf>, CliFailure> {
        self.say(&bold("Which notes shall be searched?"))?;
        for (i, vault) in found.iter().enumerate() {
            let path = padded(&cut_front(&shown(&vault.path, home), PATH_COLUMNS), widest(found, home));
            let more = if vault.more { "more than " } else { "" };
            let about = dim(format!("{}, {more}{}", vault.kind, counted(vault.notes, "note")));
            self.say(&format!("  {}  {path}  {about}", bold((i + 1).to_string())))?;
        }
        let (question, default) = match (found, own) {
            ([], _) => {
                ("No vault of Obsidian, Logseq or zk was found. The folder that holds your notes", String::new())
            }
            (_, true) => ("Numbers, `all`, or another folder", "1".to_owned()),
            (_, false) => ("Numbers, `all`, or another folder", "all".to_owned()),
        };
        self.ask(question, &default, &mut |answer| choose(answer, found, home, here))
    }

    fn provider(&mut self) -> Result<Provider, CliFailure> {
        self.say("")?;
        self.say(&bold("Who shall write the line of context that situates each passage in its note?"))?;
        self.say("  free: made from the note itself; nothing leaves this machine")?;
        self.say("  anthropic, bedrock, openai, ollama: a model, in the background, within a budget")?;
        self.ask("One of these", "free", &mut |answer| {
            let all = [Provider::Template, Provider::Anthropic, Provider::Bedrock, Provider::OpenAi, Provider::Ollama];
            let answer = if answer == "free" { Provider::Template.name() } else { answer };
            all.into_iter()
                .find(|provider| provider.name() == answer)
                .ok_or_else(|| "there is free, anthropic, bedrock, openai and ollama".to_owned())
        })
    }

    fn at_login(&mut self) -> Result<bool, CliFailure> {
        self.say("")?;
        self.say(&bold("Shall it start when you log in?"))?;
        self.ask("y or n", "y", &mut |answer| match answer {
            "y" | "yes" => Ok(true),
            "n" | "no" => Ok(false),
            _ => Err("y or n".to_owned()),
        })
    }

    fn say(&mut self, line: &str) -> Result<(), CliFailure> {
        Ok(writeln!(self.talk, "{line}")?)
    }

    /// Asks until the answer can be used.
    fn ask<A>(
        &mut self,
        question: &str,
        default: &str,
        read: &mut dyn FnMut(&str) -> Result<A, String>,
    ) -> Result<A, CliFailure> {
        let brackets = if default.is_empty() { String::new() } else { format!(" [{default}]") };
        let nothing = |why: &str| CliFailure::usage(format!("{why}; nothing was written"));
        for _ in 0..TRIES {
            write!(self.talk, "{question}{brackets}: ")?;
            self.talk.flush()?;
            let mut answer = String::new();
            if self.input.read_line(&mut answer)? == 0 {
                return Err(nothing("no answer"));
            }
            let answer = answer.trim();
            match read(if answer.is_empty() { default } else { answer }) {
                Ok(answer) => return Ok(answer),
                Err(why) => {
                    let why = printable(&why);
                    for line in wrap(&why, said_width().unwrap_or(usize::MAX).saturating_sub(2)) {
                        self.say(&format!("  {}", &why[line]))?;
                    }
                }
            }
        }
        Err(nothing("no answer that can be used"))
    }
}

fn widest(found: &[Found], home: Option<&Path>) -> usize {
    found.iter().map(|vault| columns(&shown(&vault.path, home))).max().unwrap_or(0).min(PATH_COLUMNS)
}

/// `~/Notes`.
fn shown(path: &Path, home: Option<&Path>) -> String {
    let below = home.and_then(|home| path.strip_prefix(home).ok()).filter(|below| !below.as_os_str().is_empty());
    let text = below.map_or_else(|| path.display().to_string(), |below| format!("~/{}", below.display()));
    printable(&text).into_owned()
}

/// The folders that an answer means: numbers of the list, all of it, or one folder.
fn choose(answer: &str, found: &[Found], home: Option<&Path>, here: &Path) -> Result<Vec<PathBuf>, String> {
    if answer.is_empty() {
        return Err("name the folder that holds your notes".to_owned());
    }
    if answer == "all" && !found.is_empty() {
        return Ok(found.iter().map(|vault| vault.path.clone()).collect());
    }
    let pieces: Vec<&str> = answer.split([',', ' ']).filter(|piece| !piece.is_empty()).collect();
    let numbers: Option<Vec<usize>> = pieces.iter().map(|piece| piece.parse().ok()).collect();
    if let Some(numbers) = numbers {
        let mut chosen = Vec::new();
        for number in numbers {
            let vault = number.checked_sub(1).and_then(|at| found.get(at));
            let vault = vault.ok_or_else(|| format!("there is no number {number}"))?;
            if !chosen.contains(&vault.path) {
                chosen.push(vault.path.clone());
            }
        }
        return Ok(chosen);
    }
    let path = match (answer.strip_prefix("~/"), home) {
        (Some(below), Some(home)) => home.join(below),
        _ => here.join(answer),
    };
    Ok(vec![vault::folder(&path)?])
}

#[cfg(test)]
mod tests;
