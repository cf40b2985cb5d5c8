//! `situated try`: the whole program on a temporary copy of the sample vault, in half a minute.
//!
//! The daemon is this same binary, started as a child with its own data folder and socket; everything shown is asked
//! over that socket. Whatever happens, the child is stopped and the folder removed.

use std::fs::{self, DirBuilder, File};
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use platform::files::Private as _;
use platform::process::in_own_group;
use serde_json::{Value, json};

use super::args::Try;
use super::exit;
use super::note::{counts, meaning, print_steps};
use super::print::{Out, bold, counted, cyan, dim, green, millis, now, shown};
use super::run::is_settled;
use super::sample::FILES;
use super::search::{Look, print_hit};
use super::session::{CliFailure, Session};
use super::signals::Interrupt;
use crate::daemon::config::quoted;
use protocol::client::{Client, Discovery};
use protocol::daemon::ShutdownRequest;
use protocol::decision::{Decision, Decisions, ExplainRequest};
use protocol::folders::SHOWN_DATA;
use protocol::hit::Hit;
use protocol::search::{Include, SearchAnswer, SearchRequest};
use protocol::status::{Status, StatusRequest};

/// The sample vault is indexed in less than a second; a machine under load may take much longer.
const READY_PATIENCE: Duration = Duration::from_mins(1);

/// A daemon drains for 5 s; after this it is killed.
const STOP_PATIENCE: Duration = Duration::from_secs(10);

/// How often Ctrl-C is looked for during a pause.
const LOOK: Duration = Duration::from_millis(50);

/// The queries of the tour, and why each is worth asking.
const QUERIES: [(&str, &str); 3] = [
    ("hibernation voltage", "words that stand in a note"),
    ("what did he agree to on 3 November", "the day stands only in the context"),
    ("Wie bekomme ich die Algen vom Glas", "another language"),
];

/// A change to a note of the copy, and the query that must find it.
struct Edit {
    /// What is done, for a person.
    what: &'static str,
    /// The note.
    path: &'static str,
    /// The text there, and what takes its place: none of its words occurs in the sample vault.
    change: (&'static str, &'static str),
    query: &'static str,
}

/// A sentence in a body, and a heading with another name.
const EDITS: [Edit; 2] = [
    Edit {
        what: "Add a sentence to",
        path: "Notes/Battery sizing.md",
        change: (
            "Below 12.8 V the node",
            "The harmonium in the attic is to be tuned before the solstice concert.\n\nBelow 12.8 V the node",
        ),
        query: "when is the harmonium tuned",
    },
    Edit {
        what: "Rename the heading “Was man sieht” in",
        path: "Notes/Bewuchs an Sensoren.md",
        change: ("## Was man sieht", "## Quincunx orchard"),
        query: "Quincunx orchard",
    },
];

/// `situated try`.
pub(super) fn run(args: Try, session: &mut Session) -> Result<u8, CliFailure> {
    let mut tour = Tour::start(args.keep)?;
    let paced = !args.no_pause && !session.globals.json && session.out.is_terminal() && std::io::stdin().is_terminal();
    let typed = paced.then(typed_lines);
    let told = tour.tell(session, typed.as_ref());
    let log = tour.log();
    let kept = tour.end(told.is_ok());
    match told {
        Ok(story) => {
            session.print(story, |out| goodbye(kept.as_deref(), out))?;
            Ok(exit::OK)
        }
        Err(CliFailure::Said { code, message }) if code != exit::INTERRUPTED && !log.is_empty() => {
            Err(CliFailure::new(code, format!("{message}\nThe daemon's log ends with:\n{log}")))
        }
        Err(failure) => Err(failure),
    }
}

/// The lines that are typed, read on a separate thread so that Ctrl-C is noticed meanwhile.
fn typed_lines() -> mpsc::Receiver<String> {
    let (sender, lines) = mpsc::channel();
    let read = move || {
        for line in std::io::stdin().lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    };
    // Without the thread the tour ends at its first pause, as after an end of input.
    drop(std::thread::Builder::new().name("keys".to_owned()).spawn(read));
    lines
}

/// The child and its folder. Dropping it stops the child and removes the folder, unless that is to be kept.
struct Tour {
    dir: PathBuf,
    keep: bool,
    /// Shared with the thread that hears the second Ctrl-C.
    daemon: Arc<Mutex<Option<Child>>>,
    interrupt: Interrupt,
    begun: Instant,
}

