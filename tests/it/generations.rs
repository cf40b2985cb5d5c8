//! Generations of contexts side by side: built beside the one that answers, compared, switched to, rolled back.

use protocol::contexts::StopContextsRequest;
use protocol::envelope::ErrorKind;
use protocol::generations::{
    BuildGenerationRequest, DEFAULT_GENERATION, DropGenerationRequest, GenerationInfo, GenerationsRequest,
    UseGenerationRequest,
};
use protocol::jobs::{CancelRequest, JobState};
use protocol::search::{Contextual, SearchRequest};
use protocol::status::RunState;

use crate::model::Model;
use crate::requests::{fresh, query};
use crate::support::{Daemon, Place, eventually};
use crate::vectors::Vectors;

const NOTE: &str = "# Tide tables\n\nThe harbour office in Sandholm prints them every year for the whole coast.\n\n\
    ## Spring\n\nThe highest water comes two days after the full moon, and the ferries are moved then.\n\n\
    ## Neap\n\nThe lowest range comes a week later, which is when the divers work on the moorings.\n";

fn place(model: &Model) -> Place {
    let place = Place::new();
    for n in 0..4 {
        place.write(&format!("n{n}.md"), NOTE.replace("Sandholm", &format!("Sandholm{}", ["a", "b", "c", "d"][n])));
    }
    let chunks = "\n[chunk]\nmin = 1\ntarget = 20\nmax = 200\n";
    let other = format!(
        "\n[generation.bold]\nprovider = \"anthropic\"\nbase_url = \"{}\"\nmodel = \"claude-haiku-4-5\"\nconsent = \"given\"\nsettle = \"50ms\"\n",
        model.url()
    );
    place.configure(&format!("[context]\nprovider = \"template\"\n{chunks}{other}"));
    place
}

fn start(place: &Place) -> Daemon {
    let mut daemon = place.spawn_command(place.command().env("ANTHROPIC_API_KEY", "sk-test-key").arg("run"));
    daemon.wait_idle();
    daemon
}

fn of(daemon: &mut Daemon, name: &str) -> GenerationInfo {
    let all = daemon.ask(&GenerationsRequest::default()).generations;
    all.into_iter().find(|generation| generation.name == name).unwrap()
}

/// What the active generation finds, or one that is named.
fn contextual(name: Option<&str>) -> Option<Contextual> {
    Some(name.map_or(Contextual::Flag(true), |name| Contextual::Generation(name.to_owned())))
}

fn contexts(daemon: &mut Daemon, name: Option<&str>) -> Vec<String> {
    let limit = Some(4);
    let found = daemon.ask(&SearchRequest { limit, contextual: contextual(name), ..query("full moon ferries") });
    found.hits.into_iter().map(|hit| hit.context).collect()
}

fn bold(dry_run: bool) -> BuildGenerationRequest {
    BuildGenerationRequest { name: "bold".to_owned(), dry_run, ..BuildGenerationRequest::default() }
}

fn build(daemon: &mut Daemon) {
    let job = daemon.ask(&bold(false)).job;
    daemon.wait_for("nothing is indexed", |status| status.state == RunState::Idle);
    eventually("the generation is built", || daemon.job(job).state == JobState::Done);
}

fn serve(name: &str) -> UseGenerationRequest {
    UseGenerationRequest { name: name.to_owned(), vault: None }
}

fn drop_of(name: &str) -> DropGenerationRequest {
    DropGenerationRequest { name: name.to_owned(), vault: None }
}

#[test]
fn a_yes_to_a_generation_is_taken_back_while_it_is_built_and_later() {
    let model = Model::start();
    let place = place(&model);
    let config = std::fs::read_to_string(place.dir.path().join("config.toml")).unwrap();
    std::fs::write(place.dir.path().join("config.toml"), config.replace("consent = \"given\"\n", "")).unwrap();
    let mut daemon = start(&place);
    model.latency(std::time::Duration::from_secs(20));
    let job = daemon.ask(&bold(false)).job;
    eventually("a call", || model.calls() > 0);
    let stopped = daemon.ask(&StopContextsRequest::default()).vaults;
    assert_eq!(stopped.iter().map(|offer| offer.model.as_str()).collect::<Vec<_>>(), ["claude-haiku-4-5"]);
    let ended = daemon.job(job);
    assert_eq!(ended.state, JobState::Failed, "{ended:?}");
    assert!(ended.problem.is_some_and(|problem| problem.contains("took back your yes")));
}

