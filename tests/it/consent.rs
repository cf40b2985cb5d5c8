//! Money said before it is spent: a model that costs, or is elsewhere, writes nothing before the user has agreed.

use std::time::Duration;

use protocol::ask::AskRequest;
use protocol::audience::Audience;
use protocol::contexts::{GenerateRequest, Offer, OfferedWork, StartContextsRequest, StopContextsRequest};
use protocol::envelope::ErrorKind;
use protocol::jobs::{JobKind, JobState, RebuildRequest};
use protocol::search::SearchRequest;
use protocol::status::{RunState, Status};

use crate::contexts::{ATLAS, SMALL_CHUNKS, start, wait_written};
use crate::model::Model;
use crate::own_files::all;
use crate::requests::{paths, query};
use crate::reranker::Reranker;
use crate::support::{Daemon, Place, eventually};
use crate::vectors::Vectors;

/// `[context]` with a priced model, to which nobody has agreed.
fn asking(model: &Model, id: &str) -> String {
    let config = model.config("anthropic", &format!("model = {id:?}"));
    format!("{}{SMALL_CHUNKS}", config.replace("consent = \"given\"\n", ""))
}

/// A vault of one note in three chunks whose contexts a priced model is to write; nobody has agreed.
fn place(model: &Model) -> Place {
    let place = Place::with(&[("Atlas rollout.md", ATLAS)]);
    place.configure(&asking(model, "claude-haiku-4-5"));
    place
}

/// The offer that waits for a yes, when all is indexed.
fn offer(daemon: &mut Daemon) -> Offer {
    let waits = |chunks: u64| chunks > 0;
    let status = daemon.wait_for("an offer", |status| {
        status.state == RunState::Idle && status.contexts.offers.iter().any(|offer| waits(offer.estimate.chunks))
    });
    status.contexts.offers.into_iter().next().expect("an offer")
}

/// What is offered, and whether it was agreed to.
fn offered(daemon: &mut Daemon) -> Offer {
    let request = StartContextsRequest { dry_run: true, ..StartContextsRequest::default() };
    daemon.ask(&request).vaults.into_iter().next().expect("an offer")
}

/// A daemon whose user has agreed, with all contexts written.
fn started(place: &Place) -> Daemon {
    let mut daemon = start(place);
    offer(&mut daemon);
    daemon.ask(&StartContextsRequest::default());
    wait_written(&mut daemon);
    daemon
}

#[test]
fn nothing_is_asked_before_the_user_agrees_and_all_of_it_after() {
    let model = Model::start();
    let place = place(&model);
    let mut daemon = start(&place);
    let offer = offer(&mut daemon);
    assert_eq!((offer.agreed, offer.estimate.chunks, offer.days), (false, 3, Some(1)), "{offer:?}");
    assert!(offer.estimate.micro_dollars > Some(0) && offer.model == "claude-haiku-4-5", "{offer:?}");
    // A save and the look after stale contexts ask for nothing either.
    place.write("Atlas rollout.md", ATLAS.replace("## Risks", "## Dangers"));
    assert_eq!(place.run(&["sync", "--wait", "--since", "all"]).status.code(), Some(0));
    let status = String::from_utf8(place.run(&["status"]).stdout).unwrap();
    assert!(status.contains("waits for your yes: `situated contexts start`"), "{status}");
    // An assistant cannot agree for the user, and where nobody can be asked nobody has.
    let assistant = StartContextsRequest { audience: Audience::Assistant, ..StartContextsRequest::default() };
    assert_eq!(daemon.refused(&assistant).kind, ErrorKind::Forbidden);
    let told = String::from_utf8(place.run(&["contexts", "start", "--dry-run"]).stderr).unwrap();
    assert!(told.contains("claude-haiku-4-5 writes contexts for 3 chunks of 1 note"), "{told}");
    assert_eq!(place.run(&["contexts", "start"]).status.code(), Some(2));
    assert_eq!(model.calls(), 0);

    assert_eq!(place.run(&["contexts", "start", "--yes"]).status.code(), Some(0));
    assert!(wait_written(&mut daemon).contexts.offers.is_empty());
    assert_eq!(model.calls(), 1);
    // A second yes buys nothing, and neither does another process.
    assert_eq!(place.run(&["contexts", "start", "--yes"]).status.code(), Some(0));
    daemon.stop();
    let mut daemon = start(&place);
    assert!(offered(&mut daemon).agreed);

    // And back: what is new has the free context from now on.
    assert!(!daemon.ask(&StopContextsRequest::default()).vaults[0].agreed);
    place.write("Atlas rollout.md", ATLAS.replace("## Budget", "## Money"));
    daemon.wait_for("a request that waits", |status| status.contexts.waiting > 0 && status.state == RunState::Idle);
    assert!(!offered(&mut daemon).agreed);
    assert_eq!(model.calls(), 1);

    // A rebuild is bought all the same, and what changes afterwards is not.
    let job = daemon.ask(&RebuildRequest::default()).job;
    eventually("the rebuild ends", || daemon.job(job).state == JobState::Done);
    assert_eq!((offered(&mut daemon).agreed, model.calls()), (false, 2));
    place.write("Atlas rollout.md", ATLAS.replace("## Budget", "## Cash"));
    daemon.wait_for("a request that waits", |status| status.contexts.waiting > 0 && status.state == RunState::Idle);
    assert_eq!(model.calls(), 2);
}

