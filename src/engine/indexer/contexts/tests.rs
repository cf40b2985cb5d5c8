mod wanted;

use super::*;
use crate::decide::Task;
use crate::indexer::rebuild::Covered;
use crate::now_s;
use crate::testing::{Bench, key_of, path, report};
use context::ContextRecord;

const BUSY: fn(&VaultPath) -> bool = |_| true;
const FREE: fn(&VaultPath) -> bool = |_| false;

/// The machine on a bench of its own.
struct Machine {
    bench: Bench,
    pending: PendingContexts,
    /// Whether the user has agreed to the model.
    agreed: bool,
}

impl Machine {
    fn new() -> Self {
        Machine::with(|_| {})
    }

    fn with(change: impl FnOnce(&mut context::settings::ContextConfig)) -> Self {
        let bench = Bench::new(|settings| change(&mut settings.context));
        let pending = PendingContexts::new(bench.shared.runtime(""));
        Machine { bench, pending, agreed: true }
    }

    /// A note is written, with that many sections.
    fn save(&mut self, name: &str, sections: usize) -> NoteRecord {
        let record = self.bench.save(name, &report(sections));
        self.pending.written(&record, machine::now());
        record
    }

    /// A note is written and has been quiet for long enough.
    fn saved(&mut self, name: &str, sections: usize) -> NoteRecord {
        let record = self.save(name, sections);
        self.bench.pass(self.pending.settle());
        record
    }

    fn jobs_unless(&mut self, is_busy: fn(&VaultPath) -> bool) -> Vec<ContextJob> {
        let pipeline = self.bench.pipeline();
        let at = At { actor: &self.bench.indexer.actor, pipeline: &pipeline };
        let asking = Asking { at: &at, agreed: self.agreed, awaits_batch: false };
        self.pending.jobs(&asking, is_busy).unwrap()
    }

    /// What is asked now: each note, and how many contexts of it.
    fn asks(&mut self) -> Vec<(String, usize)> {
        self.jobs_unless(FREE).iter().map(|job| (job.path.to_string(), job.pending.len())).collect()
    }

    fn next_question(&self) -> Option<Instant> {
        self.pending.next_question(self.bench.vault.is_inactive(), self.agreed)
    }

    fn take(&mut self, name: &str, event: ContextEvent) -> Option<Interrupted> {
        self.pending.take(&self.bench.pipeline(), path(name), event, machine::now()).unwrap()
    }

    fn end(&mut self, name: &str, result: Result<(), Interrupted>) {
        self.take(name, ContextEvent::End(result));
    }

    /// The writer has kept a context of a note, and says so.
    fn answer(&mut self, record: &NoteRecord, chunk: usize) {
        self.bench.keep(record, &record.chunks[chunk]);
        self.take(record.path.as_str(), ContextEvent::Written);
    }

    fn record(&self, name: &str) -> NoteRecord {
        self.bench.pipeline().store.note(&path(name)).unwrap().unwrap()
    }

    /// Changes a stored note as a decision would have left it.
    fn amend(&mut self, name: &str, change: impl FnOnce(&mut NoteRecord)) {
        self.bench.pipeline().store.amend(&path(name), change).unwrap();
        let record = self.record(name);
        self.pending.written(&record, machine::now());
    }

    /// Looks after contexts that should be better; how many chunks that asks for.
    fn refresh(&mut self, since: Option<i64>, renew: Renew) -> u64 {
        self.pending.refresh(&self.bench.pipeline(), since, renew).unwrap()
    }

    /// Decides about a note as a rebuild does.
    fn rebuild(&mut self, name: &str) -> NoteRecord {
        let record = self.bench.decide(&Task::rebuild(path(name), now_s()));
        self.pending.written(&record, machine::now());
        record
    }
}

fn of(name: &str, contexts: usize) -> Vec<(String, usize)> {
    vec![(name.to_owned(), contexts)]
}

