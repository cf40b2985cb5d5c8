use super::*;
use protocol::jobs::{ContextProgress, Scope, SkippedFile};

/// A reindexing of ten notes that has run for eight seconds.
fn job(state: JobState, done: u64) -> Job {
    let failed = vec![SkippedFile { path: "Sealed.md".into(), why: "the model declined".into() }];
    let begun = Job { job: 7, state, done, failed, started_at: 1_792_000_000, took_ms: 8_000, ..planned() };
    assert_eq!(begun.total, Some(10));
    begun
}

fn planned() -> Job {
    Job::dry_run(JobKind::Rebuild, Scope::default(), Some(10), None)
}

#[test]
fn progress_says_when_it_began_what_failed_and_how_long_it_will_take() {
    let told = of_job(&job(JobState::Running, 4));
    assert_eq!((told.status.as_str(), told.unit.as_str()), ("in_progress", "notes"));
    assert_eq!((told.processed, told.total_entities, told.failed), (4, 10, 1));
    assert_eq!((told.percentage, told.estimated_remaining_seconds), (40.0, Some(12.0)));
    assert_eq!(told.failed_entities, ["Sealed.md"]);
    assert_eq!(told.start_time.as_deref(), Some("2026-10-14T17:46:40Z"));
    let completion: jiff::Timestamp = told.estimated_completion.unwrap().parse().unwrap();
    let left = completion.as_second() - jiff::Timestamp::now().as_second();
    assert!((10..=13).contains(&left), "{left}");
    // Before the first note nothing can be told, and at the end nothing is left.
    assert_eq!(of_job(&job(JobState::Running, 0)).estimated_remaining_seconds, None);
    let ended = of_job(&job(JobState::Done, 10));
    assert_eq!((ended.status.as_str(), ended.percentage), ("completed", 100.0));
    assert_eq!((ended.estimated_remaining_seconds, ended.estimated_completion), (None, None));
    assert_eq!(ended.start_time.as_deref(), Some("2026-10-14T17:46:40Z"), "also when it is over");
}

#[test]
fn contexts_of_a_model_are_counted_by_chunks() {
    let contexts = ContextProgress {
        total: 40,
        processed: 10,
        failed: 2,
        percentage: 25.0,
        elapsed_s: 8.0,
        remaining_s: Some(24.0),
        micro_dollars: 1_500,
    };
    let told = of_job(&Job { contexts: Some(contexts), ..job(JobState::Running, 4) });
    assert_eq!((told.unit.as_str(), told.processed, told.total_entities, told.failed), ("chunks", 10, 40, 2));
    assert_eq!((told.estimated_remaining_seconds, told.micro_dollars), (Some(24.0), Some(1_500)));
}

#[test]
fn a_reindexing_says_what_the_specification_wants_at_every_stage() {
    let plan = Plan { total: 10, estimate: None };
    let idle = plan.told("needs_confirmation", String::new());
    assert_eq!((idle.success, idle.progress.status.as_str(), idle.duration_seconds), (false, "not_started", 0.0));
    let begun = plan.of_job(&of_job(&job(JobState::Running, 4)), "started", String::new());
    assert_eq!((begun.success, begun.job, begun.processed, begun.failed), (true, Some(7), 4, 1));
    assert_eq!((begun.progress.status.as_str(), begun.progress.percentage), ("in_progress", 40.0));
    let ended = plan.of_job(&of_job(&job(JobState::Done, 10)), "completed", String::new());
    assert_eq!((ended.success, ended.total_entities, ended.duration_seconds), (true, 10, 8.0));
    assert_eq!((ended.progress.percentage, ended.estimated_cost), (100.0, Some(0.0)));
    let current = plan.nothing_to_do(String::new());
    assert_eq!((current.success, current.progress.percentage), (true, 100.0));
    // A price that is not known is not said to be nothing.
    let unknown = Cost { notes: 1, chunks: 2, calls: 1, tokens: 900, micro_dollars: None, minutes: 0.1 };
    let unpriced = Plan { total: 1, estimate: Some(unknown) };
    assert!(unpriced.costs() && unpriced.told("started", String::new()).estimated_cost.is_none());
}

#[test]
fn what_is_the_users_to_set_is_refused_with_the_key() {
    for (name, key) in [("batch_size", "context.form"), ("max_workers", "context.concurrency")] {
        let given = Map::from_iter([(name.to_owned(), 10.into()), ("force".to_owned(), true.into())]);
        let why = without_settings(given).unwrap_err().message;
        assert!(why.contains(name) && why.contains(key) && why.contains("leave it out"), "{why}");
    }
    let given = Map::from_iter([("force".to_owned(), true.into())]);
    assert_eq!(without_settings(given.clone()).unwrap(), given);
}

#[test]
fn a_job_of_the_same_number_after_a_restart_is_another() {
    let began = job(JobState::Running, 0);
    assert!(is_same(&job(JobState::Done, 10), &began));
    assert!(!is_same(&Job { started_at: began.started_at + 60, ..job(JobState::Done, 10) }, &began));
}