/// At once after a start, whatever is read by then.
#[test]
fn an_estimate_is_of_all_notes_though_they_are_read_for_the_first_time() {
    const NOTES: u64 = 120;
    let (model, vectors) = (Model::start(), Vectors::start(24));
    for embedder in [false, true] {
        let place = Place::new();
        (0..NOTES).for_each(|n| place.write(&format!("{n}.md"), ATLAS));
        let config = if embedder { asking_embedder(&vectors, "a") } else { asking(&model, "claude-haiku-4-5") };
        place.configure(&config);
        let mut daemon = place.spawn_command(place.command().env("ANTHROPIC_API_KEY", "sk-test-key").arg("run"));
        daemon.wait_for("a vault", |status| !status.vaults.is_empty());
        let offer = offered(&mut daemon);
        assert_eq!((offer.agreed, offer.estimate.notes), (false, NOTES), "{offer:?}");
        assert!(
            embedder || daemon.ask(&RebuildRequest { dry_run: true, ..RebuildRequest::default() }).total == Some(NOTES)
        );
    }
}

#[test]
fn a_no_that_is_lost_is_no_yes() {
    let model = Model::start();
    let place = place(&model);
    let mut daemon = started(&place);
    daemon.ask(&StopContextsRequest::default());
    daemon.stop();
    std::fs::remove_file(place.store().join("consent.json")).unwrap();
    place.write("Atlas rollout.md", ATLAS.replace("## Budget", "## Money"));
    let mut daemon = start(&place);
    assert!(!offer(&mut daemon).agreed);
    assert_eq!(model.calls(), 1);
}

#[test]
fn an_assistant_that_may_spend_has_no_model_asked_before_the_user_agrees() {
    let model = Model::start();
    let place = place(&model);
    place.configure(&format!(
        "{}[mcp]\nallow_spending = true\n[search]\nexpand = \"queries\"\n",
        asking(&model, "claude-haiku-4-5")
    ));
    let mut daemon = start(&place);
    offer(&mut daemon);
    let audience = Audience::Assistant;
    let rebuild = RebuildRequest { audience, path: Some("Atlas rollout.md".into()), ..RebuildRequest::default() };
    let ask = AskRequest { audience, question: "When is the rollout?".into(), ..AskRequest::default() };
    let generate = GenerateRequest {
        audience,
        chunk: "They nest in alders.".into(),
        document: "# Heron\n\nThey nest in alders.\n".into(),
        ..GenerateRequest::default()
    };
    for refused in [daemon.refused(&rebuild), daemon.refused(&ask), daemon.refused(&generate)] {
        assert_eq!(refused.kind, ErrorKind::Forbidden);
        assert!(refused.message.contains("`situated contexts start`"), "{refused:?}");
    }
    daemon.ask(&SearchRequest { audience, ..query("rollout") });
    // The user agrees by asking for other words, not by having them configured.
    let found = daemon.ask(&query("rollout"));
    assert!(found.warnings.concat().contains("`situated contexts start`") && !found.hits.is_empty(), "{found:?}");
    assert_eq!(model.calls(), 0);

    daemon.ask(&StartContextsRequest::default());
    wait_written(&mut daemon);
    daemon.ask(&generate);
    // Nor is it asked about each letter of a query that is being typed.
    daemon.ask(&SearchRequest { prefix: true, ..query("roll") });
    assert_eq!(model.calls(), 2);
    let job = daemon.ask(&rebuild).job;
    eventually("the rebuild ends", || daemon.job(job).state == JobState::Done);
    assert_eq!(model.calls(), 3);
}

