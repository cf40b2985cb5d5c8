//! Rebuilds within a budget of their own.

use super::*;

/// Rebuilds eight notes within a budget in millionths of a dollar; how that ended, and what it took.
fn rebuilt_within(budget: u64) -> (JobState, u64) {
    let mut bench = Bench::new(|settings| settings.budget.rebuild = budget);
    let names: Vec<String> = (0..8).map(|n| format!("n{n}.md")).collect();
    for name in &names {
        let record = bench.save(name, &report(3).replace("Yearly report", name).replace("lawyers", name));
        pending(&mut bench).loaded(&record, machine::now());
    }
    bench.answer((0..100).map(|_| (SECOND, Say::Well)));
    let number = begin_rebuild(&mut bench, &names[0], false);
    let (id, began) = pending(&mut bench).run.as_ref().map(|run| (run.id, run.began)).unwrap();
    for name in &names[1..] {
        let record = bench.decide(&Task::rebuild(path(name), began));
        pending(&mut bench).written(&record, machine::now());
    }
    for _ in 0..200 {
        poll_run(&mut bench, IDLE);
        ask(&mut bench, IDLE);
        bench.drive(SECOND);
        for (path, event) in bench.events() {
            buy(&mut bench, |buyer, at| buyer.take(at, path.clone(), event));
        }
        for path in pending(&mut bench).take_arrived() {
            let decided = bench.decide(&Task::again(path));
            pending(&mut bench).written(&decided, machine::now());
        }
    }
    (job_of(&bench, number).state, bench.shared.spender.ledger().spent_by_rebuild("v", id).micro_dollars)
}

#[test]
fn a_rebuild_takes_what_it_takes_and_not_what_its_calls_reserve_at_once() {
    let (state, spent) = rebuilt_within(u64::MAX);
    assert_eq!(state, JobState::Done);
    // One call reserves less than 300, and ten are made at once.
    assert_eq!(rebuilt_within(spent + 300), (JobState::Done, spent));
    let (state, within) = rebuilt_within(spent);
    assert!(state == JobState::Failed && within + 300 > spent && within < spent, "{within} of {spent}");
}

#[test]
fn a_rebuild_goes_on_as_long_as_calls_under_way_may_give_back_what_they_reserved() {
    let refused = || Err(Interrupted::Budget(OverBudget::Rebuild { limit: 5, spent: 5, needed: 1 }));
    let over = |bench: &mut Bench| pending(bench).run.as_ref().and_then(|run| run.over.clone());
    let mut bench = bench();
    bench.save("a.md", &report(2));
    save(&mut bench, "b.md", 2);
    let number = begin_rebuild(&mut bench, "a.md", false);
    let began = pending(&mut bench).run.as_ref().unwrap().began;
    let other = bench.decide(&Task::rebuild(path("b.md"), began));
    pending(&mut bench).written(&other, machine::now());
    poll_run(&mut bench, IDLE);
    assert_eq!(ask(&mut bench, IDLE), 2);
    end(&mut bench, "b.md", refused());
    bench.pass(2 * SECOND);
    assert_eq!((over(&mut bench), ask(&mut bench, IDLE)), (None, 1), "the other is waited for");
    save(&mut bench, "c.md", 3);
    assert_eq!(ask(&mut bench, IDLE), 2, "what is saved is not");
    end(&mut bench, "c.md", Ok(()));
    answer(&mut bench, "a.md");
    end(&mut bench, "a.md", Ok(()));
    bench.drive(60 * SECOND);
    assert_eq!(ask(&mut bench, IDLE), 1, "there may be room now");
    end(&mut bench, "b.md", refused());
    assert!(over(&mut bench).is_some(), "nothing is under way that could give anything back");
    poll_run(&mut bench, IDLE);
    assert_eq!(job_of(&bench, number).state, JobState::Failed);
}

#[test]
fn a_refusal_that_is_heard_of_after_the_answer_that_made_room_does_not_end_a_rebuild() {
    let refused = || Err(Interrupted::Budget(OverBudget::Rebuild { limit: 5, spent: 5, needed: 1 }));
    let over = |bench: &mut Bench| pending(bench).run.as_ref().and_then(|run| run.over.clone());
    let mut bench = bench();
    bench.save("a.md", &report(2));
    save(&mut bench, "b.md", 2);
    begin_rebuild(&mut bench, "a.md", false);
    let began = pending(&mut bench).run.as_ref().unwrap().began;
    let other = bench.decide(&Task::rebuild(path("b.md"), began));
    pending(&mut bench).written(&other, machine::now());
    poll_run(&mut bench, IDLE);
    assert_eq!(ask(&mut bench, IDLE), 2);
    answer(&mut bench, "a.md");
    end(&mut bench, "a.md", Ok(()));
    end(&mut bench, "b.md", refused());
    assert_eq!(over(&mut bench), None);
    bench.drive(60 * SECOND);
    assert_eq!(ask(&mut bench, IDLE), 1);
    end(&mut bench, "b.md", refused());
    assert!(over(&mut bench).is_some());
}

#[test]
fn a_day_that_is_used_up_holds_saves_and_no_rebuild() {
    let mut bench = bench();
    save_paid(&mut bench, "a.md");
    save(&mut bench, "b.md", 3);
    assert_eq!(ask(&mut bench, IDLE), 1);
    end(&mut bench, "b.md", Err(Interrupted::Budget(over_day())));
    save(&mut bench, "c.md", 4);
    assert_eq!(ask(&mut bench, IDLE), 0);
    begin_rebuild(&mut bench, "a.md", false);
    poll_run(&mut bench, IDLE);
    assert_eq!(pending(&mut bench).next_question(false, true), Some(machine::now()));
    assert_eq!(ask(&mut bench, IDLE), 1, "the rebuild has its own budget");
    assert_eq!(pending(&mut bench).next_question(false, true), Some(machine::now() + BUDGET_AGAIN));
    bench.pass(BUDGET_AGAIN);
    assert_eq!(ask(&mut bench, IDLE), 2, "a save too");
}
