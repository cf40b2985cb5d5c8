//! What the system refuses: no space, no inodes, no descriptors, no watches, no memory, no time. The daemon goes on with
//! what it can, says what it lacks, and makes up for it once it is there again; what was paid for is kept.

use std::fmt;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::Asked;
use crate::common::daemon::{Client, Daemon};
use crate::common::{self, option, rng::Rng};
use crate::lab::{self, Lab};

const NOTES: usize = 12;

/// How long the daemon works while something is refused.
const LIMITED: Duration = Duration::from_secs(4);

/// How long it may take to make up for it: failed writes are tried again after a minute at most.
const RECOVERY: Duration = Duration::from_secs(150);

/// Bytes of a data folder's file system that nothing is refused on.
const PLENTY: u64 = 256 << 20;

/// Bytes of a page, which a file on tmpfs takes at least.
const PAGE: u64 = 4096;

#[derive(Clone, Copy, Debug)]
enum Refused {
    /// All but so many pages of the data folder's disk are taken.
    Pages(u64),
    /// So many files more can be made.
    Inodes(u64),
    /// So many descriptors more can be had by the running daemon.
    Descriptors(u64),
    /// So many can be had from the start.
    DescriptorsFromStart(u64),
    /// So many folders can be watched.
    Watches(u64),
    /// Thousandths of the address space that it takes when nothing is refused.
    Memory(u64),
    /// Nothing runs for so many seconds.
    Stopped(u64),
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::Pages(n) => write!(f, "disk full but for {n} pages"),
            Refused::Inodes(n) => write!(f, "{n} inodes left"),
            Refused::Descriptors(n) => write!(f, "{n} descriptors left"),
            Refused::DescriptorsFromStart(n) => write!(f, "{n} descriptors from the start"),
            Refused::Watches(n) => write!(f, "{n} folders can be watched"),
            Refused::Memory(n) => write!(f, "{:.1} % of the address space", *n as f64 / 10.0),
            Refused::Stopped(n) => write!(f, "stopped for {n} s"),
        }
    }
}

impl Refused {
    fn all() -> Vec<Refused> {
        use Refused::{Descriptors, DescriptorsFromStart, Inodes, Memory, Pages, Stopped, Watches};
        let mut all: Vec<Refused> = [0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 40, 48, 56, 64, 128, 512].map(Pages).into();
        all.extend([0, 1, 2, 3, 4, 6, 8].map(Inodes));
        all.extend([0, 1, 2, 3, 5, 8].map(Descriptors));
        all.extend([8, 12, 16, 24, 32, 48, 63, 64, 80, 96].map(DescriptorsFromStart));
        all.extend([0, 1].map(Watches));
        all.extend([300, 500, 700, 800, 900, 950, 1000].map(Memory));
        all.extend([20, 240].map(Stopped));
        all
    }

    /// What a shell does before it becomes the daemon; `None` if this is refused to one that runs.
    fn before_the_start(self, address_space: u64) -> Option<(&'static str, String)> {
        match self {
            Refused::DescriptorsFromStart(n) => Some(("", format!("ulimit -n {n}"))),
            // A user namespace has limits of its own, so that nobody else lacks watches.
            Refused::Watches(n) => {
                Some(("unshare -U -r ", format!("echo {n} > /proc/sys/user/max_inotify_watches || exit 70")))
            }
            Refused::Memory(n) => Some(("", format!("ulimit -v {}", address_space * n / 1000 / 1024))),
            Refused::Pages(_) | Refused::Inodes(_) | Refused::Descriptors(_) | Refused::Stopped(_) => None,
        }
    }
}

/// Runs this program again where what it mounts is seen by nobody else; its exit code.
pub(crate) fn apart() -> Result<i32> {
    if !rustix::process::geteuid().is_root() {
        bail!("only root can mount a small disk");
    }
    let status = Command::new("unshare")
        .args(["--mount", "--propagation", "private"])
        .arg(std::env::current_exe()?)
        .args(std::env::args_os().skip(1))
        .arg("--apart")
        .status()
        .context("running `unshare`")?;
    Ok(status.code().unwrap_or(1))
}

/// A file system of its own for a data folder; unmounted when dropped.
struct Disk(PathBuf);

impl Disk {
    fn mount(at: &Path) -> Result<Disk> {
        fs::create_dir_all(at)?;
        call("mount", &["-t", "tmpfs", "-o", &format!("size={PLENTY},mode=0700"), "tmpfs", &at.to_string_lossy()])?;
        Ok(Disk(at.to_owned()))
    }