#[test]
fn a_rebuild_that_is_confirmed_agrees_and_one_of_a_note_buys_that_note_alone() {
    let model = Model::start();
    let place = place(&model);
    place.write("Other rollout.md", ATLAS.replace("Atlas", "Hermes"));
    let mut daemon = start(&place);
    offer(&mut daemon);
    let path = Some("Other rollout.md".to_owned());
    let job = daemon.ask(&RebuildRequest { path, ..RebuildRequest::default() }).job;
    eventually("the rebuild of a note ends", || daemon.job(job).state == JobState::Done);
    assert!(!offered(&mut daemon).agreed);
    assert_eq!(model.calls(), 1);

    daemon.ask(&RebuildRequest::default());
    wait_written(&mut daemon);
    assert!(offered(&mut daemon).agreed);
    assert_eq!(model.calls(), 3, "both notes");
}

#[test]
fn another_model_asks_again_and_keeps_what_the_first_one_wrote() {
    let model = Model::start();
    let place = place(&model);
    let mut daemon = started(&place);

    place.configure(&asking(&model, "claude-haiku-5-5"));
    let reload = || String::from_utf8(place.run(&["config", "reload"]).stderr).unwrap();
    let reloaded = reload();
    assert!(reloaded.contains("has read its configuration again"), "{reloaded}");
    assert!(reloaded.contains("waits for your yes") && reloaded.contains("3 contexts of another model"), "{reloaded}");
    daemon.wait_for("the other model", |status| {
        status.contexts.old_generation == 3 && status.contexts.offers.iter().any(|offer| offer.kept == 3)
    });
    let kept = offered(&mut daemon);
    assert_eq!((kept.agreed, kept.estimate.chunks, kept.kept), (false, 0, 3), "{kept:?}");
    // What is kept is not bought again by a yes alone.
    daemon.ask(&StartContextsRequest::default());
    place.run(&["sync", "--wait"]);
    assert_eq!((offered(&mut daemon).agreed, model.calls()), (true, 1));
    daemon.ask(&StartContextsRequest { replace: true, ..StartContextsRequest::default() });
    daemon.wait_for("new contexts", |status| status.contexts.old_generation == 0 && status.contexts.waiting == 0);
    assert_eq!(model.calls(), 2);

    // What the first one wrote is there, and its yes too.
    place.configure(&asking(&model, "claude-haiku-4-5"));
    let back = reload();
    assert!(!back.contains("of another model") && !back.contains("waits"), "{back}");
}

#[test]
fn a_provider_for_a_vault_that_has_free_contexts_says_what_it_takes_and_waits() {
    let model = Model::start();
    let place = Place::with(&[("Atlas rollout.md", ATLAS)]);
    place.configure(SMALL_CHUNKS);
    let mut daemon = start(&place);
    let nobody = daemon.refused(&StartContextsRequest::default());
    assert!(nobody.message.contains("no model writes contexts"), "{nobody:?}");
    daemon.stop();

    place.configure(&asking(&model, "claude-haiku-4-5"));
    let mut daemon = start(&place);
    assert_eq!(offer(&mut daemon).estimate.chunks, 3);
    assert_eq!(model.calls(), 0);
    daemon.ask(&StartContextsRequest::default());
    daemon.wait_for("contexts", |status| status.contexts.drifted == 0 && status.contexts.waiting == 0);
    assert_eq!(model.calls(), 1);
}

