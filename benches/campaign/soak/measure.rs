//! What the daemon takes, every few seconds, and the quarters of that.

use std::fmt::{self, Display, Formatter};
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::json;

use super::{SHARE, Soak};
use crate::common::daemon::{Client, Daemon, Usage};
use crate::common::{files, percentile};

/// How often it is looked at.
const EVERY: Duration = Duration::from_secs(5);

/// Notes that wait to be indexed and are no backlog.
const BEHIND: u64 = 20;

/// What may be more at the end than in the first quarter.
const MORE: f64 = 1.05;

/// Bytes of the database that a context takes which was bought, whatever becomes of its note: its archive keeps it.
const CONTEXT: f64 = 1e3;

/// How what is measured is judged.
#[derive(Clone, Copy, PartialEq)]
enum Judged {
    /// The medians of the first quarter and of the last are to be about the same.
    ByMedian,
    /// The least of them are, but for what was bought: it grows and is made smaller by turns.
    ByLeast,
    /// What was paid for is kept for ever, and a log grows to its bound.
    Not,
}

/// What is measured: a name, the unit's size, and how it is judged.
const MEASURED: [(&str, f64, Judged); 11] = [
    ("resident, MB", 1e6, Judged::ByMedian),
    ("of it anonymous, MB", 1e6, Judged::ByMedian),
    ("descriptors", 1.0, Judged::ByMedian),
    ("threads", 1.0, Judged::ByMedian),
    ("database, kB", 1e3, Judged::ByLeast),
    ("words, vectors and the rest, kB", 1e3, Judged::ByMedian),
    ("journal and ledger (kept for ever), kB", 1e3, Judged::Not),
    ("log (two files of 5 MB at most), kB", 1e3, Judged::Not),
    ("the vault itself, kB", 1e3, Judged::Not),
    ("processor, % of a core", 0.01, Judged::Not),
    ("contexts bought", 1.0, Judged::Not),
];

/// Which of them the contexts are that were bought.
const BOUGHT: usize = MEASURED.len() - 1;

/// A sample: what [`MEASURED`] names.
type Row = [f64; MEASURED.len()];

/// Least, median and most of what was measured in a quarter.
type Quarter = (f64, f64, f64);

pub(super) struct Samples {
    /// Seconds since the start, and what [`MEASURED`] names.
    taken: Vec<(f64, Row)>,
    file: Option<File>,
}

impl Samples {
    /// Each is written to a file too, if there is to be one.
    pub(super) fn new(path: Option<PathBuf>) -> Result<Samples> {
        let mut file = path.map(File::create).transpose().context("making the file of samples")?;
        if let Some(file) = &mut file {
            let names: Vec<&str> = MEASURED.iter().map(|(name, ..)| *name).collect();
            writeln!(file, "seconds\t{}", names.join("\t"))?;
        }
        Ok(Samples { taken: Vec::new(), file })
    }

    /// Looks until the time is over, and keeps the daemon at its share of a core.
    pub(super) fn take(&mut self, soak: &Soak, daemon: &mut Daemon, data: &Path, length: Duration) -> Result<()> {
        let start = Instant::now();
        let mut cpu = Usage::of(daemon.pid()).map_or(0.0, |usage| usage.cpu);
        let mut last = start;
        while start.elapsed() < length {
            std::thread::sleep(EVERY);
            if let Some(code) = daemon.exited()? {
                bail!("the daemon ended by itself with {code}");
            }
            let usage = Usage::of(daemon.pid()).context("the daemon has no entry in /proc")?;
            let share = (usage.cpu - cpu) / last.elapsed().as_secs_f64();
            (cpu, last) = (usage.cpu, Instant::now());
            // A daemon that others keep from the processor takes little of it, and is not to be given more for that.
            let is_behind = pending(&soak.socket).is_none_or(|pending| pending > BEHIND);
            let faster_or_slower = if is_behind { 1.5 } else { (share / SHARE).clamp(0.9, 1.1) };
            let pause = soak.pause.load(Ordering::Relaxed) as f64 * faster_or_slower;
            soak.pause.store(pause.clamp(50e3, 10e6) as u64, Ordering::Relaxed);

            let proc = PathBuf::from(format!("/proc/{}", daemon.pid()));
            let count = |dir: &str| fs::read_dir(proc.join(dir)).map_or(0.0, |entries| entries.count() as f64);
            let disk = Disk::of(data);
            let vault = soak.notes.lock().expect("no holder panics").bytes() as f64;
            let (resident, anonymous) = (usage.rss as f64, usage.anonymous as f64);
            let (descriptors, threads) = (count("fd"), count("task"));
            let row = [
                resident,
                anonymous,
                descriptors,
                threads,
                disk.database,
                disk.rest,
                disk.kept,
                disk.log,
                vault,
                share,
                bought(&soak.socket).or(self.taken.last().map(|(_, row)| row[BOUGHT])).unwrap_or(0.0),
            ];
            let seconds = start.elapsed().as_secs_f64();
            if let Some(file) = &mut self.file {
                let row = row.map(|value| value.to_string());
                writeln!(file, "{seconds:.1}\t{}", row.join("\t"))?;
            }
            self.taken.push((seconds, row));
        }
        Ok(())
    }