fn refused() -> Interrupted {
    Interrupted::Budget(provider::ledger::OverBudget::Day { limit: 1, spent: 1, needed: 1 })
}

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn a_note_is_asked_about_once_and_not_before_it_has_been_quiet() {
    let mut machine = Machine::new();
    let saved = machine::now();
    let record = machine.save("a.md", 3);
    let settle = machine.pending.settle();
    assert_eq!((machine.asks(), machine.next_question()), (vec![], Some(saved + settle)));
    machine.bench.pass(settle / 2);
    machine.pending.written(&record, machine::now());
    machine.bench.pass(settle / 2);
    assert_eq!(machine.asks(), [], "it was written again meanwhile");
    machine.bench.pass(settle / 2);
    assert_eq!(machine.asks(), of("a.md", 3));
    // While the writer has it nothing makes it be asked again: no time, no save, no section that is new.
    machine.pending.written(&record, machine::now());
    machine.bench.pass(100 * settle);
    assert_eq!((machine.asks(), machine.pending.asked()), (vec![], 1));
    for chunk in 0..3 {
        machine.answer(&record, chunk);
    }
    machine.saved("a.md", 4);
    assert_eq!((machine.asks(), machine.pending.asked()), (vec![], 1), "its job has not ended");
    machine.end("a.md", Ok(()));
    machine.bench.pass(BUSY_AGAIN);
    assert_eq!(machine.asks(), of("a.md", 1), "the new one alone");
}

#[test]
fn a_start_asks_at_once_what_was_left() {
    let mut machine = Machine::new();
    let record = machine.bench.save("a.md", &report(3));
    machine.pending.loaded(&record, machine::now());
    assert_eq!(machine.asks(), of("a.md", 3));
}

#[test]
fn what_was_answered_before_a_refusal_is_kept_and_only_the_rest_is_asked_again() {
    let mut machine = Machine::new();
    let record = machine.saved("a.md", 4);
    assert_eq!(machine.asks(), of("a.md", 4));
    machine.answer(&record, 1);
    machine.answer(&record, 3);
    assert_eq!(machine.pending.take_arrived(), BTreeSet::from([path("a.md")]));
    let held = machine.take("a.md", ContextEvent::End(Err(refused())));
    assert!(matches!(held, Some(Interrupted::Budget(_))), "{held:?}");
    // Before the note is decided about again, and after: the two that are in the archive are not bought twice.
    let jobs = machine.jobs_unless(FREE);
    let asked: Vec<ContextKey> = jobs[0].pending.iter().map(|(key, _)| *key).collect();
    assert_eq!(asked, [key_of(&record.chunks[0]), key_of(&record.chunks[2])]);
    assert_eq!(machine.pending.take_arrived(), BTreeSet::from([path("a.md")]), "what is there is to be taken");
    machine.end("a.md", Err(refused()));
    let record = machine.bench.decide(&Task::again(path("a.md")));
    let due: Vec<bool> = record.chunks.iter().map(|chunk| chunk.due.is_some()).collect();
    assert_eq!(due, [true, false, true, false]);
    machine.pending.written(&record, machine::now());
    machine.bench.pass(machine.pending.settle());
    assert_eq!(machine.asks(), of("a.md", 2));
}

#[test]
fn a_context_that_is_older_than_the_request_is_not_bought_again_except_by_a_rebuild() {
    let mut machine = Machine::new();
    let record = machine.save("a.md", 3);
    // As an import brings them in.
    for chunk in &record.chunks {
        let context = ContextRecord { written_at: 1, ..machine.bench.context_for(&record, chunk) };
        let key = key_of(chunk);
        machine.bench.pipeline().store.keep_context_of(&record.path, &record.tags, key, &context).unwrap();
    }
    machine.bench.pass(machine.pending.settle());
    machine.agreed = false;
    assert_eq!((machine.asks(), machine.pending.take_arrived().len()), (vec![], 1));
    machine.agreed = true;
    let decided = machine.bench.decide(&Task::again(path("a.md")));
    assert!(decided.chunks.iter().all(|chunk| chunk.due.is_none()), "{decided:?}");
    machine.pending.run = Some(Run { total: 3, ..Run::new(7, Covered::default(), false) });
    let rebuilt = machine.rebuild("a.md");
    assert!(rebuilt.chunks.iter().all(|chunk| chunk.due.is_some_and(|due| due.reason == Reason::Rebuild)));
    assert_eq!(machine.asks(), of("a.md", 3));
}

