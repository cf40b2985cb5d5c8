use std::collections::BTreeSet;
use std::time::Duration;

use super::super::scan::{Extent, Look};
use super::*;
use crate::host::power::Brake;
use crate::testing::{Bench, path, report};
use protocol::jobs::{JobKind, JobState};

#[test]
fn a_store_that_failed_is_opened_anew_though_the_battery_keeps_work_waiting() {
    let supplies = tempfile::tempdir().unwrap();
    let battery = supplies.path().join("BAT0");
    std::fs::create_dir(&battery).unwrap();
    for (name, text) in [("type", "Battery"), ("status", "Discharging"), ("capacity", "40")] {
        std::fs::write(battery.join(name), text).unwrap();
    }
    let mut bench = Bench::new(|settings| settings.host.battery = Some(supplies.path().to_owned()));
    bench.shared.throttle.look(true);
    let tasks = (0..20).map(|n| Task::again(path(&format!("{n}.md")))).collect();
    bench.indexer.notes.work.enqueue(tasks, true);
    // The first look is over.
    bench.indexer.notes.freshness.ended();
    bench.indexer.notes.fail(&EngineError::Model("no space left".to_owned()));
    assert!(!bench.indexer.notes.must_reopen(), "not at once");
    bench.pass(TRY_AGAIN);
    assert!(bench.indexer.notes.next_wake().is_some_and(|at| at <= machine::now()));
    assert!(bench.indexer.notes.must_reopen());
    // What goes on is not interrupted.
    std::fs::write(battery.join("capacity"), "80").unwrap();
    bench.pass(Duration::from_mins(2));
    bench.shared.throttle.look(true);
    assert!(!bench.indexer.notes.must_reopen());
}

#[test]
fn a_job_counts_notes_that_are_gone_and_fails_while_nothing_can_be_written() {
    let mut bench = Bench::new(|_| {});
    let names = ["a.md", "b.md", "c.md"];
    names.iter().for_each(|name| bench.write(name, &report(2)));
    bench.indexer.notes.decide_here(names.map(|name| Task::again(path(name))).into(), machine::now());
    let synced = |bench: &mut Bench| {
        let notes = &mut bench.indexer.notes;
        let job = notes.actor.begin_job(JobKind::Sync, None);
        let found = notes.watch.disk.scan(&Look {
            root: &notes.actor.place.vault.path,
            policy: &notes.watch.policy,
            known: notes.commit.known(),
            extent: &Extent::Everything,
            max_bytes: u64::MAX,
        });
        notes.scanned(&Extent::Everything, vec![job], found);
        notes.finish_batches();
        bench.shared.jobs.get(job).unwrap()
    };
    bench.remove("a.md");
    let job = synced(&mut bench);
    assert_eq!((job.state, job.done, job.total, job.changed), (JobState::Done, 3, Some(3), 1));
    bench.indexer.notes.fail(&EngineError::Model("no space left".to_owned()));
    let job = synced(&mut bench);
    assert_eq!(job.state, JobState::Failed);
    assert!(job.problem.is_some_and(|why| why.contains("cannot be written")));
}

#[test]
fn a_note_that_is_written_where_another_moved_away_is_not_taken_for_it() {
    let mut bench = Bench::new(|_| {});
    let [old, new] = ["old.md", "new.md"].map(path);
    bench.write("old.md", &report(2));
    bench.indexer.notes.decide_here(vec![Task::again(old.clone())], machine::now());
    bench.write("new.md", &report(2));
    bench.remove("old.md");
    let task = Task { moved_from: Some(old.clone()), ..Task::again(new.clone()) };
    bench.indexer.notes.work.enqueue(vec![task], true);
    let (ticket, task) = bench.indexer.notes.work.next(Brake::Off).unwrap();
    let outcome = bench.look(&task);
    bench.write("old.md", &report(3));
    let notes = &mut bench.indexer.notes;
    let extent = Extent::Some { paths: BTreeSet::from([old.clone()]), folders: BTreeSet::new() };
    let found = notes.watch.disk.scan(&Look {
        root: &notes.actor.place.vault.path,
        policy: &notes.watch.policy,
        known: notes.commit.known(),
        extent: &extent,
        max_bytes: u64::MAX,
    });
    notes.scanned(&extent, Vec::new(), found);
    notes.workers.landed.push((new, ticket, outcome));
    notes.land();
    assert!(notes.commit.known().at(&old).is_some() && notes.commit.pipeline.store.note(&old).unwrap().is_some());
    assert!(notes.freshness.has_hints(), "the one that moved is looked at anew");
}
