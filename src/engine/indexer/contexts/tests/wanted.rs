//! What is asked for although nobody saved anything: a rebuild, the regular look, a generation that is built.

use super::*;

#[test]
fn a_rebuild_is_asked_for_when_all_is_decided_and_saves_go_before_it() {
    let mut machine = Machine::new();
    for (name, text) in [("old.md", report(2)), ("new.md", report(3).replace("rollout", "launch"))] {
        let record = machine.bench.save(name, &text);
        record.chunks.iter().for_each(|chunk| drop(machine.bench.keep(&record, chunk)));
    }
    machine.bench.pass(SECOND);
    let mut run = Run::new(7, Covered::default(), false);
    run.began = now_s();
    let id = run.id;
    machine.pending.run = Some(run);
    let rebuilt = machine.rebuild("old.md");
    assert!(rebuilt.chunks.iter().all(|chunk| chunk.due.is_some_and(|due| due.reason == Reason::Rebuild)));
    assert_eq!(machine.asks(), [], "nobody could say yet how far it is");
    machine.bench.pass(SECOND);
    let saved = machine.bench.save("save.md", &report(4).replace("rollout", "debut"));
    machine.pending.loaded(&saved, machine::now());
    let jobs = machine.jobs_unless(FREE);
    assert_eq!((jobs.len(), jobs[0].purpose, jobs[0].rebuild), (1, Purpose::Change, None), "a save is asked for");
    machine.pending.run.as_mut().unwrap().total = 2;
    let jobs = machine.jobs_unless(FREE);
    assert_eq!((jobs.len(), jobs[0].path.as_str(), jobs[0].pending.len()), (1, "old.md", 2));
    assert_eq!(jobs[0].purpose, Purpose::Rebuild(id));
    let budget = &machine.bench.settings.budget;
    assert_eq!(jobs[0].rebuild, Some((budget.rebuild, budget.rebuild_tokens)), "within its own budget");
}

#[test]
fn what_a_batch_is_to_bring_is_not_asked_for_alone() {
    let mut machine = Machine::new();
    machine.bench.save("a.md", &report(2));
    machine.pending.run = Some(Run { total: 2, ..Run::new(7, Covered::default(), true) });
    machine.rebuild("a.md");
    assert_eq!(machine.asks(), []);
    machine.pending.run.as_mut().unwrap().batch = false;
    machine.pending.queue_rebuilt(&machine.bench.pipeline(), machine::now()).unwrap();
    assert_eq!(machine.asks(), of("a.md", 2), "what the batch left is asked for one by one");
    machine.pending.queue_rebuilt(&machine.bench.pipeline(), machine::now()).unwrap();
    assert_eq!((machine.asks(), machine.pending.queue.len()), (vec![], 0), "the writer has it");
}

#[test]
fn a_rebuild_that_ends_early_asks_for_nothing_more_and_says_what_is_old() {
    let mut machine = Machine::new();
    let record = machine.bench.save("a.md", &report(2));
    record.chunks.iter().for_each(|chunk| drop(machine.bench.keep(&record, chunk)));
    machine.bench.decide(&Task::again(path("a.md")));
    machine.pending.run = Some(Run { total: 2, ..Run::new(7, Covered::default(), false) });
    machine.rebuild("a.md");
    machine.pending.take_back_rebuild(&machine.bench.pipeline(), true).unwrap();
    machine.pending.run = None;
    assert_eq!((machine.next_question(), machine.asks()), (None, vec![]));
    let record = machine.record("a.md");
    assert!(record.chunks.iter().all(|c| (c.due, c.later) == (None, Some(Reason::ContextualizerChanged))));
    assert_eq!(machine.pending.counters.sum().rebuild, 0);
}

