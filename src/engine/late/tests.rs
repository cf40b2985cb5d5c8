use std::time::Duration;

use super::*;
use crate::decide::Task;
use crate::testing::{Bench, Say, key_of, path, report};
use context::plan::Reason;

const SECOND: Duration = Duration::from_secs(1);

const CLAUSE: &str = "every clause of it is renegotiated";

/// Has the writer asked about a note whose text becomes another while the model writes, and decides about it again.
fn edited_meanwhile(edit: impl FnOnce(&Bench, &str)) -> (Bench, NoteRecord) {
    let bench = Bench::new(|settings| settings.context.concurrency = 4);
    bench.answer((0..4).map(|_| (10 * SECOND, Say::Well)));
    let text = report(3);
    bench.ask_writer(&bench.save("a.md", &text), |due| due);
    bench.drive(SECOND);
    assert_eq!(bench.model.asked().len(), 3);
    edit(&bench, &text);
    bench.drive(60 * SECOND);
    let decided = bench.decide(&Task::again(path("a.md")));
    (bench, decided)
}

/// Per chunk: whether a model is to be asked for its context, and why that should be another some time.
fn wants(record: &NoteRecord) -> Vec<(bool, Option<Reason>)> {
    record.chunks.iter().map(|chunk| (chunk.due.is_some(), chunk.later)).collect()
}

#[test]
fn what_was_written_while_a_body_was_edited_serves_the_text_that_is_there_now() {
    // Twice, and the second time nobody has looked at the note when the answer comes.
    let (bench, decided) = edited_meanwhile(|bench, text| {
        bench.save("a.md", &text.replacen(CLAUSE, "each clause of it is renegotiated", 1));
        bench.write("a.md", &text.replacen(CLAUSE, "each single clause is renegotiated", 1));
    });
    assert_eq!(wants(&decided), [(false, None); 3]);
    assert_eq!(decided.chunks[0].decided.1, Reason::ContextWritten);
    let contexts = bench.pipeline().store.contexts(&path("a.md")).unwrap();
    assert!(contexts[0].text.contains("Lisbon") && contexts[1].text.contains("Porto"), "{contexts:?}");
    let again = bench.decide(&Task::again(path("a.md")));
    assert_eq!(wants(&again), [(false, None); 3]);
}

#[test]
fn what_was_written_for_a_text_of_which_little_is_left_serves_and_is_refreshed_later() {
    let (_bench, decided) = edited_meanwhile(|bench, text| {
        let (start, rest) = text.split_once("The rollout in Lisbon").unwrap();
        let (_, rest) = rest.split_once("\n\n").unwrap();
        let other = "Nobody remembers why the harbour lantern was painted green, though the keeper asked all of them.";
        bench.save("a.md", &format!("{start}{other}\n\n{rest}"));
    });
    assert_eq!(wants(&decided), [(false, Some(Reason::Drifted)), (false, None), (false, None)]);
}

#[test]
fn a_section_that_is_renamed_while_the_model_writes_is_asked_about() {
    let (_bench, decided) =
        edited_meanwhile(|bench, text| drop(bench.save("a.md", &text.replacen("## The Lisbon", "## The Madrid", 1))));
    assert_eq!(wants(&decided), [(true, None), (false, None), (false, None)]);
}

#[test]
fn another_note_at_the_place_of_one_that_went_gets_nothing_of_it() {
    let (_bench, decided) = edited_meanwhile(|bench, text| {
        let store = &bench.pipeline().store;
        let removed = store::NoteWrite { put: None, moved_from: None, archive: Vec::new() };
        store.apply_many(vec![(path("a.md"), removed)]).unwrap();
        bench.wants.borrow_mut().clear();
        bench.save("a.md", &text.replace(CLAUSE, "nobody renegotiates any clause"));
    });
    assert_eq!(wants(&decided), [(true, None); 3]);
}

#[test]
fn equal_headings_that_shift_while_the_model_writes_keep_what_is_theirs() {
    let lead = "The rollout in Tavira slipped because the contract with Acme was late.\n\n";
    let text = report(3).replacen("## ", &format!("{lead}## "), 1);
    let meetings: Vec<&str> = text.split_inclusive("signed.\n\n").collect();
    let of = |meetings: &[&str]| {
        let places = ["Lisbon", "Porto", "Braga"].iter();
        places.fold(meetings.concat(), |text, place| text.replace(&format!("## The {place} rollout"), "## Meeting"))
    };
    let (title, first) = meetings[0].split_once("## ").unwrap();
    let first = format!("## {first}");
    let bench = Bench::new(|settings| settings.context.concurrency = 4);
    bench.answer((0..4).map(|_| (10 * SECOND, Say::Well)));
    let before = bench.save("a.md", &of(&[title, &first, meetings[1]]));
    bench.ask_writer(&before, |due| due);
    bench.drive(SECOND);
    bench.save("a.md", &of(&[title, meetings[2], &first, meetings[1]]));
    bench.drive(60 * SECOND);
    let decided = bench.decide(&Task::again(path("a.md")));
    assert_eq!(wants(&decided), [(false, None), (true, None), (false, None), (false, None)]);
    let contexts = bench.pipeline().store.contexts(&path("a.md")).unwrap();
    let for_texts: Vec<_> = contexts[2..].iter().map(|context| context.written_for).collect();
    assert_eq!(for_texts, before.chunks[1..].iter().map(|chunk| chunk.hash).collect::<Vec<_>>());
    assert_ne!(key_of(&decided.chunks[2]), key_of(&before.chunks[1]));
}