    /// Prints what was measured in the quarters after the warm-up; the names of what grew.
    pub(super) fn table(&self, warm_up: f64) -> Vec<&'static str> {
        let taken: Vec<_> = self.taken.iter().filter(|(seconds, _)| *seconds > warm_up).collect();
        let quarters: Vec<_> = taken.chunks(taken.len().div_ceil(4).max(1)).collect();
        println!("| median, most | 1st quarter | 2nd | 3rd | 4th | 4th to 1st | |\n|---|---|---|---|---|---|---|");
        let of = |column: usize| -> Vec<Quarter> {
            let quarter = |quarter: &&[&(f64, Row)]| {
                let values: Vec<f64> = quarter.iter().map(|(_, row)| row[column]).collect();
                (percentile(&values, 0.0), percentile(&values, 50.0), percentile(&values, 100.0))
            };
            quarters.iter().map(quarter).collect()
        };
        let ends = |quarters: &[Quarter]| quarters.first().copied().zip(quarters.last().copied()).unwrap_or_default();
        let (first, last) = ends(&of(BOUGHT));
        let kept = CONTEXT * (last.1 - first.1);
        let mut grown = Vec::new();
        for (column, (name, unit, judged)) in MEASURED.into_iter().enumerate() {
            let quarters = of(column);
            let (first, last) = ends(&quarters);
            let (before, after, kept) = match judged {
                Judged::ByLeast => (first.0, last.0, kept),
                Judged::ByMedian | Judged::Not => (first.1, last.1, 0.0),
            };
            let verdict = match judged {
                Judged::Not => "",
                _ if after <= before * MORE + kept => "holds",
                _ => {
                    grown.push(name);
                    "**grows**"
                }
            };
            let cell = |(least, median, most): &Quarter| {
                let least = if judged == Judged::ByLeast { format!("{:.1}, ", least / unit) } else { String::new() };
                format!("{least}{:.1}, {:.1}", median / unit, most / unit)
            };
            let cells: Vec<String> = quarters.iter().map(cell).collect();
            let change = if before > 0.0 { 100.0 * (after / before - 1.0) } else { 0.0 };
            let name = if judged == Judged::ByLeast { format!("{name}: least, median, most") } else { name.to_owned() };
            println!("| {name} | {} | {change:+.1} % | {verdict} |", cells.join(" | "));
        }
        grown
    }
}

/// Contexts that were bought so far; `None` if the daemon does not say in time.
fn bought(socket: &Path) -> Option<f64> {
    let cost = Client::connect(socket).and_then(|mut client| client.call("cost", &json!({}))).ok()?;
    cost["this_month"]["contexts"].as_f64()
}

/// Notes that wait to be indexed; `None` if the daemon does not say in time.
fn pending(socket: &Path) -> Option<u64> {
    let status = Client::connect(socket).and_then(|mut client| client.call("status", &json!({}))).ok()?;
    status["vaults"][0]["pending"].as_u64()
}

/// Bytes of the databases in a data folder.
pub(super) fn database(data: &Path) -> f64 {
    Disk::of(data).database
}

/// What a daemon takes at a moment.
pub(super) struct Taken {
    usage: Usage,
    disk: Disk,
}

impl Taken {
    pub(super) fn now(daemon: &Daemon, home: &Path) -> Result<Taken> {
        let usage = Usage::of(daemon.pid()).context("the daemon has no entry in /proc")?;
        Ok(Taken { usage, disk: Disk::of(&home.join("data")) })
    }
}

/// As cells of a table, in megabytes.
impl Display for Taken {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (resident, anonymous) = (self.usage.rss as f64 / 1e6, self.usage.anonymous as f64 / 1e6);
        let (database, rest) = (self.disk.database / 1e6, self.disk.rest / 1e6);
        write!(f, "{resident:.1} | {anonymous:.1} | {database:.1} | {rest:.1}")
    }
}

/// Bytes of the data folder, by what becomes of them.
#[derive(Default)]
struct Disk {
    database: f64,
    kept: f64,
    log: f64,
    rest: f64,
}

impl Disk {
    fn of(data: &Path) -> Disk {
        let mut disk = Disk::default();
        // A file, or a folder, may go while it is looked at.
        for file in (0..5).find_map(|_| files(data).ok()).unwrap_or_default() {
            let bytes = fs::metadata(&file).map_or(0.0, |meta| meta.len() as f64);
            let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let is_in = |dir: &str| file.components().any(|part| part.as_os_str() == dir);
            *match () {
                () if name.starts_with("daemon.log") => &mut disk.log,
                () if name == "contexts.journal" || is_in("ledger") => &mut disk.kept,
                () if is_in("sled") => &mut disk.database,
                () => &mut disk.rest,
            } += bytes;
        }
        disk
    }
}