impl Tour {
    fn start(keep: bool) -> Result<Self, CliFailure> {
        let (dir, daemon) = (temporary_folder("try")?, Arc::new(Mutex::new(None)));
        let (folder, child) = (dir.clone(), daemon.clone());
        let interrupt = Interrupt::listen(move || {
            kill(&child);
            if !keep {
                remove(&folder);
            }
        });
        let mut tour = Tour { dir, keep, daemon, interrupt, begun: Instant::now() };
        copy_sample(&tour.vault())?;
        let path = quoted(&tour.vault().to_string_lossy());
        fs::write(tour.dir.join("config.toml"), format!("[[vault]]\nname = \"sample\"\npath = {path}\n"))?;
        tour.begun = Instant::now();
        // Locked before it is started, so that a second Ctrl-C finds it.
        let mut daemon = tour.daemon.lock();
        *daemon = Some(tour.spawn()?);
        drop(daemon);
        Ok(tour)
    }

    fn vault(&self) -> PathBuf {
        self.dir.join("vault")
    }

    fn discovery(&self) -> Discovery {
        Discovery { socket: Some(self.dir.join("sock")), data_dir: self.dir.join("data"), is_named: false }
    }

    fn spawn(&self) -> Result<Child, CliFailure> {
        let program = std::env::current_exe()?;
        let mut command = Command::new(&program);
        // What the user has set up for real must not leak into the tour.
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("SITUATED_")) {
            command.env_remove(name);
        }
        for supervisor in ["NOTIFY_SOCKET", "WATCHDOG_USEC", "LISTEN_FDS", "JOURNAL_STREAM"] {
            command.env_remove(supervisor);
        }
        command
            .arg("--config")
            .arg(self.dir.join("config.toml"))
            .arg("--data-dir")
            .arg(self.dir.join("data"))
            .arg("--socket")
            .arg(self.dir.join("sock"))
            .args(["--quiet", "--color", "never", "run"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(self.dir.join("log"))?);
        // Ctrl-C is for us: we stop the daemon properly, it must not be hit by the same signal.
        in_own_group(&mut command);
        command.spawn().map_err(|error| {
            CliFailure::new(exit::INTERNAL, format!("{} cannot be started: {error}", program.display()))
        })
    }

    /// The tour itself; returns what `--json` prints.
    fn tell(&mut self, session: &mut Session, typed: Option<&mpsc::Receiver<String>>) -> Result<Value, CliFailure> {
        let mut silent = Out::silent();
        let out = if session.globals.json { &mut silent } else { &mut session.out };
        let what = "a tour on a copy of a sample vault. Nothing of yours is read, nothing is kept.";
        out.wrapped("", &format!("{}: {what}", bold("situated try")))?;

        chapter(1, "Start the daemon", out)?;
        let (mut client, status) = self.ready()?;
        let ready_ms = self.begun.elapsed().as_secs_f64() * 1000.0;
        let (notes, chunks) =
            (status.vaults.iter().map(|v| v.notes).sum(), status.vaults.iter().map(|v| v.chunks).sum());
        out.wrapped(
            "  ",
            &format!(
                "It is ready after {}: {} read, cut into {}, each given its context and its vector.",
                millis(ready_ms),
                counted(notes, "note"),
                counted(chunks, "chunk")
            ),
        )?;
        out.wrapped("  ", "No account, no key, no download. Nothing leaves this machine.")?;

        let (mut asked, mut edits) = (Vec::new(), Vec::new());
        let story = |asked: Vec<Value>, edits: Vec<Value>| json!({ "ready": { "notes": notes, "chunks": chunks, "took_ms": ready_ms }, "queries": asked, "edits": edits });
        for (n, (query, why)) in QUERIES.into_iter().enumerate() {
            if !self.wants_more(typed, out)? {
                return Ok(story(asked, edits));
            }
            if n == 0 {
                chapter(2, "Ask", out)?;
            }
            let answer = search(&mut client, query, false, 2)?;
            out.line(format!("\n  {} {}  {}", green("?"), bold(query), dim(why)))?;
            if answer.hits.is_empty() {
                return Err(CliFailure::new(exit::INTERNAL, format!("`{query}` found nothing in the sample vault")));
            }
            print_hits(&answer.hits, out)?;
            out.line(dim(format!("    {}", millis(answer.took_ms))))?;
            asked.push(json!({ "query": query, "took_ms": answer.took_ms, "hits": answer.hits }));
        }

        for (n, edit) in EDITS.iter().enumerate() {
            if !self.wants_more(typed, out)? {
                return Ok(story(asked, edits));
            }
            if n == 0 {
                chapter(3, "Write", out)?;
            }
            edits.push(save(edit, &self.vault(), &mut client, out)?);
        }
        self.wants_more(typed, out)?;
        Ok(story(asked, edits))
    }