#[test]
fn a_yes_while_the_budget_is_used_up_buys_nothing_and_is_kept() {
    let model = Model::start();
    let place = place(&model);
    place.configure(&format!("{}[budget]\nday = 0.0\n", asking(&model, "claude-haiku-4-5")));
    let mut daemon = start(&place);
    assert_eq!(offer(&mut daemon).days, Some(u64::MAX));
    daemon.ask(&StartContextsRequest::default());
    daemon.wait_for("the budget", |status| status.contexts.held.as_ref().is_some_and(|why| why.contains("budget")));
    assert!(offered(&mut daemon).agreed && model.calls() == 0);
    place.configure(&asking(&model, "claude-haiku-4-5"));
    place.run(&["config", "reload"]);
    wait_written(&mut daemon);
    assert_eq!(model.calls(), 1);
}

#[test]
fn what_was_bought_by_a_version_that_did_not_ask_goes_on() {
    let model = Model::start();
    let place = place(&model);
    let daemon = started(&place);
    daemon.stop();
    // As that version left it.
    let consents: Vec<_> = all(&place.data()).into_iter().filter(|path| path.ends_with("consent.json")).collect();
    assert_eq!(consents.len(), 1, "{consents:?}");
    std::fs::remove_file(&consents[0]).unwrap();
    std::fs::remove_file(place.store().join("version")).unwrap();
    place.write("Atlas rollout.md", ATLAS.replace("## Risks", "## Dangers"));
    let mut daemon = start(&place);
    wait_written(&mut daemon);
    assert!(offered(&mut daemon).agreed);
    assert_eq!(model.calls(), 2);
}

#[test]
fn a_yes_is_not_for_another_folder_of_the_same_name_even_if_it_was_taken_back() {
    for taken_back in [false, true] {
        let model = Model::start();
        let place = place(&model);
        let mut daemon = started(&place);
        if taken_back {
            daemon.ask(&StopContextsRequest::default());
        }
        daemon.stop();
        // The index of another folder is new; the ledger knows the name.
        std::fs::remove_dir_all(place.store_path()).unwrap();
        let mut daemon = start(&place);
        assert!(!offer(&mut daemon).agreed, "{taken_back}");
        assert_eq!(model.calls(), 1);
    }
}

/// An embedder that costs, to which nobody has agreed.
fn asking_embedder(server: &Vectors, model: &str) -> String {
    server.config("openai", model, "price_per_mtok = 100.0").replace("consent = \"given\"\n", "")
}

/// The offer of an embedder.
fn of_vectors(daemon: &mut Daemon) -> Offer {
    let of_vectors = |offer: &&Offer| offer.what == OfferedWork::Vectors;
    let status = daemon.wait_for("an offer of vectors", |status| {
        status.state == RunState::Idle && status.contexts.offers.iter().any(|offer| of_vectors(&offer))
    });
    status.contexts.offers.iter().find(of_vectors).expect("an offer").clone()
}

fn served_by(daemon: &mut Daemon, name: &str) {
    daemon.wait_for(name, |status| status.embedder.contains(name) && status.embedding.next.is_none());
}