#[test]
fn a_generation_is_built_beside_compared_switched_to_and_rolled_back() {
    let model = Model::start();
    model.captions(|_, _| Some("Tide tables of the harbour office: when the water is highest along the coast.".into()));
    let place = place(&model);
    let mut daemon = start(&place);
    let before = contexts(&mut daemon, None);
    assert!(of(&mut daemon, DEFAULT_GENERATION).active && !of(&mut daemon, "bold").built);
    // What answers needs no building, and what is refused leaves no job.
    let jobs = daemon.jobs().len();
    let refused = daemon.refused(&BuildGenerationRequest { name: DEFAULT_GENERATION.to_owned(), ..bold(false) });
    assert_eq!((refused.kind, daemon.jobs().len()), (ErrorKind::InvalidParams, jobs));
    let estimate = daemon.ask(&bold(true)).estimate.unwrap();
    assert_eq!((estimate.chunks, estimate.calls), (12, 4), "{estimate:?}");
    assert_eq!(model.calls(), 0);

    build(&mut daemon);
    assert_eq!(model.calls(), 4, "a call for each note");
    assert_eq!(contexts(&mut daemon, None), before, "the old one answers");
    let bold = contexts(&mut daemon, Some("gen:bold"));
    assert!(bold.iter().any(|context| context.contains("when the water is highest")), "{bold:?}");

    // A save reaches both; the one beside buys nothing for it.
    place.write("n0.md", NOTE.replace("## Spring", "## Springtide"));
    daemon.wait_holding("Springtide", &["n0.md"]);
    let found = daemon.ask(&SearchRequest { contextual: contextual(Some("gen:bold")), ..fresh("\"Springtide\"") });
    assert_eq!(found.hits[0].path, "n0.md", "{found:?}");
    assert_eq!(model.calls(), 4);

    daemon.ask(&serve("bold"));
    assert_eq!(contexts(&mut daemon, None).len(), bold.len());
    assert!(contexts(&mut daemon, None).iter().any(|context| context.contains("when the water is highest")));
    assert!(of(&mut daemon, "bold").active);
    eventually("what the save wanted is bought", || model.calls() == 5);
    eventually("nothing waits", || of(&mut daemon, "bold").waiting == 0);
    daemon.stop();
    let mut daemon = start(&place);
    assert!(of(&mut daemon, "bold").active, "the choice outlives a restart");

    daemon.ask(&serve(DEFAULT_GENERATION));
    let after = contexts(&mut daemon, None);
    assert!(after.iter().all(|context| !context.contains("when the water is highest")), "{after:?}");
    assert_eq!(after.len(), before.len());
}

#[test]
fn a_build_that_ended_at_its_budget_goes_on_when_it_is_begun_again() {
    let model = Model::start();
    let place = place(&model);
    let file = place.dir.path().join("config.toml");
    let config = std::fs::read_to_string(&file).unwrap().replace("settle =", "concurrency = 1\nsettle =");
    let budget = |dollars: f64| std::fs::write(&file, format!("{config}\n[budget]\nrebuild = {dollars:.6}\n")).unwrap();
    budget(5.0);
    let mut daemon = start(&place);
    let whole = daemon.ask(&bold(true)).estimate.unwrap().micro_dollars.unwrap() as f64 / 1e6;
    budget(whole * 0.6);
    daemon.reload();
    let job = daemon.ask(&bold(false)).job;
    eventually("the budget is used up", || daemon.job(job).state == JobState::Failed);
    let problem = daemon.job(job).problem.unwrap();
    assert!(problem.contains("raise `budget.rebuild` and build it again, which buys the rest"), "{problem}");
    let bought = model.calls();
    assert!(bought > 0 && bought < 4, "{bought}");
    budget(5.0);
    daemon.reload();
    build(&mut daemon);
    let wanted: usize = model.asked().iter().map(|asked| asked.wanted.len()).sum();
    assert_eq!((model.calls(), wanted, of(&mut daemon, "bold").waiting), (4, 12, 0));
}

#[test]
fn a_generation_that_is_dropped_leaves_what_was_paid_for() {
    let model = Model::start();
    let place = place(&model);
    let mut daemon = start(&place);
    build(&mut daemon);
    let calls = model.calls();
    daemon.ask(&drop_of("bold"));
    assert!(!of(&mut daemon, "bold").built);
    // Nor is any of it paid for again.
    assert_eq!(daemon.ask(&bold(true)).estimate.unwrap().chunks, 0);
    build(&mut daemon);
    assert_eq!((model.calls(), of(&mut daemon, "bold").waiting), (calls, 0));
    let written = contexts(&mut daemon, Some("gen:bold"));
    assert!(written.iter().any(|context| context.contains("Tide tables")), "{written:?}");
    daemon.ask(&drop_of("bold"));
    let error = daemon.refused(&SearchRequest { contextual: contextual(Some("gen:bold")), ..query("moon") });
    assert_eq!(error.kind, ErrorKind::NotFound, "{error:?}");
    let error = daemon.refused(&serve("bold"));
    let said = "generation `bold` is not built for vault `notes`; `situated generations build bold` builds it";
    assert_eq!((error.kind, error.message.as_str()), (ErrorKind::NotFound, said));
    daemon.refused(&drop_of(DEFAULT_GENERATION));
    let exported = daemon.stop().map(|_| {
        let out = place.run(&["contexts", "export"]);
        String::from_utf8(out.stdout).unwrap().lines().count()
    });
    assert_eq!((exported, model.calls()), (Some(12), calls), "the archive has every context");
}