    fn limit(&self, options: &str) -> Result<()> {
        call("mount", &["-o", &format!("remount,{options}"), &self.0.to_string_lossy()])
    }

    /// Leaves so many pages.
    fn leave_pages(&self, pages: u64) -> Result<()> {
        let has = rustix::fs::statvfs(&self.0)?;
        let taken = (has.f_blocks - has.f_bfree) * has.f_frsize;
        self.limit(&format!("size={}", (taken + pages * PAGE).max(PAGE)))
    }

    fn leave_inodes(&self, inodes: u64) -> Result<()> {
        let has = rustix::fs::statvfs(&self.0)?;
        self.limit(&format!("nr_inodes={}", has.f_files - has.f_ffree + inodes))
    }

    fn leave_all(&self) -> Result<()> {
        self.limit(&format!("size={PLENTY},nr_inodes=100000"))
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = call("umount", &["--lazy", &self.0.to_string_lossy()]);
    }
}

fn call(program: &str, args: &[&str]) -> Result<()> {
    let out = Command::new(program).args(args).output().with_context(|| format!("running `{program}`"))?;
    if !out.status.success() {
        bail!("{program} {}: {}", args.join(" "), String::from_utf8_lossy(&out.stderr).trim());
    }
    Ok(())
}

/// What one trouble did.
#[derive(Default)]
struct Seen {
    answered: usize,
    asked: usize,
    /// What searches were told that were not answered.
    unanswered: Vec<String>,
    /// What `status` said, or the last line of one that ended.
    told: Option<String>,
    ended: bool,
    /// Whether the last save was found while something was refused.
    goes_on: bool,
    /// Seconds until it was at rest with everything, once nothing was refused any more.
    recovered: f64,
    twice: usize,
    wrong: Vec<String>,
}

pub(crate) fn run(asked: &Asked) -> Result<()> {
    let (mut rng, only) = (Rng::new(asked.seed), option(&asked.args, "--only"));
    let lab = Lab::new(asked, NOTES)?;
    let whole = lab.path("whole");
    let (daemon, client) = lab.start_whole(&whole)?;
    let address_space = address_space(daemon.pid())?;
    drop(client);
    daemon.stop()?;
    let (mut edits, mut failures, mut rows) = (0, Vec::new(), Vec::new());
    for refused in Refused::all() {
        if only.as_ref().is_some_and(|only| !refused.to_string().contains(only.as_str())) {
            continue;
        }
        let mut seen = one(&lab, &whole, refused, address_space, &mut edits, &mut rng)
            .with_context(|| format!("{refused}: {}", log(&lab.path("case"))))?;
        if seen.told.is_none() && !seen.goes_on && !matches!(refused, Refused::Stopped(_)) {
            seen.wrong.push("it neither goes on nor says why".to_owned());
        }
        if seen.twice > 0 && !seen.ended {
            seen.wrong.push(format!("{} questions were asked again", seen.twice));
        }
        let how = match &seen {
            Seen { ended: true, told, .. } => format!("ends: {}", told.as_deref().unwrap_or("without a word")),
            Seen { told: Some(told), .. } => format!("tells: {told}"),
            _ => "goes on".to_owned(),
        };
        let how = how.replace(&*lab.path("case").to_string_lossy(), "…").replace('|', "/");
        let row = format!(
            "| {refused} | {} of {} | {how} | {:.1} s | {} |",
            seen.answered, seen.asked, seen.recovered, seen.twice
        );
        eprintln!("{row} {}{}", seen.wrong.join("; "), seen.unanswered.first().map_or("", String::as_str));
        rows.push(row);
        failures.extend(seen.wrong.iter().map(|wrong| format!("{refused}: {wrong}")));
    }
    println!("seed {}, {} troubles, {} failures\n", asked.seed, rows.len(), failures.len());
    println!("| refused | searches answered | meanwhile | whole again after | asked again |\n|---|---|---|---|---|");
    rows.iter().for_each(|row| println!("{row}"));
    failures.iter().for_each(|failure| println!("- {failure}"));
    if failures.is_empty() { Ok(()) } else { bail!("{} failures", failures.len()) }
}

