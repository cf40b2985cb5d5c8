//! What was asked of a model when the daemon stops, or reads its configuration again: it is kept, and not bought twice.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::contexts::{ATLAS, SMALL_CHUNKS, wait_written};
use crate::model::Model;
use crate::small_disk::SmallDisk;
use crate::support::{Daemon, Place, eventually};

/// Long enough for a signal to come first, and well below what the daemon waits for.
const SLOW: Duration = Duration::from_secs(3);

fn configure(place: &Place, model: &Model, day: &str) {
    place.configure(&format!("{}{SMALL_CHUNKS}\n[budget]\nday = {day}\n", model.config("anthropic", "")));
}

fn start(place: &Place) -> Daemon {
    place.spawn_command(place.command().env("ANTHROPIC_API_KEY", "sk-test-key").arg("run"))
}

fn asked_slowly() -> (Model, Place, Daemon) {
    let model = Model::start();
    model.latency(SLOW);
    let place = Place::with(&[("Atlas rollout.md", ATLAS)]);
    configure(&place, &model, "1");
    let daemon = start(&place);
    eventually("the model is asked", || model.calls() == 1);
    (model, place, daemon)
}

#[test]
fn an_answer_that_is_on_its_way_when_the_daemon_stops_is_kept() {
    let (model, place, daemon) = asked_slowly();
    assert_eq!(daemon.stop(), Some(0));
    assert_eq!(model.answered(), 1, "it was waited for");
    let mut daemon = start(&place);
    wait_written(&mut daemon);
    assert_eq!(model.calls(), 1, "nothing is bought twice");
    assert_eq!(daemon.contextualized(), 3);
}

#[test]
fn an_answer_that_is_on_its_way_when_a_budget_is_changed_is_kept() {
    let (model, place, mut daemon) = asked_slowly();
    configure(&place, &model, "2");
    daemon.signal(rustix::process::Signal::HUP);
    wait_written(&mut daemon);
    assert_eq!(model.calls(), 1, "nothing is bought twice");
    assert_eq!(daemon.bought().calls, 1);
}

#[test]
#[cfg_attr(not(has_mount), ignore = "needs the right to mount")]
fn answers_that_come_while_the_disk_is_full_are_not_bought_again() {
    const NOTES: usize = 8;
    let model = Model::start();
    let may_answer = Arc::new(AtomicBool::new(false));
    model.captions({
        let may_answer = may_answer.clone();
        move |_, _| {
            eventually("the test lets it answer", || may_answer.load(Ordering::SeqCst));
            None
        }
    });
    let notes: Vec<(String, String)> =
        (0..NOTES).map(|n| (format!("{n}.md"), ATLAS.replace("Atlas", &format!("Atlas {n}")))).collect();
    let place = Place::with(&notes.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect::<Vec<_>>());
    configure(&place, &model, "1");
    let disk = SmallDisk::mount(&place.data(), "64m");
    let mut daemon = start(&place);
    // The first four calls are a new provider's; all others wait for their place, and have not been sent.
    eventually("the model is asked", || model.calls() == 4);
    disk.fill();
    may_answer.store(true, Ordering::SeqCst);
    daemon.wait_for("told of", |status| status.problems.concat().contains("make room on the disk"));
    disk.make_room();
    daemon.wait_for("well", |status| status.problems.is_empty());
    daemon.resume();
    wait_written(&mut daemon);
    assert_eq!(daemon.contextualized(), 3 * NOTES as u64);
    assert_eq!(model.calls(), NOTES, "what came while there was no room is kept, and not bought again");
    assert_eq!(daemon.bought().calls, NOTES as u64);
}
