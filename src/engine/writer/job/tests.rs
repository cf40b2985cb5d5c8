use std::time::Duration;

use super::*;
use crate::settings::Settings;
use crate::testing::{Bench, Say, report};
use provider::simulation::What;
use store::record::NoteRecord;

const SECOND: Duration = Duration::from_secs(1);

fn bench(concurrency: usize, change: impl FnOnce(&mut Settings)) -> Bench {
    Bench::new(|settings| {
        settings.context.concurrency = concurrency;
        change(settings);
    })
}

/// Has the writer ask about a note.
fn write(bench: &Bench, record: &NoteRecord) {
    bench.ask_writer(record, |due| due);
}

/// What the writer has said: the contexts that it kept, what else it told, and how the job ended.
struct Said {
    written: usize,
    told: Vec<&'static str>,
    end: Option<Result<(), Interrupted>>,
}

fn said(bench: &Bench) -> Said {
    let mut said = Said { written: 0, told: Vec::new(), end: None };
    for (path, event) in bench.events() {
        assert!(said.end.is_none(), "{path}: the end is told last");
        match event {
            ContextEvent::Written => said.written += 1,
            ContextEvent::Given => said.told.push("given"),
            ContextEvent::Tried(_) => said.told.push("tried"),
            ContextEvent::GaveUp(..) => said.told.push("gave up"),
            ContextEvent::End(end) => said.end = Some(end),
        }
    }
    let archived = bench.pipeline().store.export(std::io::sink(), &|_| true, &note::Private::default()).unwrap();
    assert!(archived >= said.written as u64, "a context is kept before it is told of");
    said
}

/// Good answers that take ten seconds.
fn late(times: usize) -> impl Iterator<Item = (Duration, Say)> {
    (0..times).map(|_| (10 * SECOND, Say::Well))
}

#[test]
fn a_question_has_its_place_before_it_has_its_money() {
    let bench = bench(2, |_| {});
    bench.answer(late(100));
    for name in ["a.md", "b.md", "c.md", "d.md"] {
        write(&bench, &bench.save(name, &report(3)));
    }
    bench.drive(SECOND);
    assert_eq!((bench.model.asked().len(), bench.reserved()), (2, 2), "what waits for its turn has reserved nothing");
    bench.drive(200 * SECOND);
    assert_eq!((bench.model.asked().len(), bench.model.delivered(), bench.reserved()), (12, 12, 0));
    // Two under way, and two that are answered and about to be kept.
    assert!(bench.model.reserved().iter().all(|standing| (1..=4).contains(standing)), "{:?}", bench.model.reserved());
}

#[test]
fn a_budget_that_refuses_a_question_waits_for_those_under_way_and_keeps_every_answer() {
    let today = |bench: &Bench| bench.shared.spender.ledger().report(machine::zoned()).today;
    // What a question reserves, and what an answer takes.
    let (each, taken) = {
        let bench = bench(1, |_| {});
        bench.answer(late(2));
        write(&bench, &bench.save("a.md", &report(8)));
        bench.drive(SECOND);
        let each = today(&bench).unsettled_micro_dollars;
        bench.drive(10 * SECOND);
        (each, today(&bench).micro_dollars - today(&bench).unsettled_micro_dollars)
    };
    assert!(each > 2 * taken && taken > 0, "{each} are reserved for a question, and {taken} taken");
    let bench = bench(4, |settings| settings.budget.day = 3 * each + each / 2);
    bench.model.takes(each / taken / 2);
    bench.answer(late(100));
    let record = bench.save("a.md", &report(8));
    write(&bench, &record);
    bench.drive(SECOND);
    assert_eq!((bench.model.asked().len(), bench.reserved()), (3, 3), "a fourth has its place and no money");
    bench.drive(300 * SECOND);
    let said = said(&bench);
    assert!(matches!(said.end, Some(Err(Interrupted::Budget(_)))), "{:?}", said.end);
    let asked = bench.model.asked().len();
    assert!((4..8).contains(&asked), "what was reserved and not taken buys more, and not all: {asked} calls");
    assert_eq!((bench.model.delivered(), bench.model.given_up(), said.written), (asked, 0, asked));
    assert_eq!(bench.reserved(), 0);
    assert_eq!(today(&bench).calls, asked as u64, "the ledger has what was sent");
}

#[test]
fn a_provider_that_stops_answering_loses_nothing_that_is_under_way() {
    let bench = bench(4, |_| {});
    let refusal = What::Reply(401, Vec::new(), b"{\"error\":{\"message\":\"invalid key\"}}".to_vec());
    bench.answer(late(2));
    bench.answer([(SECOND, Say::This(refusal))]);
    bench.answer(late(100));
    let record = bench.save("a.md", &report(8));
    write(&bench, &record);
    bench.drive(300 * SECOND);
    let said = said(&bench);
    assert!(matches!(said.end, Some(Err(Interrupted::Provider(_)))), "{:?}", said.end);
    let asked = bench.model.asked().len();
    assert!((3..8).contains(&asked), "{asked} calls");
    assert_eq!((bench.model.delivered(), bench.model.given_up(), said.written), (asked, 0, asked - 1));
    assert_eq!(bench.reserved(), 0);
    let outcomes = bench.shared.runtime("").writer.as_ref().unwrap().author.outcomes.all();
    assert_eq!(outcomes.get("failed_unauthorized"), Some(&1), "questions that were not sent are no failed calls");
}