fn one(lab: &Lab, whole: &Path, refused: Refused, space: u64, edits: &mut usize, rng: &mut Rng) -> Result<Seen> {
    let home = lab.path("case");
    let _ = fs::remove_dir_all(&home);
    // The texts whose contexts are in the data that are copied.
    (0..NOTES).try_for_each(|n| lab.save(n, 0))?;
    let asked_again = lab.asked_again();
    let disk = Disk::mount(&home.join("data"))?;
    common::copy(&whole.join("data"), &home.join("data"))?;
    let mut seen = Seen::default();
    lab.model.latency(Duration::from_millis(30));
    let from_start = refused.before_the_start(space);
    let mut daemon = match &from_start {
        None => lab.start(&home)?,
        Some((within, first)) => {
            let script = lab.path("limited");
            let program = lab.program.as_str();
            fs::write(
                &script,
                format!("#!/bin/sh\nexec {within}sh -c '{first}; exec \"$0\" \"$@\"' '{program}' \"$@\"\n"),
            )?;
            fs::set_permissions(&script, fs::Permissions::from_mode(0o700))?;
            lab.start_as(&script.to_string_lossy(), &home)?
        }
    };
    if from_start.is_none() {
        whole_again(lab, &mut daemon, *edits, false)?;
    }
    let process = Pid::from_raw(daemon.pid() as i32).context("a process has a number")?;
    match refused {
        Refused::Pages(pages) => disk.leave_pages(pages)?,
        Refused::Inodes(inodes) => disk.leave_inodes(inodes)?,
        Refused::Descriptors(more) => {
            let open = fs::read_dir(format!("/proc/{}/fd", daemon.pid()))?.count() as u64;
            let most = open + more;
            call("prlimit", &["--pid", &daemon.pid().to_string(), &format!("--nofile={most}:1024")])?;
        }
        Refused::Stopped(_) => {
            lab.model.latency(Duration::from_millis(1500));
            (0..NOTES).try_for_each(|n| lab.save(n, *edits + 1))?;
            *edits += 1;
            std::thread::sleep(Duration::from_millis(700));
            kill_process(process, Signal::STOP)?;
        }
        Refused::DescriptorsFromStart(_) | Refused::Watches(_) | Refused::Memory(_) => {}
    }
    if let Refused::Stopped(seconds) = refused {
        std::thread::sleep(Duration::from_secs(seconds));
        kill_process(process, Signal::CONT)?;
        lab.model.latency(Duration::from_millis(30));
    }
    work(lab, &home, &mut daemon, edits, rng, &mut seen)?;
    lab.model.latency(Duration::ZERO);

    match refused {
        Refused::Pages(_) | Refused::Inodes(_) => disk.leave_all()?,
        Refused::Descriptors(_) => {
            call("prlimit", &["--pid", &daemon.pid().to_string(), "--nofile=1024:1024"])?;
        }
        _ => {}
    }
    let start = Instant::now();
    if seen.ended || from_start.is_some() {
        daemon.stop()?;
        daemon = lab.start(&home)?;
    }
    // One that ends while it opens its store may leave it damaged: then that is told until the next start, and all is back.
    if let Err(error) = whole_again(lab, &mut daemon, *edits, matches!(refused, Refused::Memory(_))) {
        seen.wrong.push(format!("{error:#}"));
    }
    seen.recovered = start.elapsed().as_secs_f64();
    daemon.stop()?;
    // What it said it had is there for the next one.
    let mut daemon = lab.start(&home)?;
    if let Err(error) = whole_again(lab, &mut daemon, *edits, false) {
        seen.wrong.push(format!("after another start: {error:#}"));
    }
    daemon.stop()?;
    seen.twice = lab.asked_again() - asked_again;
    // Without memory, or a thread, the language lets a program do nothing but end.
    let may_panic = matches!(refused, Refused::Memory(_)) && seen.ended;
    if panics(&log(&home)) && !may_panic {
        seen.wrong.push("it panics".to_owned());
    }
    Ok(seen)
}

