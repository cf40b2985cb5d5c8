//! kill -9 at random and at every boundary of a file while notes are edited and contexts bought: nothing is lost, and
//! nothing is bought twice but what was asked and not yet kept when the daemon died.

mod boundaries;

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use serde_json::{Value, json};

use crate::Asked;
use crate::common::daemon::Client;
use crate::common::{option, rng::Rng};
use crate::lab::{self, Lab, Start};
use boundaries::{Boundary, CALLS};

const NOTES: usize = 12;

/// How long the model takes.
const LATENCY: Duration = Duration::from_millis(40);

/// An answer that came so long before a kill is on the disk, unless that is slow.
const KEPT: Duration = Duration::from_millis(60);

/// The same where every call to the system is traced.
const KEPT_TRACED: Duration = Duration::from_millis(400);

/// A boundary that is not reached by then is given up, and the kill is one at random.
const GIVEN_UP: Duration = Duration::from_millis(2500);

/// How long the daemon may take to write what is lacking.
const PATIENCE: Duration = Duration::from_secs(120);

/// Kills between two looks at what has become of it all.
const ROUND: usize = 50;

/// What happened so far.
#[derive(Default)]
struct Seen {
    edits: usize,
    in_flight: usize,
    early: usize,
    /// Kills by the call that they came at; by none, at random.
    kills: BTreeMap<&'static str, usize>,
}

pub(crate) fn run(asked: &Asked) -> Result<()> {
    let (first, runs) = (asked.first()?, asked.number("--runs", 100)? as usize);
    let at = option(&asked.args, "--at").unwrap_or_else(|| "random".to_owned());
    if !matches!(at.as_str(), "random" | "boundaries" | "both") {
        bail!("--at takes random, boundaries or both");
    }
    if at != "random" {
        boundaries::can_be_had()?;
    }
    let lab = Lab::new(asked, NOTES)?;
    let home = lab.path("home");
    let mut seen = Seen::default();
    for run in first..runs {
        let mut rng = asked.rng(run);
        lab.model.latency(LATENCY);
        let boundary = (at == "boundaries" || (at == "both" && run % 2 == 1)).then(|| Boundary::any(&mut rng));
        match boundary {
            None => at_random(&lab, &home, &mut rng, &mut seen)?,
            Some(boundary) => at_boundary(&lab, &home, boundary, &mut rng, &mut seen)?,
        }
        eprintln!("kill {run}: {boundary:?}, {} edits, {} calls", seen.edits, lab.model.calls());
        if (run + 1) % ROUND == 0 {
            look(&lab, &home, &seen)?;
        }
    }
    let status = look(&lab, &home, &seen)?;
    let kills = runs.saturating_sub(first);
    println!("seed {}, {kills} kills from no. {first} on, {} before the daemon served\n", asked.seed, seen.early);
    println!("| what | |\n|---|---|");
    let kills: Vec<String> = seen.kills.iter().map(|(at, kills)| format!("{at} {kills}")).collect();
    println!("| kills at | {} |", kills.join(", "));
    println!("| edits, calls of the model | {}, {} |", seen.edits, lab.model.calls());
    println!("| contexts of {NOTES} notes with 3 chunks each | {} |", status["contexts"]);
    println!("| questions asked again | {} |", lab.asked_again());
    println!("| calls that no kept answer can have come of when the daemon was killed | {} |", seen.in_flight);
    println!("| calls in the ledger; not settled | {}; {} |", status["calls"], status["unsettled"]);
    println!("| problems | {} |", status["problems"]);
    Ok(())
}

/// Kills after a time.
fn at_random(lab: &Lab, home: &Path, rng: &mut Rng, seen: &mut Seen) -> Result<()> {
    let mut daemon = lab.start(home)?;
    let ends = Instant::now() + Duration::from_millis(rng.between(5, 900) as u64);
    while Instant::now() + KEPT < ends {
        seen.edits += 1;
        lab.save(rng.below(NOTES), seen.edits)?;
        std::thread::sleep(Duration::from_millis(rng.between(0, 60) as u64));
    }
    let kept = lab.model.answered() as usize;
    std::thread::sleep(ends.saturating_duration_since(Instant::now()));
    if let Some(code) = daemon.exited()? {
        bail!("it ended by itself with {code}: {}", std::fs::read_to_string(home.join("log"))?);
    }
    seen.early += usize::from(Client::connect(daemon.socket()).is_err());
    daemon.kill()?;
    seen.in_flight += lab.model.calls() - kept;
    *seen.kills.entry("random").or_default() += 1;
    Ok(())
}

/// Has it die at a boundary.
fn at_boundary(lab: &Lab, home: &Path, boundary: Boundary, rng: &mut Rng, seen: &mut Seen) -> Result<()> {
    let program = boundaries::program(&lab.path("."), &lab.program, boundary)?;
    let mut daemon = lab.start_as(&program.to_string_lossy(), home)?;
    let given_up = Instant::now() + GIVEN_UP;
    // How many answers there were, and when.
    let mut answered = VecDeque::from([(Instant::now(), lab.model.answered())]);
    let (mut next, mut reached, mut served) = (Instant::now(), true, false);
    while daemon.exited()?.is_none() {
        let now = Instant::now();
        if now > given_up {
            reached = false;
            break;
        }
        if now >= next {
            seen.edits += 1;
            lab.save(rng.below(NOTES), seen.edits)?;
            next = now + Duration::from_millis(rng.between(0, 150) as u64);
        }
        served = served || Client::connect(daemon.socket()).is_ok();
        answered.push_back((now, lab.model.answered()));
        while answered.get(1).is_some_and(|(when, _)| when.elapsed() > KEPT_TRACED) {
            answered.pop_front();
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let code = daemon.exited()?;
    if code.is_some_and(|code| code >= 0) {
        bail!("it ended by itself with {code:?}: {}", std::fs::read_to_string(home.join("log"))?);
    }
    daemon.kill()?;
    seen.in_flight += lab.model.calls() - answered.front().map_or(0, |(_, answers)| *answers as usize);
    seen.early += usize::from(!served);
    *seen.kills.entry(if reached { CALLS[boundary.call] } else { "none, after a while" }).or_default() += 1;
    Ok(())
}

/// Starts it, waits until it is at rest, and fails if anything was lost or bought twice.
fn look(lab: &Lab, home: &Path, seen: &Seen) -> Result<Value> {
    lab.model.latency(Duration::ZERO);
    let mut daemon = lab.start(home)?;
    let Start::Serves(mut client, status) = lab::await_start_for(&mut daemon, PATIENCE)? else {
        bail!("it does not serve after the last kill: {}", std::fs::read_to_string(home.join("log"))?);
    };
    let contexts = lab::contexts(&mut client)?;
    lab::all_found(&mut client, NOTES)?;
    let today = client.call("cost", &json!({}))?["today"].clone();
    let (calls, twice) = (lab.model.calls(), lab.asked_again());
    if contexts != 3 * NOTES as u64 {
        bail!("{contexts} contexts, not {}", 3 * NOTES);
    }
    if twice > seen.in_flight {
        bail!("{twice} questions were asked again, and {} were in flight", seen.in_flight);
    }
    if today["calls"].as_u64() < Some(calls as u64) {
        bail!("the ledger has {} calls of {calls}", today["calls"]);
    }
    drop(client);
    daemon.stop()?;
    Ok(json!({
        "contexts": contexts, "calls": today["calls"], "unsettled": today["unsettled_calls"], "problems": status["problems"]
    }))
}
