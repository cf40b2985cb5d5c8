//! What it costs to plan the publication of a vault: no server, no notes, only their paths and states.

use std::collections::BTreeMap;
use std::time::Instant;

use anyhow::Result;
use team::{Effect, Event, Publisher};

use super::Arguments;

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let most = arguments.number("--notes", 200_000)?;
    println!("| notes | revisions | seconds to plan all of them |\n|---|---|---|");
    for notes in [most / 8, most / 4, most / 2, most] {
        let wanted: BTreeMap<String, String> = (0..notes)
            .map(|note| (format!("references/papers/Some title of a note {note}.md"), format!("{note:032x}")))
            .collect();
        let began = Instant::now();
        let revisions = publish(&wanted);
        println!("| {notes} | {revisions} | {:.2} |", began.elapsed().as_secs_f64());
    }
    Ok(())
}

/// Publishes these notes into a collection that takes everything at once; gives the number of revisions.
fn publish(wanted: &BTreeMap<String, String>) -> u64 {
    let mut plan = Publisher::default();
    plan.on(Event::Wanted(wanted.clone()));
    let (mut effect, mut revisions) = (Effect::Claim, 0);
    loop {
        let event = match effect {
            Effect::Claim => Event::Claimed(0),
            Effect::Clean(_) => Event::Cleaned,
            Effect::List => Event::Listed(Vec::new()),
            Effect::Write(revision, paths) => {
                revisions = revision;
                let state = |path: String| Some((path.clone(), wanted.get(&path)?.clone()));
                Event::Written(paths.into_iter().filter_map(state).collect())
            }
            Effect::Raise(_) => Event::Raised,
            Effect::Sweep(_) => Event::Swept,
            Effect::Rest | Effect::Wait(..) => return revisions,
        };
        match plan.on(event) {
            Some(next) => effect = next,
            None => return revisions,
        }
    }
}