#[test]
fn what_was_interrupted_is_asked_again_when_its_cause_may_be_over() {
    let settle = Machine::new().pending.settle();
    let provider = || Interrupted::Provider("it does not answer".to_owned());
    for (interrupted, after) in [
        (Interrupted::Changed, settle),
        (refused(), Duration::ZERO),
        (Interrupted::Draining, Duration::ZERO),
        (provider(), ASK_AGAIN),
        (Interrupted::Unkept("no space left".to_owned()), ASK_AGAIN),
        (Interrupted::Useless(None), ASK_AGAIN),
    ] {
        let mut machine = Machine::new();
        machine.saved("a.md", 2);
        assert_eq!(machine.asks(), of("a.md", 2));
        let told = format!("{interrupted:?}");
        let held = machine.take("a.md", ContextEvent::End(Err(interrupted)));
        assert_eq!((format!("{:?}", held.unwrap()), machine.pending.asked()), (told.clone(), 0));
        assert_eq!(machine.next_question(), Some(machine::now() + after), "{told}");
        if after > Duration::ZERO {
            machine.bench.pass(after.saturating_sub(SECOND));
            assert_eq!(machine.asks(), [], "{told}");
            machine.bench.pass(SECOND);
        }
        assert_eq!(machine.asks(), of("a.md", 2), "{told}");
    }
}

#[test]
fn a_note_that_is_too_dear_for_any_day_is_named_and_keeps_no_other_waiting() {
    let mut machine = Machine::new();
    machine.saved("long.md", 3);
    assert_eq!(machine.asks(), of("long.md", 3));
    let (limit, needed) = (5_200, 9_300);
    let refused = provider::ledger::OverBudget::Day { limit, spent: 0, needed };
    machine.end("long.md", Err(Interrupted::Budget(refused)));
    let told = machine.pending.too_dear().unwrap();
    assert!(told.contains("`long.md` keeps") && told.contains("$0.0093") && told.contains("`budget.day`"), "{told}");
    machine.saved("short.md", 2);
    assert_eq!(machine.asks(), of("short.md", 2));
    machine.end("short.md", Ok(()));
    machine.bench.pass(TOO_DEAR_AGAIN / 2);
    assert_eq!(machine.asks(), []);
    // With another budget it is asked about at once.
    machine.pending.replace_runtime(machine.bench.shared.runtime(""), machine::now());
    assert_eq!((machine.asks(), machine.pending.too_dear()), (of("long.md", 3), None));
}

#[test]
fn useless_answers_are_counted_and_the_last_one_leaves_the_template() {
    let mut machine = Machine::new();
    let record = machine.saved("a.md", 2);
    machine.asks();
    let key = key_of(&record.chunks[0]);
    machine.take("a.md", ContextEvent::Tried(key));
    machine.end("a.md", Err(refused()));
    let tries = |jobs: Vec<ContextJob>| -> Vec<u8> { jobs[0].pending.iter().map(|(_, due)| due.tries).collect() };
    assert_eq!(tries(machine.jobs_unless(FREE)), [1, 0], "a try that was paid for counts for the next job");
    machine.pending.run = Some(Run::new(1, Covered::default(), false));
    machine.take("a.md", ContextEvent::GaveUp(key, context::quality::Flaw::Missing));
    machine.end("a.md", Ok(()));
    let [first, second] = &machine.record("a.md").chunks[..] else { panic!("two chunks") };
    assert_eq!((first.due, first.later), (None, Some(Reason::ContextFailed)));
    assert!(second.due.is_some() && second.later.is_none(), "{second:?}");
    assert_eq!(machine.pending.run.as_ref().map(|run| (run.failed, run.failures.len())), Some((1, 1)));
    let sum = machine.pending.counters.sum();
    assert_eq!((sum.due, sum.failed), (1, 1));
}

