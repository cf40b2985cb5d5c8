//! Opening a note at a line: in the user's editor, in Obsidian, or with a command of their own.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};

use super::args::OpenIn;
use super::exit;
use super::print::{dim, printable};
use super::session::{CliFailure, Session, safe};
use crate::daemon::config::Opener;
use note::VaultPath;
use protocol::hit::Hit;

/// Characters that are percent-encoded in a part of an address.
const PART: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The same for a path.
const PATH: &AsciiSet = &PART.remove(b'/');

/// A line of a note on the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Its vault.
    pub root: PathBuf,
    /// The note.
    pub file: PathBuf,
    /// 1-based.
    pub line: u32,
}

impl Place {
    /// A hit's place; `None` for a path that leaves its vault.
    pub(super) fn of(root: &Path, path: &str, line: u32) -> Option<Self> {
        let file = root.join(VaultPath::parse(path)?.to_relative());
        Some(Place { root: root.to_path_buf(), file, line })
    }

    /// `path:line`, relative to the current folder if the note is below it.
    #[cfg(feature = "tui")]
    pub(super) fn seen_from_here(&self) -> String {
        format!("{}:{}", self.path_from_here().display(), self.line)
    }

    /// The note's path, relative to the current folder if it is below it.
    pub(super) fn path_from_here(&self) -> PathBuf {
        let here = std::env::current_dir().ok();
        let below = here.and_then(|here| self.file.strip_prefix(here).ok().map(Path::to_path_buf));
        below.unwrap_or_else(|| self.file.clone())
    }
}

/// Whether a hit is not in a vault of this machine: a team's vaults have a slash in their names.
pub(super) fn is_of_team(hit: &Hit) -> bool {
    hit.vault.contains('/')
}

/// Why a team's hit is not opened, and what shows it.
pub(super) fn of_team(hit: &Hit) -> String {
    let shown = format!("`situated get '{}: {}'` shows it", safe(&hit.vault), safe(&hit.path));
    format!("this note is a team's and not on this machine; {shown}")
}

/// Opens what was found, a line of the note `path`, where `--open-in` or else the configuration says.
pub(super) fn found(
    place: Option<Place>,
    path: &str,
    open_in: Option<OpenIn>,
    session: &Session,
) -> Result<u8, CliFailure> {
    let place = place.ok_or_else(|| CliFailure::new(exit::INTERNAL, "where this vault lies is not known"))?;
    let opener = match open_in {
        Some(OpenIn::Editor) => Opener::Editor,
        Some(OpenIn::Obsidian) => Opener::Obsidian,
        None => session.opener(),
    };
    session.say(dim(format!("opening {}:{}", printable(path), place.line)));
    open(&place, &opener).map_err(|why| CliFailure::new(exit::UNREACHABLE, why))?;
    Ok(exit::OK)
}

/// Opens a place and waits until the program that shows it ends.
pub(super) fn open(place: &Place, opener: &Opener) -> Result<(), String> {
    match opener {
        Opener::Editor => in_editor(place),
        Opener::Obsidian => in_obsidian(place),
        Opener::Command(template) => {
            let words = filled(template, place);
            let Some((program, arguments)) = words.split_first() else {
                return Err("`open` names no command; see `situated config show`".to_owned());
            };
            ended(Command::new(program).args(arguments), &program.to_string_lossy())
        }
    }
}

/// `$VISUAL`, else `$EDITOR`, else vi, which is everywhere.
fn editor() -> String {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
    variable("VISUAL").or_else(|| variable("EDITOR")).unwrap_or_else(|| "vi".to_owned())
}

fn in_editor(place: &Place) -> Result<(), String> {
    let editor = editor();
    // As git does: the shell splits what the user wrote, which may have options and quotes in it.
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("{editor} \"$@\"")).arg(&editor).args(at_line(&editor, place));
    ended(&mut command, &editor)
}

fn ended(command: &mut Command, name: &str) -> Result<(), String> {
    let name = printable(name);
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        // Unlike other failures, this one comes from what the user set.
        Ok(status) if status.code() == Some(127) => {
            Err(format!("`{name}` was not found; VISUAL or EDITOR says what opens notes"))
        }
        Ok(status) => Err(format!("`{name}` ended with {status}")),
        Err(error) => Err(format!("`{name}` cannot be started: {error}; VISUAL or EDITOR says what opens notes")),
    }
}

