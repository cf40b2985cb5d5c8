use std::time::Duration;

use super::*;
use crate::testing::{Bench, path};

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