#[test]
fn answers_under_way_when_a_generation_is_dropped_are_paid_for_once() {
    let model = Model::start();
    let place = place(&model);
    let mut daemon = start(&place);
    model.latency(std::time::Duration::from_secs(3));
    let job = daemon.ask(&bold(false)).job;
    eventually("all calls are under way", || model.calls() == 4);
    daemon.ask(&CancelRequest { job: Some(job), ..CancelRequest::default() });
    eventually("it is cancelled", || daemon.job(job).state == JobState::Cancelled);
    daemon.ask(&drop_of("bold"));
    assert!(!of(&mut daemon, "bold").built);
    model.latency(std::time::Duration::ZERO);
    build(&mut daemon);
    assert_eq!((model.calls(), of(&mut daemon, "bold").waiting), (4, 0));
}

#[test]
fn a_generation_that_nobody_wrote_down_is_named() {
    let model = Model::start();
    let place = place(&model);
    let mut daemon = start(&place);
    let error = daemon.refused(&serve("bald"));
    assert!(error.hint.as_ref().unwrap().contains("default, bold"), "{error:?}");
    let error = daemon.refused(&SearchRequest { contextual: contextual(Some("bold")), ..query("moon") });
    assert!(error.message.contains("gen:"), "{error:?}");
}

#[test]
fn what_a_generation_takes_is_told_without_private_notes_and_right_after_a_reload() {
    let model = Model::start();
    let place = place(&model);
    place.write("secret.md", format!("{NOTE}\n#private\n"));
    let path = place.dir.path().join("config.toml");
    let config = std::fs::read_to_string(&path).unwrap();
    let elsewhere = config.replace("consent = \"given\"\n", "consent = \"given\"\npasses_on = true\n");
    std::fs::write(&path, &elsewhere).unwrap();
    let mut daemon = start(&place);
    let taken = |daemon: &mut Daemon| {
        let estimate = daemon.ask(&bold(true)).estimate.unwrap();
        (estimate.notes, estimate.chunks)
    };
    assert_eq!(taken(&mut daemon), (4, 12));
    for provider in ["none", "template"] {
        std::fs::write(&path, elsewhere.replace("provider = \"template\"", &format!("provider = \"{provider}\"")))
            .unwrap();
        daemon.reload();
        assert_eq!(taken(&mut daemon), (4, 12));
    }
}

#[test]
fn vectors_that_a_paid_embedder_makes_for_a_generation_are_estimated() {
    let (model, server) = (Model::start(), Vectors::start(24));
    let place = place(&model);
    let free = "\n[generation.off]\nprovider = \"none\"\n";
    let config = std::fs::read_to_string(place.dir.path().join("config.toml")).unwrap();
    let embed = server.config("openai", "m", "passes_on = true\nprice_per_mtok = 100.0");
    std::fs::write(place.dir.path().join("config.toml"), format!("{config}{free}{embed}")).unwrap();
    let mut daemon = start(&place);
    daemon.wait_for("served", |status| status.embedder == "openai m 24");
    let off = |dry_run| BuildGenerationRequest { name: "off".to_owned(), dry_run, ..BuildGenerationRequest::default() };
    let before = daemon.bought().micro_dollars;
    let job = daemon.ask(&off(true));
    let [vectors] = &job.vectors[..] else { panic!("{job:?}") };
    assert_eq!((vectors.model.as_str(), vectors.estimate.notes, job.estimate), ("m", 4, None));
    assert!(vectors.leaves_to.as_ref().is_some_and(|host| host.contains("127.0.0.1")), "{vectors:?}");
    let told = place.run(&["generations", "build", "off", "--dry-run"]);
    let told = String::from_utf8(told.stderr).unwrap();
    assert!(told.contains("makes the vectors of 4 notes") && told.contains("Leaves this machine"), "{told}");
    assert!(!told.contains("costs nothing"), "{told}");
    daemon.ask(&off(false));
    eventually("the vectors are made", || daemon.bought().micro_dollars > before);
}