#[test]
fn an_embedder_that_costs_is_shown_no_note_before_the_user_agrees() {
    let server = Vectors::start(24);
    let place = Place::with(&[("Atlas rollout.md", ATLAS)]);
    place.configure(&asking_embedder(&server, "m"));
    let mut daemon = start(&place);
    let offer = of_vectors(&mut daemon);
    assert_eq!((offer.agreed, offer.provider.as_str(), offer.model.as_str()), (false, "openai", "m"), "{offer:?}");
    assert!(offer.estimate.micro_dollars > Some(0) && offer.estimate.notes == 1, "{offer:?}");
    // Nothing is wrong, nothing goes on, and the built-in model serves.
    let status = daemon.status();
    assert!(status.problems.is_empty() && status.embedder.starts_with("builtin"), "{status:?}");
    assert!(daemon.newest(JobKind::Embed).is_none());
    place.write("Other rollout.md", ATLAS.replace("Atlas", "Hermes"));
    assert_eq!(place.run(&["sync", "--wait"]).status.code(), Some(0));
    assert!(!server.texts().iter().any(|text| text.contains("Atlas") || text.contains("Hermes")), "no note was sent");
    let shown = String::from_utf8(place.run(&["status"]).stdout).unwrap();
    assert!(shown.contains("waits for your yes: `situated contexts start` (vectors of "), "{shown}");
    let told = String::from_utf8(place.run(&["contexts", "start", "--dry-run"]).stderr).unwrap();
    assert!(told.contains("openai m makes the vectors of "), "{told}");
    let assistant = StartContextsRequest { audience: Audience::Assistant, ..StartContextsRequest::default() };
    assert_eq!(daemon.refused(&assistant).kind, ErrorKind::Forbidden);

    // A process that ends forgets no refusal.
    daemon.stop();
    let mut daemon = start(&place);
    of_vectors(&mut daemon);
    assert_eq!(place.run(&["contexts", "start", "--yes"]).status.code(), Some(0));
    served_by(&mut daemon, "openai m 24");
    assert!(server.texts().iter().any(|text| text.contains("Hermes")));
    // Each process has asked once how long the vectors are, before the yes.
    assert_eq!(server.asked().iter().filter(|asked| asked.texts == ["dimensions"]).count(), 2);
    assert!(daemon.status().contexts.offers.is_empty());
    // What serves goes on after a start, and for what is saved.
    daemon.stop();
    let mut daemon = start(&place);
    place.write("Third rollout.md", ATLAS.replace("Atlas", "Aeolus"));
    eventually("the note that was saved", || server.texts().iter().any(|text| text.contains("Aeolus")));

    // The same model at another address asks again: text would go there.
    let elsewhere = Vectors::start(24);
    place.configure(&asking_embedder(&elsewhere, "m").replace("price_per_mtok", "passes_on = true\nprice_per_mtok"));
    daemon.reload();
    assert!(of_vectors(&mut daemon).leaves_to.is_some());
    assert!(!elsewhere.texts().iter().any(|text| text.contains("rollout")));
    daemon.ask(&StartContextsRequest::default());
    served_by(&mut daemon, "openai m 24");
    place.write("Fourth rollout.md", ATLAS.replace("Atlas", "Boreas"));
    eventually("it is asked", || elsewhere.texts().iter().any(|text| text.contains("Boreas")));
}

#[test]
fn a_yes_to_an_embedder_is_taken_back_while_its_vectors_are_made() {
    let server = Vectors::start(24);
    server.latency(Duration::from_secs(20));
    let place = Place::with(&[("Atlas rollout.md", ATLAS)]);
    // The number of dimensions is said, so that nobody has to be asked for it.
    place.configure(&asking_embedder(&server, "m\"\ndimensions = 24\n#"));
    let mut daemon = start(&place);
    of_vectors(&mut daemon);
    assert!(server.texts().is_empty(), "not a word was sent");
    daemon.ask(&StartContextsRequest::default());
    eventually("vectors are being made", || !server.texts().is_empty());
    let stopped = daemon.ask(&StopContextsRequest::default());
    assert_eq!(stopped.vaults.iter().map(|offer| offer.what).collect::<Vec<_>>(), [OfferedWork::Vectors]);
    eventually("the job ends", || daemon.newest(JobKind::Embed).is_some_and(|job| job.state == JobState::Cancelled));
    assert!(!of_vectors(&mut daemon).agreed);
    assert!(daemon.status().embedder.starts_with("builtin"));
}

