//! Questions and terms that a model writes beside contexts: a passage is found by them, they are never shown as its text,
//! and they are bought and kept with the contexts.

use protocol::contexts::{ReviewRequest, Reviewed};
use protocol::decision::Reason;
use protocol::jobs::RebuildRequest;
use protocol::search::{Contextual, Include, Mode, SearchRequest};

use crate::contexts::{ATLAS, SMALL_CHUNKS, start, wait_written};
use crate::model::Model;
use crate::requests::{by_words, fresh, query};
use crate::support::{Daemon, Place, eventually};

/// Words that stand in a question and in a term alone.
const ASKED: &str = "delay";
const TERM: &str = "procurement";

const ON: &str = "expansion = \"questions\"\n";

/// A model that asks about the vendor's contract.
fn model() -> Model {
    let model = Model::start();
    model.beside(|_, passage| {
        if !passage.contains("vendor contract") {
            return (Vec::new(), Vec::new());
        }
        let questions = ["What is the reason for the delay of Atlas?", "Who reads the contract with Northwind?"];
        (questions.map(str::to_owned).to_vec(), [TERM, "supplier"].map(str::to_owned).to_vec())
    });
    model
}

fn configure(place: &Place, model: &Model, more: &str) {
    place.configure(&format!("{}{SMALL_CHUNKS}", model.config("anthropic", more)));
}

fn place(model: &Model, more: &str) -> Place {
    let place = Place::with(&[("Atlas rollout.md", ATLAS)]);
    configure(&place, model, more);
    place
}

/// First lines of the chunks that hold a word, or that questions with it were written for.
fn found(daemon: &mut Daemon, word: &str) -> Vec<u32> {
    daemon.ask(&by_words(word)).hits.iter().map(|hit| hit.line).collect()
}

/// What vectors alone say of a query, by line.
fn meant(daemon: &mut Daemon, contextual: bool) -> Vec<(u32, String)> {
    let (mode, contextual) = (Some(Mode::Dense), Some(Contextual::Flag(contextual)));
    let asked = SearchRequest {
        mode,
        contextual,
        explain: true,
        merge: Some(false),
        per_note: Some(9),
        ..query("procurement")
    };
    let score = |hit: &protocol::hit::Hit| hit.lanes.as_ref().and_then(|lanes| Some(lanes.dense.as_ref()?.score));
    loop {
        let answer = daemon.ask(&asked);
        // On a machine with much else to do, vectors without contexts take longer than a search waits.
        if !answer.warnings.iter().any(|warning| warning.contains("are being made")) {
            return answer.hits.iter().map(|hit| (hit.line, format!("{:.4?}", score(hit)))).collect();
        }
    }
}

fn reviewed(daemon: &mut Daemon) -> Vec<Reviewed> {
    daemon.ask(&ReviewRequest::default()).contexts
}

#[test]
fn a_passage_is_found_by_a_question_and_shows_its_own_text() {
    for form in ["", "form = \"chunk\"\n"] {
        let model = model();
        let place = place(&model, &format!("{ON}{form}"));
        let mut daemon = start(&place);
        wait_written(&mut daemon);
        let calls = model.calls();
        assert_eq!(calls, if form.is_empty() { 1 } else { 3 }, "no call is made for questions alone");
        assert!(model.asked().iter().all(crate::model::Asked::expands));

        let asked =
            SearchRequest { explain: true, include: vec![Include::Contextualized, Include::Text], ..by_words(TERM) };
        let answer = daemon.ask(&asked);
        let [hit] = &answer.hits[..] else { panic!("one passage: {answer:?}") };
        assert!(hit.text.contains("vendor contract") && hit.snippet.contains("vendor contract"), "{hit:?}");
        assert_eq!((hit.highlights.len(), answer.warnings.len()), (0, 0), "{answer:?}");
        let lanes = hit.lanes.clone().unwrap();
        assert_eq!(lanes.in_questions, [TERM]);
        let mut shown = hit.clone();
        shown.lanes = None;
        assert!(!format!("{shown:?}").contains(TERM), "what a model asked is shown nowhere: {shown:?}");
        let line = hit.line;
        for word in [ASKED, "delays", "supplier"] {
            assert_eq!(found(&mut daemon, word), [line], "{word}");
        }
        // Not as a phrase, not by an exclusion, and not where contexts are left out.
        assert_eq!(found(&mut daemon, "\"reason for the delay\""), [0; 0]);
        assert_eq!(found(&mut daemon, "lawyers -procurement"), [line]);
        let contextual = Some(Contextual::Flag(false));
        assert!(daemon.ask(&SearchRequest { contextual, ..by_words(TERM) }).hits.is_empty());
        let (on, alone) = (meant(&mut daemon, true), meant(&mut daemon, false));

        let contexts = reviewed(&mut daemon);
        let about: Vec<_> = contexts.iter().filter(|context| !context.questions.is_empty()).collect();
        assert_eq!((contexts.len(), about.len()), (3, 1), "{contexts:?}");
        assert_eq!((about[0].lines.0, about[0].questions.len(), &about[0].terms[0][..]), (line, 2, TERM));
        assert!(contexts.iter().all(|context| context.generation.contains("/p1q1")));
        let printed = String::from_utf8(place.run(&["contexts", "review"]).stdout).unwrap();
        assert!(printed.contains("beside it the model wrote") && printed.contains("procurement"), "{printed}");

        // A kill, a restart, and an edit that keeps the context.
        daemon.kill();
        let mut daemon = start(&place);
        wait_written(&mut daemon);
        assert_eq!((found(&mut daemon, TERM), meant(&mut daemon, true)), (vec![line], on.clone()));
        place.write("Atlas rollout.md", ATLAS.replace("every clause", "each and every clause"));
        daemon.wait_holding("each", &["Atlas rollout.md"]);
        daemon.decided("Atlas rollout.md", Reason::BodyChanged);
        assert_eq!(found(&mut daemon, TERM), [line]);
        place.write("Atlas rollout.md", ATLAS);
        daemon.ask(&fresh("Atlas"));
        wait_written(&mut daemon);
        daemon.stop();

        // Off: the contexts serve on, without questions in words and vectors; and on again.
        configure(&place, &model, form);
        let mut daemon = start(&place);
        let status = wait_written(&mut daemon);
        assert_eq!((status.contexts.old_generation, found(&mut daemon, TERM)), (3, vec![]), "{status:?}");
        let off = meant(&mut daemon, true);
        assert!(off != on && meant(&mut daemon, false) == alone, "{on:?} {off:?}");
        daemon.stop();
        configure(&place, &model, &format!("{ON}{form}"));
        let mut daemon = start(&place);
        let status = wait_written(&mut daemon);
        assert_eq!((status.contexts.old_generation, found(&mut daemon, TERM)), (0, vec![line]));
        assert_eq!(meant(&mut daemon, true), on);
        assert_eq!(model.calls(), calls, "nothing is bought a second time");
    }
}

