use serde_json::json;

use super::*;

#[test]
fn kinds_and_states_are_the_names_that_they_show() {
    let kinds = [JobKind::Index, JobKind::Sync, JobKind::Rebuild, JobKind::Generation, JobKind::Embed];
    assert_eq!(json!(kinds), json!(["index", "sync", "rebuild", "generation", "embed"]));
    assert_eq!(json!(kinds), json!(kinds.map(|kind| kind.to_string())));
    let states = [JobState::Running, JobState::Done, JobState::Cancelled, JobState::Failed, JobState::DryRun];
    assert_eq!(json!(states), json!(["running", "done", "cancelled", "failed", "dry_run"]));
    assert_eq!(json!(states), json!(states.map(|state| state.to_string())));
}

#[test]
fn a_job_of_a_newer_daemon_is_read() {
    let mut told = json!(Job::dry_run(JobKind::Sync, Scope::default(), Some(3), None));
    (told["kind"], told["state"]) = ("export".into(), "waiting".into());
    let job: Job = serde_json::from_value(told).unwrap();
    assert_eq!(
        (job.kind, job.state, job.total, job.is_running()),
        (JobKind::Unknown, JobState::Unknown, Some(3), false)
    );
}