/// The arguments that make an editor show a line; an unknown editor gets only the file.
fn at_line(editor: &str, place: &Place) -> Vec<OsString> {
    let Place { file, line, .. } = place;
    let first = words(editor).into_iter().next().unwrap_or_default();
    let name = Path::new(&first).file_name().and_then(OsStr::to_str).unwrap_or_default().to_owned();
    let name = name.strip_suffix("-bin").unwrap_or(&name);
    let file = file.clone().into_os_string();
    let joined = || {
        let mut joined = file.clone();
        joined.push(format!(":{line}"));
        joined
    };
    match name {
        "vi" | "vim" | "nvim" | "gvim" | "mvim" | "nvi" | "vis" | "view" | "vim.basic" | "vim.tiny" | "nano"
        | "pico" | "rnano" | "micro" | "emacs" | "emacsclient" | "mg" | "zile" | "jmacs" | "joe" | "jstar" | "ne"
        | "kak" | "gedit" | "pluma" | "xed" | "mousepad" | "geany" | "bbedit" | "editor" | "sensible-editor" => {
            vec![format!("+{line}").into(), file]
        }
        "less" => vec![format!("+{line}g").into(), file],
        "hx" | "helix" | "subl" | "sublime_text" | "zed" | "zeditor" | "zedit" | "atom" | "lapce" => vec![joined()],
        "code" | "code-insiders" | "codium" | "vscodium" | "cursor" | "windsurf" | "code-oss" => {
            vec!["--goto".into(), joined()]
        }
        "kate" | "kwrite" | "mate" | "idea" | "pycharm" | "goland" | "rustrover" | "webstorm" => {
            vec![
                if matches!(name, "kate" | "kwrite" | "mate") { "-l" } else { "--line" }.into(),
                line.to_string().into(),
                file,
            ]
        }
        _ => vec![file],
    }
}

/// The words of a command line: white space separates them, quotes hold them together.
fn words(line: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in line.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// The words of a command with `{path}` and `{line}` in place. A path stays one word, whatever is in it.
fn filled(template: &str, place: &Place) -> Vec<OsString> {
    words(template)
        .into_iter()
        .map(|word| {
            let word = word.replace("{line}", &place.line.to_string());
            let mut out = OsString::new();
            for (i, piece) in word.split("{path}").enumerate() {
                if i > 0 {
                    out.push(&place.file);
                }
                out.push(piece);
            }
            out
        })
        .collect()
}

/// Asks the desktop to open a place in Obsidian. Does not wait for the program that it starts.
pub(super) fn in_obsidian(place: &Place) -> Result<(), String> {
    // On Windows not `start`, which takes an `&` in the address for its end.
    let (opener, before): (&str, &[&str]) = if cfg!(target_os = "macos") {
        ("open", &[])
    } else if cfg!(windows) {
        ("rundll32", &["url.dll,FileProtocolHandler"])
    } else {
        ("xdg-open", &[])
    };
    let uri = obsidian_uri(place);
    let started = Command::new(opener)
        .args(before)
        .arg(&uri)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    match started {
        Ok(mut child) => {
            // A thread waits for the child, so that it does not stay a zombie; nothing here waits for the thread.
            drop(std::thread::Builder::new().name("opener".to_owned()).spawn(move || child.wait()));
            Ok(())
        }
        Err(error) => Err(format!("`{opener}` cannot be started ({error}); the address is {uri}")),
    }
}

/// `obsidian://open?vault=…&file=…`. Obsidian names a vault after the folder that has `.obsidian` in it, which may be
/// above ours.
pub(super) fn obsidian_uri(place: &Place) -> String {
    let above = place.file.ancestors().skip(1).find(|folder| folder.join(".obsidian").is_dir());
    let vault = above.unwrap_or(&place.root);
    let name = vault.file_name().unwrap_or_default();
    let file = place.file.strip_prefix(vault).unwrap_or(&place.file);
    format!("obsidian://open?vault={}&file={}", percent(name, PART), percent(file.as_os_str(), PART))
}

/// `file://host/path`, as terminals that open links need it.
pub(super) fn file_url(file: &Path, host: &str) -> String {
    format!("file://{}{}", percent(OsStr::new(host), PART), percent(file.as_os_str(), PATH))
}

/// The name of this machine, or nothing if it cannot be read; terminals open only links of their own machine.
pub(super) fn host() -> String {
    let kernel = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let name = kernel.or_else(|| std::env::var("HOSTNAME").ok()).unwrap_or_default();
    name.trim().to_owned()
}

fn percent(text: &OsStr, set: &'static AsciiSet) -> String {
    percent_encode(text.as_encoded_bytes(), set).to_string()
}

#[cfg(all(test, unix))]
mod tests;