#[test]
fn a_rebuild_that_ends_early_leaves_what_saves_had_asked_for() {
    let mut machine = Machine::new();
    machine.saved("a.md", 2);
    machine.pending.run = Some(Run { total: 2, ..Run::new(7, Covered::default(), false) });
    machine.rebuild("a.md");
    // A rebuild that takes the place of this one, and a save meanwhile, forget nothing.
    machine.rebuild("a.md");
    machine.bench.save("a.md", &report(3));
    // It is the rebuild that sees this note first.
    machine.bench.write("b.md", &report(4).replace("rollout", "launch"));
    machine.rebuild("b.md");
    machine.pending.take_back_rebuild(&machine.bench.pipeline(), false).unwrap();
    machine.pending.run = None;
    let reasons = |name: &str| -> Vec<_> {
        let record = machine.record(name);
        record.chunks.iter().map(|chunk| (chunk.due.map(|due| due.reason), chunk.later)).collect()
    };
    let asked = |reason| (Some(reason), None);
    let (new, changed) = (asked(Reason::NewNote), asked(Reason::StructureChanged));
    assert_eq!((reasons("a.md"), reasons("b.md")), (vec![new, new, changed], vec![new; 4]));
    assert_eq!(
        machine.jobs_unless(FREE).iter().map(|job| (job.purpose, job.pending.len())).collect::<Vec<_>>(),
        [(Purpose::Change, 3), (Purpose::Change, 4)]
    );
}

#[test]
fn a_drifted_context_is_asked_for_anew_once_by_the_look_that_is_due() {
    let mut machine = Machine::new();
    let record = machine.bench.save("a.md", &report(3));
    record.chunks.iter().for_each(|chunk| drop(machine.bench.keep(&record, chunk)));
    machine.bench.decide(&Task::again(path("a.md")));
    machine.amend("a.md", |record| {
        record.chunks[0].later = Some(Reason::Drifted);
        record.chunks[1].later = Some(Reason::ContextualizerChanged);
    });
    machine.bench.pass(3600 * SECOND);
    assert_eq!(machine.asks(), [], "it serves until then");
    assert_eq!(machine.refresh(Some(i64::MAX), Renew::Nothing), 0, "of notes that changed since alone");
    assert_eq!(machine.refresh(None, Renew::Nothing), 1);
    assert_eq!(machine.refresh(None, Renew::Nothing), 0, "it is asked for already");
    let jobs = machine.jobs_unless(FREE);
    let asked: Vec<_> = jobs.iter().flat_map(|job| &job.pending).collect();
    assert_eq!((asked.len(), jobs[0].purpose), (1, Purpose::Sync));
    // The old context lies in the archive and is no answer to this.
    let (key, due) = *asked[0];
    let old = machine.bench.pipeline().store.archived(key).unwrap().unwrap();
    assert_eq!((key, due.reason), (key_of(&record.chunks[0]), Reason::Drifted));
    assert!(due.since > old.written_at, "{due:?} {old:?}");
    machine.answer(&record, 0);
    machine.end("a.md", Err(refused()));
    assert_eq!(machine.asks(), [], "the new one is");
    // What another model wrote is left as it is unless the user wants it renewed, at a price.
    assert_eq!((machine.refresh(None, Renew::Free), machine.refresh(None, Renew::All)), (0, 1));
}

#[test]
fn a_rebuild_of_what_is_stale_asks_for_nothing_that_is_current() {
    let mut machine = Machine::new();
    for name in ["a.md", "b.md"] {
        let record = machine.bench.save(name, &report(4).replace("rollout", name));
        record.chunks.iter().for_each(|chunk| drop(machine.bench.keep(&record, chunk)));
        machine.bench.decide(&Task::again(path(name)));
    }
    let reasons = [Reason::ContextFailed, Reason::Drifted, Reason::ContextualizerChanged];
    machine.amend("a.md", |record| {
        record.chunks.iter_mut().zip(reasons).for_each(|(chunk, reason)| chunk.later = Some(reason));
    });
    machine.amend("b.md", |record| record.chunks[0].later = Some(Reason::Drifted));
    let covered = Covered { under: Some(path("a.md")), stale: true, ..Covered::default() };
    let run = Run::new(7, covered.clone(), false);
    let purpose = Purpose::Rebuild(run.id);
    machine.pending.run = Some(run);
    machine.pending.rebuild_stale(&machine.bench.pipeline(), &covered).unwrap();
    let total = machine.pending.counters.sum().rebuild;
    machine.pending.run.iter_mut().for_each(|run| run.total = total);
    let jobs = machine.jobs_unless(FREE);
    let asked = jobs.iter().map(|job| (job.path.as_str(), job.pending.len(), job.purpose)).collect::<Vec<_>>();
    assert_eq!(asked, [("a.md", 3, purpose)]);
    drop(jobs);
    machine.end("a.md", Err(Interrupted::Draining));
    machine.pending.take_back_rebuild(&machine.bench.pipeline(), true).unwrap();
    assert!(machine.record("a.md").chunks.iter().all(|chunk| chunk.due.is_none()));
}

