use super::*;
use crate::consent::Terms;
use crate::testing::Bench;
use context::settings::Consent;
use protocol::jobs::JobState;

fn bench() -> Bench {
    Bench::new(|_| {})
}

fn migration(bench: &Bench) -> EmbedderMigration {
    EmbedderMigration::new(&bench.indexer.actor, EmbedConfig::default(), ConsentState::default())
}

/// Lets the migration go on, with a disk that was looked at or not, and notes that are being decided about or not.
fn poll_while(bench: &Bench, migration: &mut EmbedderMigration, (looked, at_work): (bool, bool)) -> Option<Effect> {
    let (pipeline, disk) = (bench.pipeline(), bench.indexer.notes.watch.disk.clone());
    migration.poll(Around { pipeline: &pipeline, disk: &disk, looked, at_work })
}

/// Lets the migration go on; whether it opens its embedder, as part of a job.
fn opens(bench: &Bench, migration: &mut EmbedderMigration) -> bool {
    let was_opening = matches!(migration.stage, Stage::Opening { .. });
    assert!(poll_while(bench, migration, (true, false)).is_none());
    !was_opening && matches!(migration.stage, Stage::Opening { .. }) && migration.job > 0
}

#[test]
fn an_embedder_is_opened_once_the_disk_was_looked_at_and_nothing_is_decided_about() {
    let bench = bench();
    let mut migration = migration(&bench);
    for state in [(false, false), (true, true)] {
        assert!(poll_while(&bench, &mut migration, state).is_none());
        assert!(matches!(migration.stage, Stage::Closed { .. }));
    }
    assert!(opens(&bench, &mut migration));
    assert!(!opens(&bench, &mut migration), "it is being opened");
    assert_eq!(migration.problem(true), None);
}

#[test]
fn a_job_that_is_cancelled_ends_though_the_embedder_cannot_be_opened() {
    for is_open in [true, false] {
        let bench = bench();
        let mut migration = migration(&bench);
        assert!(opens(&bench, &mut migration));
        let job = migration.job;
        if is_open {
            migration.failed("no route to host".to_owned());
        }
        bench.shared.jobs.cancel(job).unwrap();
        assert!(!opens(&bench, &mut migration));
        assert_eq!(bench.shared.jobs.get(job).unwrap().state, JobState::Cancelled);
        assert!(migration.problem(true).is_some_and(|why| why.contains("cancelled")));
    }
}

#[test]
fn one_that_cannot_be_opened_is_tried_again_later_under_the_same_job() {
    let bench = bench();
    let mut migration = migration(&bench);
    assert!(opens(&bench, &mut migration));
    let job = migration.job;
    let fails = |migration: &mut EmbedderMigration, ticket, why: &str| {
        migration.opened(ticket, Err(EmbedError::Local(why.to_owned())), &bench.pipeline(), [].iter());
    };
    let ticket = migration.ticket;
    fails(&mut migration, ticket + 1, "of another");
    assert_eq!(migration.problem(true), None, "an event of another change says nothing of this one");
    fails(&mut migration, ticket, "no route to host");
    assert!(migration.problem(true).is_some_and(|why| why.contains("no route to host")));
    assert!(migration.problem(true).is_some_and(|why| why.contains("another goes on serving")));
    assert!(migration.problem(false).is_some_and(|why| !why.contains("serving")), "the present one is gone, too");
    assert_eq!(migration.next_wake(true), Some(machine::now() + ASK_AGAIN));
    bench.pass(ASK_AGAIN / 2);
    assert!(!opens(&bench, &mut migration));
    bench.pass(ASK_AGAIN / 2);
    assert!(opens(&bench, &mut migration));
    assert_eq!(migration.job, job);
    assert!(migration.problem(true).is_some_and(|why| why.contains("no route to host")), "until it has been opened");
}

#[test]
fn records_are_brought_up_to_date_a_part_at_a_time_after_the_change() {
    let bench = bench();
    let mut migration = migration(&bench);
    let path = |n: usize| VaultPath::parse(&format!("{n}.md")).unwrap();
    migration.changed_over((0..AMENDED + 3).map(|n| (path(n), Vec::new())).collect());
    let mut amended = Vec::new();
    loop {
        match poll_while(&bench, &mut migration, (true, false)) {
            Some(Effect::Amend(records)) => amended.push(records.len()),
            Some(Effect::Over) => break,
            _ => panic!("a change that is over has nothing else to do"),
        }
    }
    assert_eq!(amended, [AMENDED, 3]);
}

#[test]
fn what_could_not_be_written_is_begun_anew_at_once_if_the_user_says_so() {
    let bench = bench();
    let mut migration = migration(&bench);
    migration.changed_over(Vec::new());
    migration.failed("no space left".to_owned());
    assert!(migration.problem(true).is_some_and(|why| why.contains("no space left")));
    assert!(!opens(&bench, &mut migration));
    migration.resume();
    assert!(opens(&bench, &mut migration));
}

#[test]
fn what_waits_for_a_yes_does_nothing_until_it_is_said_here_or_of_another_generation() {
    let bench = bench();
    let dir = &bench.indexer.actor.place.vault_dir;
    let terms = || Terms::of(Consent::Ask, ("voyage", "m"), Some("a.example".to_owned()), false);
    let waiting = || {
        let consent = ConsentState::read(terms(), dir);
        let migration = EmbedderMigration::new(&bench.indexer.actor, EmbedConfig::default(), consent);
        EmbedderMigration { stage: Stage::Waiting(Estimate { notes: 3, ..Estimate::default() }), ..migration }
    };
    // Nobody knows yet what it takes, so there is nothing to agree to.
    let mut unoffered = EmbedderMigration { stage: Stage::Opening { why: None }, ..waiting() };
    unoffered.set_agreed(true).unwrap();
    assert!(unoffered.is_reckoning());

    let mut migration = waiting();
    assert!(!migration.is_reckoning());
    migration.look_for_yes();
    assert!(!opens(&bench, &mut migration) && !migration.is_at_work());
    assert_eq!((migration.next_wake(true), migration.problem(true)), (None, None));
    let offer = migration.offer().unwrap();
    assert_eq!((offer.agreed, offer.estimate.notes, offer.leaves_to.as_deref()), (false, 3, Some("a.example")));

    let mut beside = waiting();
    migration.set_agreed(true).unwrap();
    assert!(opens(&bench, &mut migration));
    beside.look_for_yes();
    assert!(opens(&bench, &mut beside));

    // Taken back while it is being opened: its job is over, and what was opened is not used.
    let (job, ticket) = (migration.job, migration.ticket);
    migration.set_agreed(false).unwrap();
    assert_eq!((bench.shared.jobs.get(job).unwrap().state, migration.job), (JobState::Cancelled, 0));
    migration.opened(ticket, Err(EmbedError::Local("late".to_owned())), &bench.pipeline(), [].iter());
    assert_eq!(migration.problem(true), None);
}
