use super::*;
use crate::host::power::Brake;
use crate::indexer::{Event, Indexer};
use crate::testing::{Bench, Say, key_of, path, report};
use crate::unkept::Unwritten;
use context::plan::Reason;
use context::prompt::Form;
use context::quality::Flaw;
use context::settings::Consent;
use protocol::jobs::{Job, JobState, Scope};
use provider::simulation::What;
use store::record::{ChunkRecord, NoteRecord};

mod batches;
mod budget;
mod consent;

const IDLE: Work = Work { deciding: false, landing: false, troubled: false };

const SECOND: Duration = Duration::from_secs(1);

fn bench() -> Bench {
    Bench::new(|_| {})
}

/// Lets the machine do something for the vault.
fn buy<T>(bench: &mut Bench, act: impl FnOnce(&mut Buyer, &At<'_>) -> Result<T, EngineError>) -> T {
    let Indexer { actor, notes, buyer, .. } = &mut bench.indexer;
    act(buyer, &At { actor, pipeline: &notes.commit.pipeline }).unwrap()
}

fn pending(bench: &mut Bench) -> &mut PendingContexts {
    &mut bench.indexer.buyer.pending
}

/// A note with words of its own is stored, and what it wants is due.
fn save(bench: &mut Bench, name: &str, sections: usize) -> NoteRecord {
    let record = bench.save(name, &report(sections).replace("rollout", name.trim_end_matches(".md")));
    pending(bench).loaded(&record, machine::now());
    record
}

/// Has the writer asked, and says how many notes it has now.
fn ask(bench: &mut Bench, work: Work) -> usize {
    buy(bench, |buyer, at| buyer.ask(at, work, |_| false));
    pending(bench).asked()
}

fn take(bench: &mut Bench, name: &str, event: ContextEvent) {
    buy(bench, |buyer, at| buyer.take(at, path(name), event));
}

fn end(bench: &mut Bench, name: &str, result: Result<(), Interrupted>) {
    take(bench, name, ContextEvent::End(result));
}

fn poll_run(bench: &mut Bench, work: Work) {
    buy(bench, |buyer, at| buyer.poll_run(at, work));
}

fn over_day() -> OverBudget {
    OverBudget::Day { limit: 1, spent: 1, needed: 1 }
}

/// A job for a rebuild, as the user begins one.
fn job(bench: &Bench) -> u64 {
    bench.shared.jobs.begin(JobKind::Rebuild, Scope::default(), [(0, "v".to_owned())])
}

fn job_of(bench: &Bench, number: u64) -> Job {
    bench.shared.jobs.get(number).unwrap()
}

/// A rebuild of one note begins, and the note is decided about.
fn begin_rebuild(bench: &mut Bench, name: &str, batch: bool) -> u64 {
    let number = job(bench);
    let run = Run::new(number, Covered::default(), batch);
    let task = Task::rebuild(path(name), run.began);
    buy(bench, |buyer, at| buyer.begin_run(at, run));
    let record = bench.decide(&task);
    pending(bench).written(&record, machine::now());
    number
}

fn record(bench: &Bench, name: &str) -> NoteRecord {
    bench.pipeline().store.note(&path(name)).unwrap().unwrap()
}

/// The contexts of a note come, and it is decided about again.
fn answer(bench: &mut Bench, name: &str) {
    let asked = record(bench, name);
    for chunk in &asked.chunks {
        bench.keep(&asked, chunk);
        take(bench, name, ContextEvent::Written);
    }
    let decided = bench.decide(&Task::again(path(name)));
    pending(bench).written(&decided, machine::now());
}

/// A note is stored that has its contexts.
fn save_paid(bench: &mut Bench, name: &str) {
    let saved = bench.save(name, &report(2));
    saved.chunks.iter().for_each(|chunk| drop(bench.keep(&saved, chunk)));
    let decided = bench.decide(&Task::again(path(name)));
    pending(bench).loaded(&decided, machine::now());
}

/// The model answers so often in vain that it is left alone.
fn answer_uselessly(bench: &Bench) {
    let runtime = bench.shared.runtime("");
    let outcomes = &runtime.writer.as_ref().unwrap().author.outcomes;
    while !outcomes.is_useless() {
        outcomes.answered(Form::Chunk, false);
    }
}

fn unfinished(bench: &Bench) -> Option<u64> {
    Run::unfinished(&bench.pipeline()).unwrap().map(|run| run.id)
}

#[test]
fn what_interrupts_the_asking_says_for_how_long_the_model_is_left_alone() {
    for (interrupted, alone) in [
        (Interrupted::Changed, None),
        (Interrupted::Draining, None),
        (Interrupted::Provider("a hiccup".to_owned()), None),
        (Interrupted::Budget(over_day()), Some(BUDGET_AGAIN)),
        (Interrupted::Budget(OverBudget::Io("no space left".to_owned())), Some(TRY_AGAIN)),
        (Interrupted::Useless(None), Some(Duration::from_mins(5))),
    ] {
        let mut bench = bench();
        save(&mut bench, "a.md", 2);
        assert_eq!(ask(&mut bench, IDLE), 1);
        if matches!(interrupted, Interrupted::Useless(_)) {
            answer_uselessly(&bench);
        }
        let told = format!("{interrupted:?}");
        end(&mut bench, "a.md", Err(interrupted));
        let until = bench.shared.runtime("").held_until(true);
        assert_eq!(until, alone.map(|alone| machine::now() + alone), "{told}");
        // Another note is not asked about meanwhile, and is afterwards.
        save(&mut bench, "b.md", 3);
        let Some(alone) = alone else { continue };
        bench.pass(alone.saturating_sub(SECOND));
        assert_eq!(ask(&mut bench, IDLE), 0, "{told}");
        bench.pass(SECOND);
        assert!(ask(&mut bench, IDLE) > 0, "{told}");
    }
}

#[test]
fn a_context_that_cannot_be_written_has_the_store_opened_anew() {
    let mut bench = bench();
    save(&mut bench, "a.md", 2);
    assert_eq!(ask(&mut bench, IDLE), 1);
    let unkept = Err(Interrupted::Unkept("no space left".to_owned()));
    bench.indexer.take(Event::Context { path: path("a.md"), event: ContextEvent::End(unkept) });
    assert!(bench.indexer.notes.is_troubled());
}

#[test]
fn a_context_that_could_not_be_written_is_written_once_that_is_possible() {
    let mut bench = bench();
    let record = bench.save("a.md", &report(2));
    pending(&mut bench).loaded(&record, machine::now());
    let (key, context) = (key_of(&record.chunks[0]), bench.context_for(&record, &record.chunks[0]));
    for dir in [bench.index_dir(), bench.index_dir().join("other")] {
        let (note, tags, record) = (record.path.clone(), record.tags.clone(), context.clone());
        bench.shared.indexers.unkept.put(Unwritten { dir, note, tags, key, record });
    }
    let store = bench.pipeline().store.clone();
    assert_eq!(ask(&mut bench, IDLE), 0, "it is bought already");
    for written in [1, 0] {
        buy(&mut bench, |buyer, at| buyer.write_unkept(at));
        assert_eq!(pending(&mut bench).take_arrived().len(), written);
    }
    assert_eq!(store.archived(key).unwrap(), Some(context));
    bench.pass(SECOND);
    assert_eq!(ask(&mut bench, IDLE), 1);
    bench.drive(SECOND);
    assert_eq!(bench.model.asked().len(), 1, "the other one alone is asked for");
}

#[test]
fn a_day_that_ends_soon_is_waited_for_and_no_longer() {
    let mut bench = bench();
    let left = until_midnight();
    assert!(left > 3600 * SECOND, "the day of a test has just begun");
    bench.pass(left.saturating_sub(20 * SECOND));
    save(&mut bench, "a.md", 2);
    ask(&mut bench, IDLE);
    end(&mut bench, "a.md", Err(Interrupted::Budget(over_day())));
    let until = bench.shared.runtime("").held_until(true).unwrap();
    assert_eq!(until, machine::now() + 20 * SECOND);
}

#[test]
fn after_a_spend_limit_the_model_is_asked_again_within_the_hour() {
    let mut bench = bench();
    let saved = bench.save("a.md", &report(2));
    pending(&mut bench).loaded(&saved, machine::now());
    let limit = br#"{"error":{"type":"insufficient_quota","code":"insufficient_quota"}}"#;
    bench.answer([(); 2].map(|()| (Duration::ZERO, Say::This(What::Reply(429, Vec::new(), limit.to_vec())))));
    let runtime = bench.runtime();
    let _entered = runtime.enter();
    let mut turn = |time| {
        ask(&mut bench, IDLE);
        bench.drive(time);
        for (of, event) in bench.events() {
            take(&mut bench, of.as_str(), event);
        }
        bench.model.asked().len()
    };
    let asked = turn(10 * SECOND);
    assert!(asked > 0);
    assert_eq!((turn(10 * SECOND), turn(3600 * SECOND)), (asked, asked));
    assert!(turn(10 * SECOND) > asked, "the bill may be paid by now");
}

#[test]
fn the_users_word_ends_a_wait_at_once() {
    let mut bench = bench();
    save(&mut bench, "a.md", 2);
    ask(&mut bench, IDLE);
    answer_uselessly(&bench);
    end(&mut bench, "a.md", Err(Interrupted::Useless(None)));
    let other = bench.save("b.md", &report(3).replace("rollout", "launch"));
    pending(&mut bench).written(&other, machine::now());
    assert_eq!(ask(&mut bench, IDLE), 0);
    bench.indexer.buyer.resume();
    assert_eq!(ask(&mut bench, IDLE), 1, "one note while the model is tried");
    assert_eq!(bench.shared.runtime("").held_until(true), None);
    // A question that had begun before the user's word ends after it.
    end(&mut bench, "b.md", Err(Interrupted::Useless(None)));
    assert_eq!(bench.shared.runtime("").held_until(true), None);
}

#[test]
fn while_the_vault_is_in_doubt_or_cannot_be_written_nothing_is_bought() {
    let mut bench = bench();
    save(&mut bench, "a.md", 2);
    assert_eq!(ask(&mut bench, Work { troubled: true, ..IDLE }), 0);
    assert_eq!(ask(&mut bench, IDLE), 1);
}

#[test]
fn a_pause_stops_the_asking_and_its_end_lets_it_go_on() {
    let mut bench = bench();
    save(&mut bench, "a.md", 2);
    bench.shared.throttle.pause(Some(None));
    bench.indexer.turn();
    assert_eq!((pending(&mut bench).asked(), bench.indexer.next_wake()), (0, None));
    bench.shared.throttle.pause(None);
    assert!(bench.indexer.next_wake().is_some_and(|at| at <= machine::now()));
    bench.indexer.turn();
    assert_eq!(pending(&mut bench).asked(), 1);
}

#[test]
fn a_pause_ends_the_asking_about_a_note_after_the_calls_under_way_and_its_end_has_the_rest_asked() {
    let mut bench = Bench::new(|settings| settings.context.concurrency = 1);
    bench.answer((0..100).map(|_| (10 * SECOND, Say::Well)));
    let record = bench.save("a.md", &report(8));
    pending(&mut bench).loaded(&record, machine::now());
    bench.indexer.turn();
    bench.drive(25 * SECOND);
    bench.shared.throttle.pause(Some(None));
    bench.indexer.go_on();
    bench.drive(100 * SECOND);
    assert_eq!((bench.model.asked().len(), bench.model.delivered()), (3, 3), "the third was under way");
    bench.events().into_iter().for_each(|(at, event)| take(&mut bench, at.as_str(), event));
    bench.shared.throttle.pause(None);
    bench.indexer.turn();
    bench.indexer.turn();
    bench.drive(100 * SECOND);
    assert_eq!(bench.model.asked().len(), 8);
}

#[test]
fn what_is_bought_is_counted_by_its_job_and_what_was_of_no_use_is_not() {
    let mut bench = bench();
    let note = bench.save("a.md", &report(2));
    let number = begin_rebuild(&mut bench, "a.md", false);
    let key = key_of(&note.chunks[0]);
    take(&mut bench, "a.md", ContextEvent::Tried(key));
    assert_eq!(job_of(&bench, number).bought, 0);
    bench.keep(&note, &note.chunks[0]);
    take(&mut bench, "a.md", ContextEvent::Written);
    assert_eq!(job_of(&bench, number).bought, 1);
}

#[test]
fn a_rebuild_ends_when_nothing_of_it_is_left_anywhere() {
    let mut bench = bench();
    bench.save("a.md", &report(2));
    let number = begin_rebuild(&mut bench, "a.md", false);
    poll_run(&mut bench, Work { deciding: true, ..IDLE });
    assert_eq!(job_of(&bench, number).contexts, None, "nobody can say yet how far it is");
    poll_run(&mut bench, IDLE);
    let progress = |bench: &Bench| job_of(bench, number).contexts.map(|contexts| (contexts.processed, contexts.total));
    assert_eq!(progress(&bench), Some((0, 2)));
    assert_eq!(ask(&mut bench, IDLE), 1);
    answer(&mut bench, "a.md");
    poll_run(&mut bench, IDLE);
    assert_eq!(
        (progress(&bench), job_of(&bench, number).state),
        (Some((2, 2)), JobState::Running),
        "the writer has it"
    );
    end(&mut bench, "a.md", Ok(()));
    poll_run(&mut bench, Work { landing: true, ..IDLE });
    assert_eq!(job_of(&bench, number).state, JobState::Running, "a note is being decided about");
    poll_run(&mut bench, IDLE);
    assert_eq!((job_of(&bench, number).state, unfinished(&bench)), (JobState::Done, None));
}

#[test]
fn a_rebuild_that_its_budget_stops_keeps_what_was_bought_and_saves_go_on() {
    let mut bench = bench();
    save_paid(&mut bench, "a.md");
    let number = begin_rebuild(&mut bench, "a.md", false);
    poll_run(&mut bench, IDLE);
    ask(&mut bench, IDLE);
    let asked = record(&bench, "a.md");
    let bought = bench.keep(&asked, &asked.chunks[0]);
    take(&mut bench, "a.md", ContextEvent::Written);
    let refused = OverBudget::Rebuild { limit: 5, spent: 5, needed: 1 };
    end(&mut bench, "a.md", Err(Interrupted::Budget(refused)));
    assert_eq!(ask(&mut bench, IDLE), 0, "nothing more is asked for");
    poll_run(&mut bench, Work { landing: true, ..IDLE });
    assert_eq!(job_of(&bench, number).state, JobState::Running, "what was bought is yet to land");
    poll_run(&mut bench, IDLE);
    let ended = job_of(&bench, number);
    assert_eq!((ended.state, ended.bought), (JobState::Failed, 1));
    assert!(ended.problem.is_some_and(|problem| problem.contains("`budget.rebuild`")));
    assert_eq!((unfinished(&bench), bench.shared.runtime("").held_until(true)), (None, None));
    let left = record(&bench, "a.md");
    assert!(left.chunks.iter().all(|chunk| chunk.due.is_none()), "{left:?}");
    assert_eq!(pending(&mut bench).counters.sum().old, 2, "`contexts start --replace` buys them");
    assert_eq!(bench.pipeline().store.archived(key_of(&asked.chunks[0])).unwrap(), Some(bought));
    save(&mut bench, "b.md", 3);
    assert_eq!(ask(&mut bench, IDLE), 1);
}

#[test]
fn a_rebuild_that_is_cancelled_or_overtaken_takes_back_what_it_wants() {
    let mut bench = bench();
    save_paid(&mut bench, "a.md");
    let first = begin_rebuild(&mut bench, "a.md", false);
    buy(&mut bench, Buyer::stop_cancelled_run);
    assert_eq!(job_of(&bench, first).state, JobState::Running, "nobody cancelled it");
    bench.shared.jobs.cancel(first).unwrap();
    buy(&mut bench, Buyer::stop_cancelled_run);
    assert_eq!((job_of(&bench, first).state, unfinished(&bench)), (JobState::Cancelled, None));
    let sum = pending(&mut bench).counters.sum();
    assert_eq!((sum.rebuild, sum.old), (0, 0), "what serves is of the model in force");
    let second = begin_rebuild(&mut bench, "a.md", false);
    bench.pass(SECOND);
    let third = begin_rebuild(&mut bench, "a.md", false);
    let overtaken = job_of(&bench, second);
    assert_eq!(overtaken.state, JobState::Failed);
    assert!(overtaken.problem.is_some_and(|problem| problem.contains("another rebuild")));
    assert_eq!((job_of(&bench, third).state, bench.indexer.buyer.run_job()), (JobState::Running, Some(third)));
    assert_eq!(pending(&mut bench).counters.sum().rebuild, 2);
}

#[test]
fn a_rebuild_goes_on_after_a_restart_where_it_was_and_within_the_same_budget() {
    let mut bench = bench();
    bench.save("decided.md", &report(2));
    bench.save("undecided.md", &report(3));
    bench.pass(SECOND);
    begin_rebuild(&mut bench, "decided.md", false);
    poll_run(&mut bench, IDLE);
    answer(&mut bench, "decided.md");
    let id = unfinished(&bench);
    assert!(id.is_some());
    // Another process knows only what is stored.
    bench.indexer.buyer = Buyer::new(bench.shared.runtime(""));
    for stored in bench.pipeline().store.notes().unwrap() {
        pending(&mut bench).loaded(&stored, machine::now());
    }
    let (number, rest) = buy(&mut bench, Buyer::resume_run).expect("it is taken up");
    let rest: Vec<&str> = rest.iter().map(|task| task.path.as_str()).collect();
    assert_eq!(rest, ["undecided.md"], "what was decided about since it began is not decided about again");
    let run = pending(&mut bench).run.clone().unwrap();
    assert_eq!((Some(run.id), run.job, run.total, run.done_before), (id, number, 2, 2));
    assert_eq!(job_of(&bench, number).state, JobState::Running);
    assert_eq!(buy(&mut bench, |buyer, at| buyer.stop_run(at, "over").and_then(|()| buyer.resume_run(at))), None);
}

#[test]
fn what_a_rebuild_is_to_decide_about_is_asked_for_by_it_alone() {
    let mut bench = bench();
    save(&mut bench, "a.md", 2);
    let covered = Covered::default();
    let number = job(&bench);
    bench.indexer.take(Event::Rebuild { job: number, covered, batch: false, agreed: true });
    let run = pending(&mut bench).run.as_ref().map(|run| Purpose::Rebuild(run.id)).unwrap();
    assert_eq!(ask(&mut bench, Work { deciding: true, ..IDLE }), 0);
    // A save does not wait.
    bench.pass(2 * SECOND);
    save(&mut bench, "b.md", 2);
    assert_eq!(ask(&mut bench, Work { deciding: true, ..IDLE }), 1);
    assert!(!pending(&mut bench).asks_for(run));
    let task = Task::rebuild(path("a.md"), now_s());
    let decided = bench.decide(&task);
    pending(&mut bench).written(&decided, machine::now());
    poll_run(&mut bench, IDLE);
    assert_eq!((ask(&mut bench, IDLE), pending(&mut bench).asks_for(run)), (2, true));
}

#[test]
fn what_a_cancelled_rebuild_has_cost_is_what_was_booked_in_the_end() {
    let mut bench = bench();
    bench.save("a.md", &report(2));
    let number = begin_rebuild(&mut bench, "a.md", false);
    let id = unfinished(&bench).unwrap();
    bench.answer([(SECOND, Say::Well), (SECOND, Say::Well)]);
    pending(&mut bench).run.as_mut().unwrap().total = 2;
    assert_eq!(ask(&mut bench, IDLE), 1);
    bench.drive(SECOND / 2);
    poll_run(&mut bench, IDLE);
    let shown = |bench: &Bench| job_of(bench, number).contexts.map(|contexts| contexts.micro_dollars);
    let reserved = shown(&bench).unwrap();
    buy(&mut bench, |buyer, at| buyer.stop_run(at, "cancelled"));
    bench.drive(2 * SECOND);
    for (_, event) in bench.events() {
        take(&mut bench, "a.md", event);
    }
    poll_run(&mut bench, IDLE);
    let booked = bench.shared.spender.ledger().spent_by_rebuild("v", id).micro_dollars;
    assert!(0 < booked && booked < reserved, "{booked} of {reserved}");
    assert_eq!(shown(&bench), Some(booked));
}

#[test]
fn what_a_rebuild_has_cost_is_what_was_booked_after_its_last_context_came() {
    let mut bench = bench();
    bench.save("a.md", &report(2));
    let number = begin_rebuild(&mut bench, "a.md", false);
    let id = unfinished(&bench).unwrap();
    bench.answer([(SECOND, Say::Well), (SECOND, Say::Well)]);
    poll_run(&mut bench, IDLE);
    assert_eq!(ask(&mut bench, IDLE), 1);
    bench.drive(SECOND / 2);
    // The last of them is known before the call that brought it is booked.
    answer(&mut bench, "a.md");
    poll_run(&mut bench, IDLE);
    let shown = |bench: &Bench| job_of(bench, number).contexts.map(|contexts| contexts.micro_dollars);
    let reserved = shown(&bench).unwrap();
    bench.drive(2 * SECOND);
    end(&mut bench, "a.md", Ok(()));
    poll_run(&mut bench, IDLE);
    let booked = bench.shared.spender.ledger().spent_by_rebuild("v", id).micro_dollars;
    assert!(0 < booked && booked < reserved, "{booked} of {reserved}");
    assert_eq!((shown(&bench), job_of(&bench, number).state), (Some(booked), JobState::Done));
}

#[test]
fn the_regular_look_asks_for_drifted_contexts_once_an_interval() {
    let mut bench = bench();
    let note = bench.save("a.md", &report(2));
    note.chunks.iter().for_each(|chunk| drop(bench.keep(&note, chunk)));
    bench.decide(&Task::again(path("a.md")));
    let drift = |bench: &mut Bench| {
        let drifted = |record: &mut NoteRecord| {
            (record.chunks[0].due, record.chunks[0].later) = (None, Some(Reason::Drifted));
        };
        bench.pipeline().store.amend(&path("a.md"), drifted).unwrap();
    };
    let looks = |bench: &mut Bench| {
        drift(bench);
        buy(bench, Buyer::sync_if_due);
        record(bench, "a.md").chunks[0].due.map(|due| due.reason)
    };
    let interval = bench.settings.sync.interval;
    assert_eq!(looks(&mut bench), Some(Reason::Drifted), "nobody has looked yet");
    assert_eq!(looks(&mut bench), None);
    bench.pass(interval.saturating_sub(SECOND));
    assert_eq!(looks(&mut bench), None);
    bench.pass(2 * SECOND);
    assert_eq!(looks(&mut bench), Some(Reason::Drifted));
    // After a restart what is stored says when that was; a clock that was set back does not put it off for ever.
    bench.indexer.buyer = Buyer::new(bench.shared.runtime(""));
    assert_eq!(looks(&mut bench), None);
    remember_sync(&bench.pipeline(), now_s() + 1_000_000).unwrap();
    bench.indexer.buyer = Buyer::new(bench.shared.runtime(""));
    assert_eq!(looks(&mut bench), Some(Reason::Drifted));
    // Nor does one that is set back while the daemon runs.
    let wrong = now_s() + 1_000_000;
    remember_sync(&bench.pipeline(), wrong).unwrap();
    bench.indexer.buyer.next_sync = Some(wrong + interval.as_secs() as i64);
    assert_eq!(bench.indexer.buyer.sync_left(&bench.indexer.actor), Some(interval));
    assert_eq!(looks(&mut bench), Some(Reason::Drifted));
}

#[test]
fn a_model_that_costs_is_asked_once_the_user_agrees_and_until_that_is_taken_back() {
    let mut bench = Bench::new(|settings| settings.context.consent = Consent::Ask);
    save(&mut bench, "a.md", 2);
    assert_eq!((bench.indexer.buyer.is_agreed(), ask(&mut bench, IDLE)), (false, 0));
    buy(&mut bench, |buyer, at| buyer.set_agreed(at, true));
    assert_eq!((bench.indexer.buyer.is_agreed(), ask(&mut bench, IDLE)), (true, 1));
    // Another process reads it where it was written.
    let again = |bench: &mut Bench| {
        bench.indexer.buyer = Buyer::new(bench.shared.runtime(""));
        buy(bench, |buyer, at| {
            buyer.read_consent(at);
            Ok(())
        });
        bench.indexer.buyer.is_agreed()
    };
    assert!(again(&mut bench));
    buy(&mut bench, |buyer, at| buyer.set_agreed(at, false));
    save(&mut bench, "b.md", 3);
    assert_eq!(ask(&mut bench, IDLE), 0);
    assert!(!again(&mut bench));
}

#[test]
fn once_a_yes_is_taken_back_nothing_more_of_a_note_is_sent() {
    let mut bench = Bench::new(|settings| (settings.context.consent, settings.context.concurrency) = (Consent::Ask, 1));
    bench.answer((0..100).map(|_| (10 * SECOND, Say::Well)));
    let record = bench.save("a.md", &report(8));
    pending(&mut bench).loaded(&record, machine::now());
    buy(&mut bench, |buyer, at| buyer.set_agreed(at, true));
    ask(&mut bench, IDLE);
    bench.drive(25 * SECOND);
    buy(&mut bench, |buyer, at| buyer.set_agreed(at, false));
    bench.drive(100 * SECOND);
    assert_eq!((bench.model.asked().len(), bench.model.delivered()), (3, 3), "the third was under way");
}

#[test]
fn a_rebuild_that_was_cancelled_buys_nothing_for_the_notes_that_workers_had() {
    let mut bench = bench();
    save_paid(&mut bench, "a.md");
    let number = begin_rebuild(&mut bench, "a.md", false);
    let began = pending(&mut bench).run.as_ref().unwrap().began;
    bench.shared.jobs.cancel(number).unwrap();
    buy(&mut bench, |buyer, at| buyer.stop_cancelled_run(at));
    assert_eq!(job_of(&bench, number).state, JobState::Cancelled);
    let landed = bench.decide(&Task::rebuild(path("a.md"), began));
    assert!(landed.chunks.iter().all(|chunk| chunk.due.is_some_and(|due| due.reason == Reason::Rebuild)));
    pending(&mut bench).written(&landed, machine::now());
    assert_eq!(ask(&mut bench, IDLE), 0);
    poll_run(&mut bench, IDLE);
    assert!(record(&bench, "a.md").chunks.iter().all(|chunk| chunk.due.is_none()));
    assert_eq!(pending(&mut bench).counters.sum().rebuild, 0);
}

#[test]
fn the_budget_of_a_rebuild_does_not_end_the_one_that_took_its_place() {
    let mut bench = bench();
    save_paid(&mut bench, "a.md");
    begin_rebuild(&mut bench, "a.md", false);
    poll_run(&mut bench, IDLE);
    assert_eq!(ask(&mut bench, IDLE), 1);
    bench.pass(SECOND);
    let second = job(&bench);
    buy(&mut bench, |buyer, at| buyer.begin_run(at, Run::new(second, Covered::default(), false)));
    end(&mut bench, "a.md", Err(Interrupted::Budget(OverBudget::Rebuild { limit: 5, spent: 5, needed: 1 })));
    assert_eq!(pending(&mut bench).run.as_ref().and_then(|run| run.over.clone()), None);
}

#[test]
fn a_request_that_changes_while_its_note_is_decided_about_stays_changed() {
    let mut bench = bench();
    let saved = save(&mut bench, "a.md", 2);
    bench.indexer.notes.work.enqueue(vec![Task::again(path("a.md"))], false);
    let (ticket, task) = bench.indexer.notes.work.next(Brake::Off).unwrap();
    let outcome = bench.look(&task);
    let event = ContextEvent::GaveUp(key_of(&saved.chunks[0]), Flaw::Missing);
    bench.indexer.take(Event::Context { path: task.path.clone(), event });
    bench.indexer.take(Event::Looked { path: task.path, ticket, outcome });
    bench.indexer.notes.land();
    let given_up = |bench: &Bench| (record(bench, "a.md").chunks[0].due, record(bench, "a.md").chunks[0].later);
    assert_eq!(given_up(&bench), (None, Some(Reason::ContextFailed)));
    // The note is decided about once more, from what is stored now.
    let (ticket, task) = bench.indexer.notes.work.next(Brake::Off).unwrap();
    let outcome = bench.look(&task);
    bench.indexer.take(Event::Looked { path: task.path, ticket, outcome });
    bench.indexer.notes.land();
    assert_eq!(given_up(&bench), (None, Some(Reason::ContextFailed)));
    assert!(bench.indexer.notes.work.under_way() == 0 && bench.indexer.notes.work.queued() == 0);
}