#[test]
fn a_writer_that_ends_waits_for_what_is_about_to_come_and_sends_nothing_more() {
    // (when it ends, what has come by the end, what is given up)
    for (ends, come, given_up) in [(52 * SECOND, 4, 0), (45 * SECOND, 2, 2)] {
        let mut bench = bench(2, |_| {});
        bench.answer((0..100).map(|_| (30 * SECOND, Say::Well)));
        let record = bench.save("a.md", &report(8));
        write(&bench, &record);
        bench.drive(ends);
        assert_eq!((bench.model.asked().len(), bench.model.delivered()), (4, 2), "as many at once as there are places");
        bench.end_writers();
        bench.drive(60 * SECOND);
        let said = said(&bench);
        assert_eq!((bench.model.asked().len(), bench.model.given_up(), said.written), (4, given_up, come));
        let is_told = matches!(said.end, Some(Err(Interrupted::Draining)));
        assert_eq!(is_told, given_up == 0, "{:?}", said.end);
        // What was given up may have been billed.
        let today = bench.shared.spender.ledger().report(machine::zoned()).today;
        assert_eq!((bench.reserved(), today.calls), (0, 4));
    }
}

#[test]
fn what_was_answered_is_not_asked_again_and_what_never_is_ends_after_three_tries() {
    let bench = bench(1, |_| {});
    let useless = || (Duration::ZERO, Say::Words("I'm sorry, but I can't help with that."));
    // The first question of two about this note; the second is answered well.
    bench.answer([useless()]);
    let record = bench.save("a.md", &report(2));
    write(&bench, &record);
    bench.drive(SECOND);
    let first = said(&bench);
    assert!(matches!(first.end, Some(Ok(()))), "{:?}", first.end);
    assert_eq!((first.told, first.written, bench.model.asked().len()), (vec!["tried"], 2, 3));
    let about = |place: &str| bench.model.asked().iter().filter(|task| task.contains(place)).count();
    assert_eq!((about("rollout in Lisbon"), about("rollout in Porto")), (2, 1));
    bench.answer((0..6).map(|_| useless()));
    let text = report(2).replace("Yearly", "Daily");
    write(&bench, &bench.save("b.md", &text.replace("rollout", "launch")));
    bench.drive(SECOND);
    let second = said(&bench);
    assert!(matches!(second.end, Some(Ok(()))), "{:?}", second.end);
    assert_eq!(second.told.iter().filter(|told| **told == "gave up").count(), 2);
    assert_eq!((second.told.len(), second.written, bench.model.asked().len()), (6, 0, 9));
}

#[test]
fn a_note_that_has_become_private_meanwhile_is_not_shown() {
    let bench = bench(2, |_| {});
    let record = bench.save("a.md", &report(3));
    bench.write("a.md", &format!("{}\n#private\n", report(3)));
    write(&bench, &record);
    bench.drive(SECOND);
    let said = said(&bench);
    assert!(matches!(said.end, Some(Err(Interrupted::Changed))), "{:?}", said.end);
    assert_eq!((bench.model.asked().len(), bench.reserved(), said.written), (0, 0, 0));
}

#[test]
fn what_is_not_wanted_any_more_is_not_sent_and_what_was_sent_is_kept() {
    let bench = bench(2, |_| {});
    bench.answer(late(100));
    write(&bench, &bench.save("a.md", &report(8)));
    bench.drive(15 * SECOND);
    assert_eq!((bench.model.asked().len(), bench.model.delivered()), (4, 2));
    bench.wants.borrow_mut().clear();
    bench.drive(100 * SECOND);
    let said = said(&bench);
    assert!(matches!(said.end, Some(Err(Interrupted::Draining))), "{:?}", said.end);
    assert_eq!((bench.model.asked().len(), said.written, bench.reserved()), (4, 4, 0));
}

#[test]
fn a_note_that_is_too_long_is_shown_in_part_for_every_passage_and_then_not_at_all() {
    let too_long = || {
        let body = b"{\"error\":{\"message\":\"too long\",\"code\":\"context_length_exceeded\"}}".to_vec();
        (SECOND, Say::This(What::Reply(400, Vec::new(), body)))
    };
    // (how many refusals there are, how many questions are asked, how many of these are without the note)
    for (refusals, asked, simple) in [(4, 8, 0), (6, 10, 2), (8, 12, 4)] {
        let bench = bench(4, |settings| settings.context.max_document_tokens = Some(100_000));
        bench.answer((0..refusals).map(|_| too_long()));
        write(&bench, &bench.save("a.md", &report(4)));
        bench.drive(30 * SECOND);
        let without = bench.model.asked().iter().filter(|task| task.contains("Note: ")).count();
        assert_eq!((bench.model.asked().len(), without, said(&bench).written), (asked, simple, 4));
    }
}