#[test]
fn a_yes_to_the_embedder_that_serves_is_taken_back_and_it_is_shown_nothing_more() {
    let server = Vectors::start(24);
    let place = Place::with(&[("Atlas rollout.md", ATLAS)]);
    place.configure(&asking_embedder(&server, "m"));
    let mut daemon = start(&place);
    of_vectors(&mut daemon);
    daemon.ask(&StartContextsRequest::default());
    served_by(&mut daemon, "openai m 24");
    let told = String::from_utf8(place.run(&["contexts", "start", "--dry-run"]).stderr).unwrap();
    assert!(told.contains("openai m makes the vectors of what you change"), "{told}");

    let stopped = daemon.ask(&StopContextsRequest::default());
    assert_eq!(stopped.vaults.iter().map(|o| (o.what, o.agreed)).collect::<Vec<_>>(), [(OfferedWork::Vectors, false)]);
    let shown_before = server.texts().len();
    for (name, restarted) in [("Hermes", false), ("Aeolus", true)] {
        place.write(&format!("{name} rollout.md"), ATLAS.replace("Atlas", name));
        daemon.wait_holding(name, &[&format!("{name} rollout.md")]);
        daemon.wait_for("an offer", |status| status.contexts.offers.iter().any(|offer| !offer.agreed));
        let found = daemon.ask(&query("rollout budget"));
        assert!(found.warnings.concat().contains("you took back your yes"), "{found:?}");
        assert!(daemon.status().problems.concat().contains("you took back your yes"));
        assert_eq!(server.texts().len(), shown_before, "neither notes nor queries are shown to it");
        if !restarted {
            daemon.stop();
            daemon = start(&place);
        }
    }
    // Given again, what it made before is there, and only what is new is sent.
    daemon.ask(&StartContextsRequest::default());
    served_by(&mut daemon, "openai m 24");
    eventually("what was saved meanwhile", || server.texts().iter().any(|text| text.contains("Hermes")));
    assert_eq!(server.texts().iter().filter(|text| text.contains("Atlas")).count(), shown_before);
    assert!(daemon.status().problems.is_empty());
}

#[test]
fn a_reranker_that_costs_judges_what_the_user_asks_it_to_until_it_is_agreed_to() {
    let reranker = Reranker::start("lagoon");
    let place =
        Place::with(&[("a.md", "# Heron\n\nHeron, heron.\n"), ("b.md", "# Lagoon\n\nA heron in the lagoon.\n")]);
    place.configure(&reranker.config("tei", "price_per_1k = 2.0").replace("consent = \"given\"\n", ""));
    let mut daemon = start(&place);
    let not_reranked = daemon.ask(&query("heron"));
    assert!(not_reranked.warnings.concat().contains("the reranker waits for your yes"), "{not_reranked:?}");
    let assistant = SearchRequest { rerank: Some(true), audience: Audience::Assistant, ..query("heron") };
    assert!(daemon.ask(&assistant).warnings.concat().contains("waits for your yes"));
    assert!(reranker.asked().is_empty());
    let shown = String::from_utf8(place.run(&["status"]).stdout).unwrap();
    assert!(shown.contains("waits for your yes: `situated contexts start` (reranking by tei, at most $"), "{shown}");
    // Who asks for it agrees, for that search.
    let asked = daemon.ask(&SearchRequest { rerank: Some(true), ..query("heron") });
    assert_eq!((paths(&asked.hits)[0], reranker.asked().len()), ("b.md", 1));
    daemon.ask(&query("lagoon"));
    assert_eq!(reranker.asked().len(), 1);

    let said = String::from_utf8(place.run(&["contexts", "start", "--yes"]).stderr).unwrap();
    assert!(said.contains("searches are reranked from now on"), "{said}");
    daemon.stop();
    let mut daemon = start(&place);
    assert_eq!(daemon.ask(&query("lagoon")).warnings, Vec::<String>::new());
    assert_eq!(reranker.asked().len(), 2);
    assert_eq!(place.run(&["contexts", "stop"]).status.code(), Some(0));
    daemon.ask(&query("heron lagoon"));
    assert_eq!(reranker.asked().len(), 2);
}

#[test]
fn an_embedder_that_no_budget_allows_is_not_offered() {
    let server = Vectors::start(24);
    let place = Place::with(&[("Atlas rollout.md", ATLAS)]);
    let of_budget = |budget: &str| format!("{}[budget]\nrebuild = {budget}\n", asking_embedder(&server, "m"));
    place.configure(&of_budget("0.000001"));
    let mut daemon = place.spawn(&["run"]);
    let is_told = |status: &Status| status.problems.iter().any(|problem| problem.contains("`budget.rebuild`"));
    let status = daemon.wait_for("a refusal", is_told);
    assert_eq!((status.contexts.offers, server.texts().len()), (Vec::new(), 0));
    place.configure(&of_budget("5.0"));
    daemon.reload();
    assert!(!of_vectors(&mut daemon).agreed);
}
