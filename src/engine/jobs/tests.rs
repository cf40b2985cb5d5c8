use std::sync::Arc;

use super::*;

fn begin(jobs: &Jobs, vaults: &[u64]) -> u64 {
    jobs.begin(JobKind::Sync, Scope::default(), vaults.iter().map(|id| (*id, format!("v{id}"))))
}

#[test]
fn waiting_ends_with_the_job() {
    let jobs = Arc::new(Jobs::default());
    let number = begin(&jobs, &[1]);
    let other = jobs.clone();
    let waiter = std::thread::spawn(move || other.wait(number, Duration::from_secs(20)));
    jobs.cancel(number).unwrap();
    assert!(jobs.is_cancelled(number));
    let _ = jobs.end_step(number, 1, Ended::Done, 3);
    assert_eq!(waiter.join().unwrap().unwrap().state, JobState::Done);
    assert_eq!(jobs.cancel(number).unwrap_err().to_string(), "job 1 has ended already: it is done");
    assert!(matches!(jobs.get(99), Err(CallError::NotFound { .. })));
}

#[test]
fn a_job_of_two_vaults_ends_with_the_second_and_keeps_the_worst_result() {
    let jobs = Jobs::default();
    let number = begin(&jobs, &[1, 2]);
    let _ = jobs.end_part(number, 1, Ended::Failed, Some("it is gone".to_owned()));
    // What the other vault does next is its own part's business.
    let running = jobs.change(number, 2, |part| (part.total, part.phase) = (Some(3), "indexing".to_owned())).unwrap();
    assert_eq!((running.state, running.phase.as_str()), (JobState::Running, "indexing"));
    jobs.change(number, 2, |part| (part.done, part.changed) = (3, 2));
    let ended = jobs.end_step(number, 2, Ended::Done, 5).unwrap();
    assert_eq!((ended.state, ended.seq, ended.changed), (JobState::Failed, 5, 2));
    assert_eq!((ended.phase.as_str(), ended.problem.as_deref()), ("failed", Some("it is gone")));
    assert_eq!(ended.parts.iter().map(|part| part.state).collect::<Vec<_>>(), [JobState::Failed, JobState::Done]);
}

#[test]
fn done_and_total_are_sums_and_unknown_until_every_vault_knows() {
    let jobs = Jobs::default();
    let number = begin(&jobs, &[1, 2]);
    let one = jobs.change(number, 1, |part| (part.done, part.total) = (10, Some(60))).unwrap();
    assert_eq!((one.done, one.total), (10, None));
    let two = jobs.change(number, 2, |part| (part.done, part.total) = (5, Some(40))).unwrap();
    assert_eq!((two.done, two.total), (15, Some(100)));
    jobs.change(number, 1, |part| part.done = 60);
    let _ = jobs.end_step(number, 1, Ended::Done, 1);
    jobs.change(number, 2, |part| part.done = 40);
    let ended = jobs.end_step(number, 2, Ended::Done, 1).unwrap();
    assert_eq!((ended.state, ended.done, ended.total), (JobState::Done, 100, Some(100)));
}

#[test]
fn a_part_ends_with_its_last_step_and_says_what_was_bought() {
    let jobs = Jobs::default();
    let number = begin(&jobs, &[1]);
    jobs.open_step(number, 1);
    assert_eq!(jobs.end_step(number, 1, Ended::Done, 1).unwrap().state, JobState::Running);
    jobs.bought(1, 2);
    jobs.bought(7, 9);
    let ended = jobs.end_step(number, 1, Ended::Done, 2).unwrap();
    assert_eq!((ended.state, ended.bought), (JobState::Done, 2));
    jobs.bought(1, 1);
    assert_eq!(jobs.get(number).unwrap().bought, 2, "what is bought later is no matter of this job");
}

#[test]
fn what_a_dead_indexer_was_to_do_fails_and_the_rest_goes_on() {
    let jobs = Jobs::default();
    let (both, other) = (begin(&jobs, &[1, 2]), begin(&jobs, &[2]));
    assert_eq!(jobs.end_all_of(1, Ended::Failed, "it died").len(), 1);
    let _ = jobs.end_step(both, 2, Ended::Done, 1);
    assert_eq!(jobs.get(both).unwrap().state, JobState::Failed);
    assert_eq!(jobs.get(other).unwrap().state, JobState::Running);
}

#[test]
fn an_ended_job_does_not_change_any_more_and_old_ones_are_forgotten() {
    let jobs = Jobs::default();
    let first = begin(&jobs, &[1]);
    let _ = jobs.end_step(first, 1, Ended::Done, 0);
    assert!(jobs.change(first, 1, |part| part.done = 7).is_none());
    assert_eq!(jobs.get(first).unwrap().done, 0);
    for _ in 0..2 * REMEMBERED {
        let number = begin(&jobs, &[1]);
        let _ = jobs.end_step(number, 1, Ended::Done, 0);
    }
    assert_eq!(jobs.all().len(), REMEMBERED);
    assert!(jobs.get(first).is_err());
}