#[test]
fn a_note_that_moves_while_it_is_asked_about_is_not_asked_about_twice() {
    let mut machine = Machine::new();
    machine.saved("a.md", 2);
    machine.asks();
    machine.pending.moved(&path("a.md"), &path("b.md"));
    let record = machine.saved("b.md", 2);
    machine.pending.moved(&path("b.md"), &path("c.md"));
    machine.pending.removed(&path("b.md"), None);
    machine.saved("c.md", 2);
    assert_eq!(machine.asks(), [], "the writer has it under its first name");
    // The writer knows the first name alone; what it says is about the present one.
    machine.bench.keep(&record, &record.chunks[0]);
    machine.take("a.md", ContextEvent::Written);
    assert_eq!(machine.pending.take_arrived(), BTreeSet::from([path("c.md")]));
    machine.end("a.md", Err(refused()));
    assert_eq!(machine.pending.asked(), 0);
    machine.bench.pass(BUSY_AGAIN);
    assert!(machine.asks().iter().any(|(name, _)| name == "c.md"), "and it may be asked about again");
}

#[test]
fn another_note_at_the_place_of_one_that_moved_while_it_was_asked_about_waits_for_that_job() {
    let mut machine = Machine::new();
    machine.saved("a.md", 2);
    let jobs = machine.jobs_unless(FREE);
    machine.pending.moved(&path("a.md"), &path("b.md"));
    assert_eq!(*jobs[0].wanted.borrow(), path("b.md"), "where what comes is kept");
    machine.saved("b.md", 2);
    let other = machine.bench.save("a.md", &report(3).replace("rollout", "launch"));
    machine.pending.loaded(&other, machine::now());
    assert_eq!((machine.asks(), machine.pending.asked()), (vec![], 1), "the writer knows two notes by one name");
    machine.end("a.md", Ok(()));
    machine.bench.pass(BUSY_AGAIN);
    assert!(machine.asks().contains(&("a.md".to_owned(), 3)));
}

#[test]
fn the_same_text_under_two_names_is_not_asked_for_twice_at_once() {
    let mut machine = Machine::new();
    let first = machine.save("a.md", 2);
    machine.saved("b.md", 2);
    assert_eq!(machine.asks(), of("a.md", 2), "the other one may be the same note, moved");
    machine.bench.pass(100 * BUSY_AGAIN);
    assert_eq!(machine.asks(), []);
    machine.answer(&first, 0);
    machine.answer(&first, 1);
    machine.end("a.md", Ok(()));
    machine.bench.pass(BUSY_AGAIN);
    assert_eq!(machine.asks(), of("b.md", 2), "it is another note: what was written for the first is not for it");
}

#[test]
fn a_private_note_is_not_asked_about_nor_one_that_becomes_private_while_it_waits() {
    let mut machine = Machine::new();
    let secret = machine.bench.save("p.md", &format!("{}\n#private\n", report(3)));
    machine.pending.written(&secret, machine::now());
    let open = machine.save("a.md", 3);
    assert!(open.chunks.iter().all(|chunk| chunk.due.is_some()) && secret.chunks.iter().all(|c| c.due.is_none()));
    let withdrawn = machine.bench.save("a.md", &format!("{}\n#private\n", report(3)));
    machine.pending.written(&withdrawn, machine::now());
    machine.bench.pass(2 * machine.pending.settle());
    assert_eq!((machine.next_question(), machine.asks()), (None, vec![]));
    // Nor is one that becomes private while it is asked about, or goes.
    for private in [true, false] {
        let mut machine = Machine::new();
        machine.saved("a.md", 3);
        let jobs = machine.jobs_unless(FREE);
        machine.saved("a.md", 4);
        assert!(jobs[0].wanted.has_changed().is_ok(), "it has changed");
        if private {
            let withdrawn = machine.bench.save("a.md", &format!("{}\n#private\n", report(3)));
            machine.pending.written(&withdrawn, machine::now());
        } else {
            machine.pending.removed(&path("a.md"), None);
        }
        assert!(jobs[0].wanted.has_changed().is_err(), "{private}");
    }
    // Where the notes may go they are asked about like all others.
    let mut machine = Machine::with(|context| context.base_url = Some("http://127.0.0.1:9".to_owned()));
    let here = machine.bench.save("p.md", &format!("{}\n#private\n", report(3)));
    machine.pending.loaded(&here, machine::now());
    assert_eq!(machine.asks(), of("p.md", 3));
}

