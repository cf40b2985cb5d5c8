//! Loss of power: of one run every call that changes a file is recorded by `strace`, and the data folder is made again as
//! a disk may hold it at any moment: what was synced, and of what was not a part, or nothing. A daemon that starts on it
//! has every context that was paid for, but for those whose answers were just coming.
//!
//! Folders keep what was done to names in its order, as file systems with a journal do. What is written through a mapping
//! would not be seen here; the daemon only reads through mappings.

mod record;

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};

use crate::Asked;
use crate::common::rng::Rng;
use crate::lab::{self, Lab, Start};
use record::Record;

const NOTES: usize = 12;

/// How long the recorded daemon lives.
const LENGTH: Duration = Duration::from_secs(20);

/// How long the model takes.
const LATENCY: Duration = Duration::from_millis(40);

/// How long a daemon may take to write what was lost.
const PATIENCE: Duration = Duration::from_secs(120);

/// An answer that came so long before is on the disk, though every call to the system is traced.
const KEPT: f64 = 0.4;

/// Calls and answers of the model at a time, in seconds since 1970 as `strace` has them.
struct Moment {
    at: f64,
    calls: usize,
    answers: usize,
}

pub(crate) fn run(asked: &Asked) -> Result<()> {
    let (first, losses) = (asked.first()?, asked.number("--runs", 100)? as usize);
    let mut rng = Rng::new(asked.seed);
    let lab = Lab::new(asked, NOTES)?;
    lab.model.latency(LATENCY);
    let home = lab.path("recorded");
    let log = lab.path("calls");
    let program = record::program(&lab.path("."), &lab.program, &log)?;
    let mut daemon = lab.start_as(&program.to_string_lossy(), &home)?;
    let over = AtomicBool::new(false);
    let mut edits = 0;
    let moments = std::thread::scope(|scope| -> Result<Vec<Moment>> {
        let watched = scope.spawn(|| moments(&lab, &over));
        let edited = (|| {
            let until = Instant::now() + LENGTH;
            while Instant::now() < until {
                if let Some(code) = daemon.exited()? {
                    bail!("it ended by itself with {code}: {}", fs::read_to_string(home.join("log"))?);
                }
                edits += 1;
                lab.save(rng.below(NOTES), edits)?;
                std::thread::sleep(Duration::from_millis(rng.between(50, 400) as u64));
            }
            Ok(())
        })();
        over.store(true, Ordering::Relaxed);
        let moments = watched.join().expect("it does not panic");
        edited.map(|()| moments)
    })?;
    daemon.stop()?;
    lab.model.latency(Duration::ZERO);

    let record = Record::read(&log, &home.join("data"))?;
    let before: Vec<_> = lab.model.asked().into_iter().map(|asked| (asked.document, asked.wanted)).collect();
    let (mut in_flight, mut twice, mut told) = (0, 0, 0);
    for loss in first..losses {
        let mut rng = asked.rng(loss);
        let home = lab.path("lost");
        let _ = fs::remove_dir_all(&home);
        let at = rng.below(record.len());
        record.lose(at, &home.join("data"), &mut rng)?;
        let time = record.time(at);
        let had = |time: f64| moments.iter().rev().find(|moment| moment.at <= time);
        let calls = had(time).map_or(0, |moment| moment.calls);
        let kept = had(time - KEPT).map_or(0, |moment| moment.answers);
        let (again, has_told) = start(&lab, &home, &before[..calls])
            .with_context(|| format!("loss {loss}, after call {at} of {}", record.len()))?;
        eprintln!("loss {loss}: after call {at} of {}: {again} asked again, {} in flight", record.len(), calls - kept);
        if again > calls - kept {
            bail!("loss {loss}, after call {at}: {again} questions asked again, {} were in flight", calls - kept);
        }
        (in_flight, twice, told) = (in_flight + calls - kept, twice + again, told + usize::from(has_told));
    }
    let (seed, calls, count) = (asked.seed, record.len(), losses.saturating_sub(first));
    println!(
        "seed {seed}, {count} losses of power from no. {first} on, in one run of {calls} calls that change files\n"
    );
    println!("| what | |\n|---|---|");
    println!("| edits, calls of the model in the run | {edits}, {} |", before.len());
    println!("| starts that serve all notes with all contexts | {count} |");
    println!("| of them with a problem in `status` | {told} |");
    println!("| questions asked again | {twice} |");
    println!("| calls that no kept answer can have come of | {in_flight} |");
    Ok(())
}

/// Looks at the model until it is over.
fn moments(lab: &Lab, over: &AtomicBool) -> Vec<Moment> {
    let mut moments = Vec::new();
    while !over.load(Ordering::Relaxed) {
        let at = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64());
        moments.push(Moment { at, calls: lab.model.calls(), answers: lab.model.answered() as usize });
        std::thread::sleep(Duration::from_millis(3));
    }
    moments
}

/// Starts a daemon on what the loss left: how many of the questions that had been asked are asked again, and whether it
/// tells of a problem.
fn start(lab: &Lab, home: &Path, before: &[(String, Vec<u32>)]) -> Result<(usize, bool)> {
    let from = lab.model.calls();
    let mut daemon = lab.start(home)?;
    let Start::Serves(mut client, status) = lab::await_start_for(&mut daemon, PATIENCE)? else {
        bail!("it does not serve: {}", fs::read_to_string(home.join("log"))?);
    };
    lab::all_found(&mut client, NOTES)?;
    let contexts = lab::contexts(&mut client)?;
    if contexts != 3 * NOTES as u64 {
        bail!("{contexts} contexts, not {}", 3 * NOTES);
    }
    drop(client);
    daemon.stop()?;
    let before: HashSet<_> = before.iter().collect();
    let after = lab.model.asked().into_iter().skip(from).map(|asked| (asked.document, asked.wanted));
    let problems = status["problems"].as_array().map_or(0, Vec::len);
    Ok((after.filter(|asked| before.contains(asked)).count(), problems > 0))
}