#[test]
fn contexts_without_questions_are_kept_until_a_rebuild_by_batch() {
    let model = model();
    let place = place(&model, "");
    let mut daemon = start(&place);
    wait_written(&mut daemon);
    assert!(!model.asked()[0].expands(), "nobody is asked unless the user says so");
    daemon.stop();
    configure(&place, &model, ON);
    let mut daemon = start(&place);
    let status = wait_written(&mut daemon);
    assert_eq!((status.contexts.old_generation, model.calls()), (3, 1), "what was bought without serves on");
    assert_eq!(found(&mut daemon, TERM), [0; 0]);
    daemon.ask(&RebuildRequest { batch: true, ..RebuildRequest::default() });
    eventually("the questions are found", || found(&mut daemon, TERM).len() == 1);
    wait_written(&mut daemon);
    assert_eq!((model.batches().submitted(), model.calls()), (vec![1], 1));
    assert_eq!(reviewed(&mut daemon).iter().filter(|context| !context.terms.is_empty()).count(), 1);
}

#[test]
fn questions_of_no_use_cost_neither_a_call_nor_a_context() {
    let overlooked = Model::start();
    let useless = Model::start();
    useless.beside(|_, _| {
        (vec!["<note> Atlas?".into(), "Was Atlas late in 1987?".into(), "?".into()], vec!["⟦1⟧<".into()])
    });
    for model in [overlooked, useless] {
        let place = place(&model, ON);
        let mut daemon = start(&place);
        let status = wait_written(&mut daemon);
        assert_eq!((model.calls(), daemon.contextualized(), status.contexts.failed), (1, 3, 0));
        assert!(reviewed(&mut daemon).iter().all(|context| context.questions.is_empty() && context.terms.is_empty()));
    }
}

#[test]
fn what_was_asked_about_a_private_note_never_helps_to_find_a_public_one() {
    const SHARED: &str = "## Status\n\nThe hull was looked at in spring, and the harbour master wants a letter about every \
        rivet that was found loose by anybody who went aboard.\n\n\
        ## Crew\n\nNobody has signed yet, and the agency sends names when the winter season has come to its end.\n";
    let model = Model::start();
    model.beside(|document, _| {
        if !document.contains("title=\"Diary\"") {
            return (Vec::new(), Vec::new());
        }
        (vec!["What did the harbour say of the zanzibarque?".into()], vec!["zanzibarque".into()])
    });
    let place = Place::with(&[("Diary.md", &format!("---\ntags: [private]\n---\n{SHARED}"))]);
    configure(&place, &model, ON);
    let mut daemon = start(&place);
    wait_written(&mut daemon);
    assert!(!found(&mut daemon, "zanzibarque").is_empty(), "its owner finds it");
    let assistant = SearchRequest { audience: protocol::audience::Audience::Assistant, ..by_words("zanzibarque") };
    assert_eq!(daemon.ask(&assistant).hits, []);
    place.write("Open.md", SHARED);
    daemon.ask(&fresh("hull"));
    wait_written(&mut daemon);
    std::fs::remove_file(place.vault.join("Diary.md")).unwrap();
    daemon.wait_holding("hull", &["Open.md"]);
    place.write("Later.md", SHARED);
    daemon.ask(&fresh("hull"));
    wait_written(&mut daemon);
    assert_eq!(daemon.ask(&by_words("zanzibarque")).hits, []);
}