#[test]
fn what_was_private_waits_for_the_next_sync_however_often_it_is_saved() {
    let machine = Machine::new();
    machine.bench.save("p.md", &format!("{}\n#private\n", report(3)));
    for more in ["", "\nOne more line.\n"] {
        let open = machine.bench.save("p.md", &format!("{}{more}", report(3)));
        assert!(open.chunks.iter().all(|chunk| chunk.later == Some(Reason::Drifted)), "{:?}", open.chunks);
    }
}

#[test]
fn no_more_notes_are_with_the_writer_than_it_has_room_for() {
    let mut machine = Machine::with(|context| context.concurrency = 2);
    // Of different lengths and kinds, so that none is a copy of another.
    for (at, name) in ["a.md", "b.md", "c.md", "d.md"].into_iter().enumerate() {
        let text = report(2).replace("Yearly", ["Old", "New", "Long", "Short"][at]);
        let text = text.replace("rollout", ["launch", "start", "debut", "opening"][at]);
        let record = machine.bench.save(name, &text);
        machine.pending.loaded(&record, machine::now());
    }
    assert_eq!((machine.asks().len(), machine.asks().len()), (2, 0));
    assert_eq!(machine.next_question(), None, "it is the end of a job that is waited for");
    machine.end("a.md", Err(Interrupted::Changed));
    assert_eq!(machine.asks(), of("c.md", 2));
}

#[test]
fn a_note_that_is_being_decided_about_is_asked_about_afterwards() {
    let mut machine = Machine::new();
    machine.saved("a.md", 2);
    assert_eq!(machine.jobs_unless(BUSY).len(), 0);
    assert_eq!(machine.next_question(), Some(machine::now() + BUSY_AGAIN));
    assert_eq!(machine.asks(), []);
    machine.bench.pass(BUSY_AGAIN);
    assert_eq!(machine.asks(), of("a.md", 2));
}

#[test]
fn while_the_model_is_left_alone_nothing_is_asked_and_afterwards_all_is() {
    let mut machine = Machine::new();
    machine.saved("a.md", 2);
    let until = machine::now() + 60 * SECOND;
    machine.pending.runtime.hold_until(until, "the budget is used up".to_owned(), false);
    assert_eq!((machine.asks(), machine.next_question()), (vec![], Some(until)));
    machine.bench.pass(59 * SECOND);
    assert_eq!(machine.asks(), []);
    machine.bench.pass(SECOND);
    assert_eq!(machine.asks(), of("a.md", 2));
}

#[test]
fn what_a_writer_that_was_replaced_still_has_may_come_and_is_not_asked_again_before() {
    let mut machine = Machine::new();
    let record = machine.saved("a.md", 2);
    machine.asks();
    machine.bench.restart_writers();
    let drained_at = machine::now() + 10 * SECOND;
    machine.pending.replace_runtime(machine.bench.shared.runtime(""), drained_at);
    machine.pending.end_draining(machine::now());
    machine.bench.pass(9 * SECOND);
    machine.pending.loaded(&record, machine::now());
    assert_eq!((machine.asks(), machine.pending.asked()), (vec![], 1));
    machine.answer(&record, 0);
    machine.bench.pass(SECOND);
    machine.pending.end_draining(machine::now());
    assert_eq!(machine.pending.asked(), 0);
    assert_eq!(machine.asks(), of("a.md", 1), "what came is not asked again, what did not come is");
}