#[test]
fn what_is_not_asked_by_itself_waits_for_the_user() {
    let mut machine = Machine::with(|context| context.automatic = false);
    machine.saved("a.md", 2);
    assert_eq!(machine.asks(), []);
    assert_eq!(machine.refresh(None, Renew::Nothing), 2);
    let jobs = machine.jobs_unless(FREE);
    assert_eq!((jobs.len(), jobs[0].pending.len(), jobs[0].purpose), (1, 2, Purpose::Sync));
}

#[test]
fn a_generation_that_does_not_answer_buys_nothing_unless_it_is_being_built() {
    let mut machine = Machine::new();
    machine.bench.vault.set_inactive(true);
    let record = machine.saved("a.md", 2);
    assert_eq!(machine.asks(), []);
    let run = Run::new(7, Covered::default(), false);
    let id = run.id;
    machine.pending.run = Some(run);
    machine.pending.loaded(&record, machine::now());
    let jobs = machine.jobs_unless(FREE);
    assert_eq!((jobs.len(), jobs[0].purpose), (1, Purpose::Rebuild(id)), "and then within the budget of that");
    assert!(jobs[0].rebuild.is_some());
}

#[test]
fn before_the_user_agrees_nothing_is_asked_but_a_rebuild_that_was_confirmed() {
    let mut machine = Machine::new();
    machine.agreed = false;
    machine.saved("a.md", 2);
    machine.refresh(None, Renew::All);
    assert_eq!((machine.asks(), machine.next_question()), (vec![], None));
    machine.bench.save("b.md", &report(3).replace("rollout", "launch"));
    machine.pending.run = Some(Run { total: 3, ..Run::new(7, Covered::default(), false) });
    machine.rebuild("b.md");
    assert_eq!(machine.asks(), of("b.md", 3), "and of that alone");
    machine.end("b.md", Ok(()));
    machine.pending.run = None;
    // A yes asks for what has waited, whether it was passed over meanwhile or not.
    machine.agreed = true;
    machine.pending.queue_all(&machine.bench.pipeline(), machine::now()).unwrap();
    assert!(machine.asks().contains(&("a.md".to_owned(), 2)));
}

#[test]
fn what_a_generation_beside_another_wants_for_saves_is_asked_for_once_it_answers() {
    let mut machine = Machine::new();
    machine.bench.vault.set_inactive(true);
    machine.saved("a.md", 2);
    assert_eq!((machine.asks(), machine.next_question()), (vec![], None), "only a build buys for it");
    machine.bench.vault.set_inactive(false);
    assert_eq!(machine.asks(), of("a.md", 2));
}

#[test]
fn a_rebuild_whose_budget_is_reserved_for_calls_under_way_waits_for_them() {
    let mut machine = Machine::with(|context| context.concurrency = 3);
    for (at, name) in ["a.md", "b.md", "c.md"].into_iter().enumerate() {
        let text = report(2).replace("Yearly", ["Old", "New", "Long"][at]);
        machine.bench.save(name, &text.replace("rollout", ["launch", "start", "debut"][at]));
    }
    machine.pending.run = Some(Run { total: 6, ..Run::new(7, Covered::default(), false) });
    ["a.md", "b.md", "c.md"].iter().for_each(|name| drop(machine.rebuild(name)));
    assert_eq!(machine.asks().len(), 3);
    let over = || Err(Interrupted::Budget(OverBudget::Rebuild { limit: 30, spent: 23, needed: 11 }));
    assert!(machine.take("c.md", ContextEvent::End(over())).is_none(), "what others have reserved may come back");
    machine.bench.pass(BUSY_AGAIN);
    assert_eq!((machine.asks(), machine.pending.asked()), (vec![], 2), "none of them is over");
    ["a.md", "b.md"].iter().for_each(|name| machine.end(name, Ok(())));
    machine.bench.pass(BUSY_AGAIN);
    assert!(machine.asks().iter().any(|(name, _)| name == "c.md"));
    let under_way: Vec<VaultPath> = machine.pending.asked.keys().cloned().collect();
    let ended: Vec<_> = under_way.iter().map(|path| machine.take(path.as_str(), ContextEvent::End(over()))).collect();
    let (last, before) = ended.split_last().unwrap();
    assert!(before.iter().all(Option::is_none), "{ended:?}");
    assert!(matches!(last, Some(Interrupted::Budget(OverBudget::Rebuild { .. }))), "nothing is reserved any more");
}
