use std::time::Duration;

use context::ContextRecord;
use context::plan::PendingContext;
use provider::simulation::What;
use serde_json::json;
use store::record::NoteRecord;

use super::*;
use crate::settings::{Settings, TeamConfig};
use crate::testing::{Bench, key_of, path, report};

const SECOND: Duration = Duration::from_secs(1);

const OF_LISBON: &str =
    "Yearly report: why the rollout in Lisbon slipped, and who renegotiates the contract with Northwind.";

fn bench(change: impl FnOnce(&mut Settings)) -> Bench {
    let bench = Bench::new(|settings| {
        settings.teams.insert("handbook".to_owned(), TeamConfig::new("http://team.invalid", "handbook"));
        change(settings);
    });
    bench.shared.teams.configure(&bench.shared, &bench.settings);
    bench
}

/// Has the writer ask about a note, for this reason.
fn write(bench: &Bench, record: &NoteRecord, reason: Reason) {
    bench.ask_writer(record, |due| PendingContext { reason, ..due });
}

/// A team that has one context, by this model, under a chunk's key.
fn has(record: &NoteRecord, chunk: usize, text: &str, by: &str) -> What {
    let payload = json!({
        "situated": "chunk", "vault": "theirs", "path": "b.md", "folders": ["b.md"], "title": "b", "headings": [],
        "own_tags": [], "tags": [], "day": 20_260_101, "mtime": 0, "chunk": "c", "position": 0, "chunks": 1,
        "lines": [1, 1], "text": "t", "context": format!("Report > Lisbon\n{text}"), "language": "en",
        "audience": "all", "revision": 1, "state": "s", "key": key_of(&record.chunks[chunk]).to_string(), "by": by,
    });
    let body = json!({"result": {"points": [{"id": "a", "payload": payload}], "next_page_offset": null}});
    What::Reply(200, Vec::new(), body.to_string().into_bytes())
}

fn given(bench: &Bench) -> usize {
    bench.events().iter().filter(|(_, event)| matches!(event, ContextEvent::Given)).count()
}

#[test]
fn what_a_team_has_is_taken_and_the_rest_is_bought() {
    let bench = bench(|_| {});
    let record = bench.save("a.md", &report(3));
    bench.model.team_says(has(&record, 0, OF_LISBON, "llm/other/1"));
    write(&bench, &record, Reason::NewNote);
    bench.drive(30 * SECOND);
    assert_eq!((bench.model.team_asked().len(), bench.model.asked().len(), given(&bench)), (1, 2, 1));
    assert!(record.chunks.iter().all(|chunk| bench.model.team_asked()[0].contains(&key_of(chunk).to_string())));
    let report = bench.shared.spender.ledger().report(machine::zoned());
    let saving = report.by_team[0].clone();
    assert_eq!((saving.team.as_str(), saving.contexts, saving.calls, report.today.calls), ("handbook", 1, 1, 2));
    // The note finds it as it finds what was bought, and asks for nothing more.
    let decided = bench.decide(&crate::decide::Task::again(path("a.md")));
    assert!(decided.chunks.iter().all(|chunk| chunk.due.is_none()), "{:?}", decided.chunks);
    let kept = bench.pipeline().store.contexts(&path("a.md")).unwrap();
    assert_eq!((kept[0].text.as_str(), kept[0].spent.micro_dollars), (OF_LISBON, None));
    assert_eq!(kept.iter().map(ContextRecord::is_given).collect::<Vec<_>>(), [true, false, false]);
    // It is written down, so that the next start knows it.
    let again = provider::ledger::Ledger::open(&provider::ledger::folder(&bench.settings.data_dir)).unwrap();
    assert_eq!((again.report(machine::zoned()).by_team, report.damaged_lines), (vec![saving], 0));
}

#[test]
fn what_is_of_no_use_is_bought_all_the_same() {
    let bench = bench(|_| {});
    let record = bench.save("a.md", &report(2));
    bench.model.team_says(has(&record, 0, "I cannot help with that request.", "llm/other/1"));
    write(&bench, &record, Reason::NewNote);
    bench.drive(30 * SECOND);
    assert_eq!((bench.model.team_asked().len(), bench.model.asked().len(), given(&bench)), (1, 2, 0));
    assert!(bench.shared.spender.ledger().report(machine::zoned()).by_team.is_empty());
}

#[test]
fn a_rebuild_asks_the_model_and_another_model_in_force_takes_only_its_own() {
    let bench = bench(|_| {});
    let record = bench.save("a.md", &report(2));
    bench.model.team_says(has(&record, 0, OF_LISBON, "llm/other/1"));
    write(&bench, &record, Reason::Rebuild);
    bench.drive(30 * SECOND);
    assert_eq!((bench.model.team_asked().len(), bench.model.asked().len()), (0, 2));
    write(&bench, &record, Reason::ContextualizerChanged);
    bench.drive(30 * SECOND);
    assert_eq!((bench.model.team_asked().len(), bench.model.asked().len(), given(&bench)), (1, 4, 0));
    bench.model.team_says(has(&record, 0, OF_LISBON, &bench.pipeline().contextualizer(None)));
    write(&bench, &record, Reason::ContextualizerChanged);
    bench.drive(30 * SECOND);
    assert_eq!((bench.model.team_asked().len(), bench.model.asked().len(), given(&bench)), (2, 5, 1));
}

#[test]
fn of_a_private_note_not_even_a_key_is_asked_for() {
    // A model on this machine may be shown it.
    let local = |settings: &mut Settings| settings.context.base_url = Some("http://127.0.0.1:1".to_owned());
    let bench = bench(local);
    let record = bench.save("a.md", &format!("---\ntags: [private]\n---\n{}", report(2)));
    bench.model.team_says(has(&record, 0, OF_LISBON, "llm/other/1"));
    write(&bench, &record, Reason::NewNote);
    bench.drive(30 * SECOND);
    assert_eq!((bench.model.team_asked().len(), bench.model.asked().len()), (0, 2));
}

#[test]
fn a_team_that_is_silent_is_waited_for_once() {
    let bench = bench(|_| {});
    bench.model.team_says(What::Nothing);
    let (first, second) = (bench.save("a.md", &report(2)), bench.save("b.md", &report(2)));
    write(&bench, &first, Reason::NewNote);
    bench.drive(SECOND);
    assert_eq!(bench.model.asked().len(), 0, "it is waited for");
    bench.drive(2 * SECOND);
    assert_eq!(bench.model.asked().len(), 2);
    write(&bench, &second, Reason::NewNote);
    bench.drive(SECOND);
    assert_eq!((bench.model.team_asked().len(), bench.model.asked().len()), (1, 4), "it is left alone for a while");
    bench.drive(60 * SECOND);
    let third = bench.save("c.md", &report(3));
    bench.model.team_says(has(&third, 0, OF_LISBON, "llm/other/1"));
    write(&bench, &third, Reason::NewNote);
    bench.drive(30 * SECOND);
    assert_eq!((bench.model.team_asked().len(), given(&bench)), (2, 1), "and asked again then");
}