    /// Waits until the reader presses Enter, if there is a reader; returns whether to go on.
    fn wants_more(&self, typed: Option<&mpsc::Receiver<String>>, out: &mut Out) -> Result<bool, CliFailure> {
        self.go_on()?;
        let Some(typed) = typed else { return Ok(true) };
        out.line(dim("\n  Enter goes on, q ends the tour"))?;
        loop {
            match typed.recv_timeout(LOOK) {
                Ok(line) => return Ok(!line.trim().eq_ignore_ascii_case("q")),
                Err(mpsc::RecvTimeoutError::Timeout) => self.go_on()?,
                // The input has ended, so nobody will press a key.
                Err(mpsc::RecvTimeoutError::Disconnected) => return Ok(false),
            }
        }
    }

    /// Waits until the sample vault is indexed.
    fn ready(&self) -> Result<(Client, Status), CliFailure> {
        let deadline = Instant::now() + READY_PATIENCE;
        loop {
            self.go_on()?;
            if let Some(status) = self.ended()? {
                return Err(CliFailure::new(exit::INTERNAL, format!("the daemon ended at once ({status})")));
            }
            if let Ok(mut client) = Client::connect(&self.discovery())
                && let Ok(reply) = client.ask(&StatusRequest::default())
            {
                let status = reply.read()?;
                let indexed: u64 = status.vaults.iter().map(|vault| vault.notes).sum();
                if is_settled(status.state) && indexed > 0 {
                    return Ok((client, status));
                }
            }
            if Instant::now() > deadline {
                return Err(CliFailure::new(
                    exit::TIMEOUT,
                    format!("the daemon was not ready after {} s", READY_PATIENCE.as_secs()),
                ));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// How the daemon ended, if it has.
    fn ended(&self) -> std::io::Result<Option<ExitStatus>> {
        self.daemon.lock().as_mut().map_or(Ok(None), Child::try_wait)
    }

    fn go_on(&self) -> Result<(), CliFailure> {
        if self.interrupt.raised() {
            Err(CliFailure::new(exit::INTERRUPTED, "interrupted; everything is cleaned up"))
        } else {
            Ok(())
        }
    }

    /// The last lines of the daemon's log; it never holds note text.
    fn log(&self) -> String {
        let log = fs::read(self.dir.join("log")).unwrap_or_default();
        let text = String::from_utf8_lossy(&log).into_owned();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(12)..].join("\n")
    }

    /// Stops the daemon and removes the folder, or returns its path if it is to stay.
    fn end(self, well: bool) -> Option<PathBuf> {
        self.stop(well);
        self.keep.then(|| self.dir.clone())
    }

    fn stop(&self, politely: bool) {
        let asked = politely
            && Client::connect(&self.discovery()).is_ok_and(|mut client| client.call(&ShutdownRequest {}).is_ok());
        let deadline = Instant::now() + STOP_PATIENCE;
        while asked && Instant::now() < deadline && !matches!(self.ended(), Ok(Some(_))) {
            std::thread::sleep(Duration::from_millis(10));
        }
        kill(&self.daemon);
    }
}

/// Ends the daemon, unless it has ended. Its data is going to be deleted: nothing can be lost by not waiting.
fn kill(daemon: &Mutex<Option<Child>>) {
    if let Some(mut daemon) = daemon.lock().take() {
        // Errors mean that it is gone.
        drop(daemon.kill());
        drop(daemon.wait());
    }
}

/// Removes a temporary folder, in which another thread may be at work: then what is in it grows meanwhile.
pub(super) fn remove(folder: &Path) {
    // A folder that cannot be removed is in the system's temporary folder, which the system cleans.
    for _ in 0..100 {
        if fs::remove_dir_all(folder).is_ok() || !folder.exists() {
            return;
        }
    }
}

impl Drop for Tour {
    fn drop(&mut self) {
        self.stop(false);
        if !self.keep {
            remove(&self.dir);
        }
    }
}

/// Makes a temporary folder for a command, which no other user can enter.
pub(super) fn temporary_folder(command: &str) -> Result<PathBuf, CliFailure> {
    let temporary = std::env::temp_dir();
    // The path of a socket has a short limit, which a deep TMPDIR would exceed.
    let base = if temporary.as_os_str().len() <= 60 { temporary } else { PathBuf::from("/tmp") };
    for attempt in 0..100_u32 {
        let dir = base.join(format!("situated-{command}-{}-{attempt}", std::process::id()));
        match DirBuilder::new().private().create(&dir) {
            Ok(()) => return Ok(dir.canonicalize()?),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => {
                return Err(CliFailure::new(
                    exit::CANNOT_CREATE,
                    format!("{}: {error}; TMPDIR chooses another folder", dir.display()),
                ));
            }
        }
    }
    Err(CliFailure::new(exit::CANNOT_CREATE, format!("no temporary folder could be made in {}", base.display())))
}

fn copy_sample(vault: &Path) -> Result<(), CliFailure> {
    fs::create_dir(vault)?;
    for (path, text) in FILES {
        let file = vault.join(path);
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(file, text)?;
    }
    Ok(())
}

fn search(client: &mut Client, query: &str, fresh: bool, limit: usize) -> Result<SearchAnswer, CliFailure> {
    let (query, limit) = (query.to_owned(), Some(limit));
    let request = SearchRequest {
        query,
        limit,
        per_note: Some(1),
        fresh,
        include: Include::TEXTS.to_vec(),
        ..SearchRequest::default()
    };
    Ok(client.call(&request)?)
}

/// Saves an edit, waits until it is found, and shows what was decided and why.
fn save(edit: &Edit, vault: &Path, client: &mut Client, out: &mut Out) -> Result<Value, CliFailure> {
    out.line(format!("\n  {} {} {}", green("!"), edit.what, bold(edit.path)))?;
    let file = vault.join(edit.path);
    fs::write(&file, fs::read_to_string(&file)?.replacen(edit.change.0, edit.change.1, 1))?;
    let saved = Instant::now();
    let answer = search(client, edit.query, true, 1)?;
    let found_ms = saved.elapsed().as_secs_f64() * 1000.0;
    let Some(hit) = answer.hits.iter().find(|hit| hit.path == edit.path) else {
        return Err(CliFailure::new(
            exit::INTERNAL,
            format!("`{}` did not find what was just saved in {}", edit.query, edit.path),
        ));
    };
    let request = ExplainRequest { path: edit.path.to_owned(), vault: Some("sample".to_owned()) };
    let Decisions { decisions } = client.call(&request)?;
    let decision = decisions
        .first()
        .ok_or_else(|| CliFailure::new(exit::INTERNAL, format!("no decision is known about {}", edit.path)))?;
    print_decision(decision, out)?;
    out.line(format!(
        "\n  {} {}  {}",
        green("?"),
        bold(edit.query),
        dim(format!("found {} after the save", millis(found_ms)))
    ))?;
    print_hits(std::slice::from_ref(hit), out)?;
    Ok(json!({ "path": edit.path, "query": edit.query, "found_ms": found_ms, "decision": decision }))
}

fn chapter(number: u32, title: &str, out: &mut Out) -> std::io::Result<()> {
    out.line(format!("\n{} {}", cyan(number.to_string()), bold(title)))
}

fn print_hits(hits: &[Hit], out: &mut Out) -> std::io::Result<()> {
    hits.iter().enumerate().try_for_each(|(i, hit)| {
        let look = Look { rank: i + 1, context: true, now: now(), ..Look::default() };
        print_hit(hit, &look, out)
    })
}

fn print_decision(decision: &Decision, out: &mut Out) -> std::io::Result<()> {
    out.wrapped("  ", &format!("  {}: {}.", decision.reason, meaning(decision.reason)))?;
    out.wrapped("  ", &format!("  {} in {}.", counts(decision), millis(decision.took_ms)))?;
    print_steps(decision, "    ", out)
}

fn goodbye(kept: Option<&Path>, out: &mut Out) -> std::io::Result<()> {
    out.line("")?;
    match kept {
        Some(dir) => {
            out.line(format!("The daemon is stopped; the copy stays in {}.", shown(dir)))?;
        }
        None => out.line("The daemon is stopped and the copy removed.")?,
    }
    out.line("Nothing left this machine, and no note of yours was read.")?;
    out.line(format!("\n{}", bold("Now your own vault")))?;
    let end = format!("end it; all that it made lies in {SHOWN_DATA}");
    for (command, about) in [
        ("situated run ~/Notes", "index it and watch; needs no configuration"),
        ("situated search WORDS", "ask it, in another terminal"),
        ("situated init ~/Notes", "write a configuration, for a daemon that is always there"),
        ("situated status", "is all well? does anything leave this machine?"),
        ("situated stop", &end),
    ] {
        out.row("  ", command, 26, &dim(about))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