#[test]
fn other_settings_for_the_same_writer_take_nothing_from_it() {
    let mut machine = Machine::new();
    machine.saved("a.md", 2);
    machine.asks();
    let same = machine.pending.runtime.with_settings(machine.pending.runtime.config.clone());
    machine.pending.replace_runtime(Arc::new(same), machine::now());
    machine.bench.pass(3600 * SECOND);
    machine.pending.end_draining(machine::now());
    assert_eq!((machine.asks(), machine.pending.asked()), (vec![], 1));
}

/// What the archive has for a note's first chunk by another model.
fn keep_of_another(machine: &Machine, record: &NoteRecord) {
    let chunk = &record.chunks[0];
    let context = ContextRecord { generation: "other/m/p1".to_owned(), ..machine.bench.context_for(record, chunk) };
    machine.bench.pipeline().store.keep_context_of(&record.path, &record.tags, key_of(chunk), &context).unwrap();
}

#[test]
fn an_answer_counts_though_the_context_of_another_model_serves_meanwhile() {
    let mut machine = Machine::new();
    let record = machine.saved("a.md", 2);
    machine.bench.pass(5 * SECOND);
    keep_of_another(&machine, &record);
    assert_eq!(machine.asks(), of("a.md", 2));
    let decided = machine.bench.decide(&Task::again(path("a.md")));
    assert_eq!(decided.chunks[0].decided.1, Reason::FoundInArchive);
    assert_eq!(decided.chunks[0].due, record.chunks[0].due, "the request is the same");
    machine.answer(&record, 0);
    let decided = machine.bench.decide(&Task::again(path("a.md")));
    assert_eq!(decided.chunks[0].due, None);
}

#[test]
fn what_another_model_was_to_write_anew_is_decided_about_before_the_model_in_force_is_asked() {
    let mut machine = Machine::new();
    let record = machine.bench.save("a.md", &report(2));
    record.chunks.iter().for_each(|chunk| drop(machine.bench.keep(&record, chunk)));
    machine.bench.decide(&Task::again(path("a.md")));
    machine.bench.pass(5 * SECOND);
    let due = PendingContext { reason: Reason::ContextualizerChanged, since: now_s(), tries: 0 };
    machine.amend("a.md", |record| {
        record.contextualizer = "other/m/p1".to_owned();
        record.chunks.iter_mut().for_each(|chunk| chunk.due = Some(due));
    });
    assert_eq!(machine.asks(), []);
    let decided = machine.bench.decide(&Task::again(path("a.md")));
    machine.pending.written(&decided, machine::now());
    machine.bench.pass(3600 * SECOND);
    assert_eq!(machine.asks(), []);
}

#[test]
fn what_the_model_in_force_wrote_for_a_text_is_not_asked_for_again_after_another_was_in_force() {
    let mut machine = Machine::new();
    let record = machine.saved("a.md", 2);
    machine.bench.keep(&record, &record.chunks[0]);
    machine.bench.decide(&Task::again(path("a.md")));
    machine.bench.pass(5 * SECOND);
    // With another model in force the section came anew.
    let due = PendingContext { reason: Reason::StructureChanged, since: now_s(), tries: 0 };
    machine.amend("a.md", |record| record.chunks[0].due = Some(due));
    machine.bench.pass(machine.pending.settle());
    assert_eq!(machine.asks(), of("a.md", 1));
    assert_eq!(machine.pending.take_arrived(), BTreeSet::from([path("a.md")]), "what is there is to be taken");
    let decided = machine.bench.decide(&Task::again(path("a.md")));
    assert_eq!(decided.chunks[0].due, None);
}
