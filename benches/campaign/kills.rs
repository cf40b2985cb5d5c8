//! kill -9 at random while notes are edited and contexts bought: nothing is lost, and nothing is bought twice but what was
//! asked and not yet kept when the daemon died.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use serde_json::json;

use crate::Asked;
use crate::common::daemon::Client;
use crate::common::rng::Rng;
use crate::lab::{self, Lab, Start};

const NOTES: usize = 12;

/// How long the model takes.
const LATENCY: Duration = Duration::from_millis(40);

/// An answer that came so long before a kill is on the disk, unless that is slow.
const KEPT: Duration = Duration::from_millis(60);

pub(crate) fn run(asked: &Asked) -> Result<()> {
    let runs = asked.number("--runs", 100)? as usize;
    let (lab, mut rng) = (Lab::new(NOTES)?, Rng::new(asked.seed));
    lab.model.latency(LATENCY);
    let home = lab.path("home");
    let (mut edits, mut in_flight, mut early) = (0, 0, 0);
    for run in 0..runs {
        let mut daemon = lab.start(&home)?;
        let ends = Instant::now() + Duration::from_millis(rng.between(5, 900) as u64);
        while Instant::now() + KEPT < ends {
            edits += 1;
            lab.save(rng.below(NOTES), edits)?;
            std::thread::sleep(Duration::from_millis(rng.between(0, 60) as u64));
        }
        let kept = lab.model.answered() as usize;
        std::thread::sleep(ends.saturating_duration_since(Instant::now()));
        if let Some(code) = daemon.exited()? {
            bail!("run {run}: it ended by itself with {code}: {}", std::fs::read_to_string(home.join("log"))?);
        }
        early += usize::from(Client::connect(daemon.socket()).is_err());
        daemon.kill()?;
        in_flight += lab.model.calls() - kept;
        eprintln!("kill {}: {edits} edits, {} calls", run + 1, lab.model.calls());
    }
    lab.model.latency(Duration::ZERO);
    let mut daemon = lab.start(&home)?;
    let Start::Serves(mut client, status) = lab::await_start(&mut daemon)? else {
        bail!("it does not serve after the last kill: {}", std::fs::read_to_string(home.join("log"))?);
    };
    let contexts = lab::contexts(&mut client)?;
    lab::all_found(&mut client, NOTES)?;
    let mut questions: HashMap<(String, Vec<u32>), usize> = HashMap::new();
    for question in lab.model.asked() {
        *questions.entry((question.document, question.wanted)).or_default() += 1;
    }
    let twice: usize = questions.values().map(|times| times - 1).sum();
    let today = client.call("cost", &json!({}))?["today"].clone();
    let calls = lab.model.calls();
    println!("seed {}, {runs} kills, {early} of them before the daemon served\n\n| what | |\n|---|---|", asked.seed);
    println!("| edits, calls of the model | {edits}, {calls} |");
    println!("| contexts of {NOTES} notes with 3 chunks each | {contexts} |");
    println!("| questions asked again | {twice} |");
    println!("| calls that no kept answer can have come of when the daemon was killed | {in_flight} |");
    println!("| calls in the ledger; not settled | {}; {} |", today["calls"], today["unsettled_calls"]);
    println!("| problems | {} |", status["problems"]);
    if contexts != 3 * NOTES as u64 {
        bail!("{contexts} contexts, not {}", 3 * NOTES);
    }
    if twice > in_flight {
        bail!("{twice} questions were asked again, and {in_flight} were in flight");
    }
    if today["calls"].as_u64() < Some(calls as u64) {
        bail!("the ledger has {} calls of {calls}", today["calls"]);
    }
    Ok(())
}
