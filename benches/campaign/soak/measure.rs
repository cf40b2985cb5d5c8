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

/// What is measured: a name, the unit's size, and whether it must not grow. What was paid for is kept for ever, and a log
/// grows to its bound.
const MEASURED: [(&str, f64, bool); 10] = [
    ("resident, MB", 1e6, true),
    ("of it anonymous, MB", 1e6, true),
    ("descriptors", 1.0, true),
    ("threads", 1.0, true),
    ("database, kB", 1e3, true),
    ("words, vectors and the rest, kB", 1e3, true),
    ("journal and ledger (kept for ever), kB", 1e3, false),
    ("log (two files of 5 MB at most), kB", 1e3, false),
    ("the vault itself, kB", 1e3, false),
    ("processor, % of a core", 0.01, false),
];

pub(super) struct Samples {
    /// Seconds since the start, and what [`MEASURED`] names.
    taken: Vec<(f64, [f64; MEASURED.len()])>,
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

    /// Prints medians and maxima of the quarters after the warm-up; the names of what grew.
    pub(super) fn table(&self, warm_up: f64) -> Vec<&'static str> {
        let taken: Vec<_> = self.taken.iter().filter(|(seconds, _)| *seconds > warm_up).collect();
        let quarters: Vec<_> = taken.chunks(taken.len().div_ceil(4).max(1)).collect();
        println!("| median, most | 1st quarter | 2nd | 3rd | 4th | 4th to 1st | |\n|---|---|---|---|---|---|---|");
        let mut grown = Vec::new();
        for (column, (name, unit, must_not_grow)) in MEASURED.into_iter().enumerate() {
            let column = |quarter: &[&(f64, [f64; MEASURED.len()])]| -> (f64, f64) {
                let values: Vec<f64> = quarter.iter().map(|(_, row)| row[column] / unit).collect();
                (percentile(&values, 50.0), percentile(&values, 100.0))
            };
            let medians: Vec<(f64, f64)> = quarters.iter().map(|quarter| column(quarter)).collect();
            let cells: Vec<String> = medians.iter().map(|(median, most)| format!("{median:.1}, {most:.1}")).collect();
            let (first, last) = (medians.first().map_or(0.0, |m| m.0), medians.last().map_or(0.0, |m| m.0));
            let verdict = match must_not_grow {
                false => "",
                true if last <= first * MORE => "holds",
                true => {
                    grown.push(name);
                    "**grows**"
                }
            };
            let change = if first > 0.0 { 100.0 * (last / first - 1.0) } else { 0.0 };
            println!("| {name} | {} | {change:+.1} % | {verdict} |", cells.join(" | "));
        }
        grown
    }
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