/// Saves and searches while something is refused.
fn work(lab: &Lab, home: &Path, daemon: &mut Daemon, edits: &mut usize, rng: &mut Rng, seen: &mut Seen) -> Result<()> {
    let until = Instant::now() + LIMITED;
    let mut client: Option<Client> = None;
    let mut last = (0, 0);
    while Instant::now() < until {
        if daemon.exited()?.is_some() {
            seen.ended = true;
            seen.told = last_words(&log(home));
            return Ok(());
        }
        *edits += 1;
        last = (rng.below(NOTES), *edits);
        lab.save(last.0, last.1)?;
        std::thread::sleep(Duration::from_millis(100));
        if client.is_none() {
            client = Client::connect(daemon.socket()).ok();
        }
        let Some(connected) = &mut client else { continue };
        seen.asked += 1;
        match connected.call("search", &json!({"query": lab::WORD, "limit": 5})) {
            Ok(answer) if answer["hits"][0].is_object() => seen.answered += 1,
            Ok(answer) => seen.unanswered.push(format!("nothing found, warnings {}", answer["warnings"])),
            Err(error) => seen.unanswered.push(error.to_string()),
        }
        match connected.call("status", &json!({})) {
            Ok(status) => seen.told = status["problems"][0].as_str().map(str::to_owned).or(seen.told.take()),
            Err(_) => client = None,
        }
    }
    let asked = json!({"query": format!("\"Risks {} of {}\"", last.0, last.1), "mode": "lexical", "fresh": true});
    let answer = Client::connect(daemon.socket()).and_then(|mut client| client.call("search", &asked));
    seen.goes_on = answer.as_ref().is_ok_and(|answer| answer["hits"][0].is_object());
    if !seen.goes_on {
        seen.unanswered.push(format!("the last save is not found: {answer:?}"));
    }
    Ok(())
}

/// Whether a thread ended where it must not. What the daemon says of a panic that it caught is none; nor is what tokio says
/// where it has no thread for a request, which is told `busy` then.
fn panics(log: &str) -> bool {
    let lines: Vec<&str> = log.lines().collect();
    let panics = |line: &str| line.starts_with("thread '") && line.contains("panicked at");
    lines.windows(2).any(|two| panics(two[0]) && !two[1].starts_with("OS can't spawn worker thread"))
}

/// What a daemon that has ended said at last: why it could not go on, and not what the language adds to that.
fn last_words(log: &str) -> Option<String> {
    let said: Vec<&str> = log.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let lacks_memory = said.iter().find(|line| line.starts_with("memory allocation of"));
    let panicked = || said.iter().position(|line| line.contains("panicked at")).and_then(|at| said.get(at + 1));
    lacks_memory.or_else(panicked).or(said.last()).map(|line| (*line).to_owned())
}

/// Waits until every note is found as it was saved, every chunk has a context, and nothing is wrong; but for a damaged store
/// that was made again, if it `may_tell` of one.
fn whole_again(lab: &Lab, daemon: &mut Daemon, edits: usize, may_tell: bool) -> Result<()> {
    let until = Instant::now() + RECOVERY;
    let mut client = daemon.client()?;
    loop {
        let look = (|| -> Result<()> {
            let status = client.call("status", &json!({}))?;
            let problems = status["problems"].as_array().map_or(&[][..], Vec::as_slice);
            let is_back = |problem: &serde_json::Value| {
                problem.as_str().is_some_and(|problem| problem.contains("was damaged") && problem.contains("came back"))
            };
            let may_be_degraded = may_tell && status["state"] == "degraded" && problems.iter().all(is_back);
            let is_well = status["state"] == "idle" || may_be_degraded;
            if !is_well || status["contexts"]["waiting"] != 0 || status["vaults"][0]["notes"] != json!(NOTES) {
                bail!("it is {} after {edits} edits, problems {}", status["state"], status["problems"]);
            }
            lab::all_found(&mut client, NOTES)?;
            let contexts = lab::contexts(&mut client)?;
            if contexts != 3 * NOTES as u64 {
                bail!("{contexts} of {} contexts", 3 * NOTES);
            }
            for n in 0..NOTES {
                let text = fs::read_to_string(lab.vault.join(format!("note {n}.md")))?;
                let heading = text.lines().find_map(|line| line.strip_prefix("## Risks ")).unwrap_or_default();
                let asked = json!({"query": format!("\"Risks {heading}\""), "mode": "lexical"});
                if !client.call("search", &asked)?["hits"][0].is_object() {
                    bail!("note {n} is not found as it is");
                }
            }
            Ok(())
        })();
        match look {
            Ok(()) => return Ok(()),
            Err(error) if Instant::now() > until => return Err(error),
            Err(_) => std::thread::sleep(Duration::from_millis(100)),
        }
        if let Some(code) = daemon.exited()? {
            bail!("it ended by itself with {code}");
        }
    }
}

/// What a daemon printed.
fn log(home: &Path) -> String {
    fs::read_to_string(home.join("log")).unwrap_or_default()
}

/// Bytes of its address space at most so far.
fn address_space(pid: u32) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmPeak:")?.split_whitespace().next()?.parse().ok());
    Ok(1024_u64 * peak.unwrap_or(1 << 20))
}
