use std::time::{Duration, Instant};

use super::*;
use crate::consent::Terms;
use context::settings::Consent;

fn around(budget: &BudgetConfig, now: Instant) -> Around<'_> {
    Around { now, looked: true, at_work: false, cancelled: false, budget }
}

/// What is to be done, by name.
fn names(effects: &[Effect]) -> Vec<&'static str> {
    let name = |effect: &Effect| match effect {
        Effect::Begin => "begin",
        Effect::Open(_) => "open",
        Effect::DryRun(..) => "dry run",
        Effect::Estimated(_) => "estimated",
        Effect::Progress(..) => "progress",
        Effect::ChangeOver(_) => "change over",
        Effect::Amend(_) => "amend",
        Effect::GiveUp(_) => "give up",
        Effect::Over => "over",
    };
    effects.iter().map(name).collect()
}

#[test]
fn an_embedder_is_opened_once_the_disk_was_looked_at_and_nothing_is_decided_about() {
    let (budget, now) = (BudgetConfig::default(), Instant::now());
    let mut migration = EmbedderMigration::new(EmbedConfig::default(), ConsentState::default());
    let now = now + Duration::from_secs(1);
    assert!(migration.poll(&Around { looked: false, ..around(&budget, now) }).is_empty());
    assert!(migration.poll(&Around { at_work: true, ..around(&budget, now) }).is_empty());
    assert_eq!(names(&migration.poll(&around(&budget, now))), ["begin", "open"]);
    assert!(migration.poll(&around(&budget, now)).is_empty(), "it is being opened");
    assert_eq!(migration.problem(true), None);
}

#[test]
fn one_that_cannot_be_opened_is_tried_again_later_under_the_same_job() {
    let (budget, now) = (BudgetConfig::default(), Instant::now() + Duration::from_secs(1));
    let mut migration = EmbedderMigration::new(EmbedConfig::default(), ConsentState::default());
    assert_eq!(names(&migration.poll(&around(&budget, now))), ["begin", "open"]);
    migration.job = 7;
    migration.opened(migration.ticket + 1, Err("of another".to_owned()), now);
    assert_eq!(migration.problem(true), None, "an event of another change says nothing of this one");
    migration.opened(migration.ticket, Err("no route to host".to_owned()), now);
    assert!(migration.problem(true).is_some_and(|why| why.contains("no route to host")));
    assert!(migration.problem(true).is_some_and(|why| why.contains("another goes on serving")));
    assert!(migration.problem(false).is_some_and(|why| !why.contains("serving")), "the present one is gone, too");
    assert_eq!(migration.next_wake(true), Some(now + ASK_AGAIN));
    assert!(migration.poll(&around(&budget, now + ASK_AGAIN / 2)).is_empty());
    assert_eq!(names(&migration.poll(&around(&budget, now + ASK_AGAIN))), ["open"]);
    assert!(migration.problem(true).is_some_and(|why| why.contains("no route to host")), "until it has been opened");
}

#[test]
fn records_are_brought_up_to_date_a_part_at_a_time_after_the_change() {
    let (budget, now) = (BudgetConfig::default(), Instant::now());
    let mut migration = EmbedderMigration::new(EmbedConfig::default(), ConsentState::default());
    let path = |n: usize| VaultPath::parse(&format!("{n}.md")).unwrap();
    migration.changed_over((0..AMENDED + 3).map(|n| (path(n), Vec::new())).collect());
    let mut amended = Vec::new();
    loop {
        match migration.poll(&around(&budget, now)).pop() {
            Some(Effect::Amend(records)) => amended.push(records.len()),
            Some(Effect::Over) => break,
            _ => panic!("a change that is over has nothing else to do"),
        }
    }
    assert_eq!(amended, [AMENDED, 3]);
}

#[test]
fn what_could_not_be_written_is_begun_anew_at_once_if_the_user_says_so() {
    let (budget, now) = (BudgetConfig::default(), Instant::now());
    let mut migration = EmbedderMigration::new(EmbedConfig::default(), ConsentState::default());
    migration.changed_over(Vec::new());
    migration.failed("no space left".to_owned(), now);
    assert!(migration.problem(true).is_some_and(|why| why.contains("no space left")));
    assert!(migration.poll(&around(&budget, now)).is_empty());
    migration.resume();
    assert_eq!(names(&migration.poll(&around(&budget, machine::now()))), ["begin", "open"]);
}

#[test]
fn what_waits_for_a_yes_does_nothing_until_it_is_said_here_or_of_another_generation() {
    let (budget, dir) = (BudgetConfig::default(), tempfile::tempdir().unwrap());
    let terms = || Terms::of(Consent::Ask, ("voyage", "m"), Some("a.example".to_owned()), false);
    let waiting = || {
        let migration = EmbedderMigration::new(EmbedConfig::default(), ConsentState::read(terms(), dir.path()));
        EmbedderMigration { stage: Stage::Waiting(Estimate { notes: 3, ..Estimate::default() }), ..migration }
    };
    let mut migration = waiting();
    migration.look_for_yes(dir.path());
    assert!(migration.poll(&around(&budget, machine::now())).is_empty() && !migration.is_at_work());
    assert_eq!((migration.next_wake(true), migration.problem(true)), (None, None));
    let offer = migration.offer("notes").unwrap();
    assert_eq!((offer.agreed, offer.estimate.notes, offer.leaves_to.as_deref()), (false, 3, Some("a.example")));

    let mut beside = waiting();
    assert!(!migration.set_agreed(dir.path(), true).unwrap());
    assert_eq!(names(&migration.poll(&around(&budget, machine::now()))), ["begin", "open"]);
    beside.look_for_yes(dir.path());
    assert_eq!(names(&beside.poll(&around(&budget, machine::now()))), ["begin", "open"]);

    // Taken back while it is being opened: its job is over, and what was opened is not used.
    migration.job = 7;
    let ticket = migration.ticket;
    assert!(migration.set_agreed(dir.path(), false).unwrap());
    migration.opened(ticket, Err("late".to_owned()), machine::now());
    assert_eq!(migration.problem(true), None);
}
