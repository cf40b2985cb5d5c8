//! `rebuild --batch` through the whole path: handed in once, paid for once, whatever is killed when.

use std::sync::atomic::Ordering;

use protocol::cost::Sums;
use protocol::jobs::{CancelRequest, Job, JobKind, JobState, RebuildRequest};

use crate::contexts::wait_written;
use crate::model::{Answer, Model};
use crate::requests::spent_for;
use crate::support::{Daemon, Place, eventually};

const NOTE: &str = "# Atlas rollout\n\nThe rollout of Atlas begins in Lisbon with Mira Chen as its owner.\n\n\
    ## Risks\n\nIt slipped because the vendor contract with Northwind was late, and she renegotiates every clause \
    of it with their lawyers before anything else is signed by anybody.\n\n\
    ## Budget\n\nWe approved the money for a pilot, and the finance department wants a monthly report about \
    everything that was spent on travel, licences and consultants.\n";

const NOTES: u64 = 12;
const CHUNKS: u64 = 3 * NOTES;

fn place(model: &Model, provider: &str, more: &str) -> Place {
    let place = Place::new();
    for n in 0..NOTES {
        place.write(&format!("n{n}.md"), NOTE.replace("Atlas", &format!("Atlas{n}")));
    }
    let chunk = "\n[chunk]\nmin = 1\ntarget = 20\nmax = 200\n";
    place.configure(&format!("{}{chunk}{more}", model.config(provider, "")));
    place
}

fn spawn(place: &Place) -> Daemon {
    spawn_with(place, "sk-test-key")
}

fn spawn_with(place: &Place, key: &str) -> Daemon {
    let mut command = place.command();
    command.env("ANTHROPIC_API_KEY", key).env("OPENAI_API_KEY", key);
    place.spawn_command(command.arg("run"))
}

fn start(place: &Place) -> Daemon {
    let mut daemon = spawn(place);
    daemon.wait_idle();
    wait_written(&mut daemon);
    daemon
}

fn rebuild_by_batch(daemon: &mut Daemon) {
    daemon.ask(&RebuildRequest { batch: true, ..RebuildRequest::default() });
}

/// The rebuild, once there is one.
fn job(daemon: &mut Daemon) -> Job {
    let mut newest = None;
    eventually("there is a rebuild", || {
        newest = daemon.newest(JobKind::Rebuild);
        newest.is_some()
    });
    newest.unwrap()
}

/// Waits until the rebuild has ended; returns its job.
fn wait_ended(daemon: &mut Daemon) -> Job {
    eventually("the rebuild has ended", || !job(daemon).is_running());
    job(daemon)
}

/// A daemon that waits for a batch, at which the model works.
fn start_batch(place: &Place, model: &Model) -> Daemon {
    let mut daemon = start(place);
    model.batches().working.store(true, Ordering::SeqCst);
    rebuild_by_batch(&mut daemon);
    wait_phase(&mut daemon, "waiting for the batch");
    daemon
}

fn wait_phase(daemon: &mut Daemon, begins: &str) {
    eventually(begins, || job(daemon).phase.starts_with(begins));
}

/// What was spent for a purpose.
fn spent(daemon: &mut Daemon, purpose: &str) -> Sums {
    spent_for(&daemon.cost(), purpose).map(|of| of.sums).unwrap_or_default()
}

/// Nothing is left on the disk, and everything is new.
fn assert_done(place: &Place, daemon: &mut Daemon) {
    assert_eq!(problem_when_done(place, daemon), None);
}

/// All is done; what is said of how that went.
fn problem_when_done(place: &Place, daemon: &mut Daemon) -> Option<String> {
    let job = wait_ended(daemon);
    let processed = job.contexts.as_ref().map(|contexts| contexts.processed);
    assert_eq!((job.state, processed), (JobState::Done, Some(CHUNKS)), "{job:?}");
    wait_written(daemon);
    assert_eq!(daemon.contextualized(), CHUNKS);
    assert_eq!(files(place), Vec::<String>::new());
    job.problem
}

/// The vault's folder among the daemon's data.
fn vault_data(place: &Place) -> std::path::PathBuf {
    let vaults = std::fs::read_dir(place.data().join("vaults")).unwrap();
    vaults.map(|entry| entry.unwrap().path()).next().unwrap()
}

fn files(place: &Place) -> Vec<String> {
    let entries = std::fs::read_dir(vault_data(place).join("batch")).into_iter().flatten();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// One batch of all notes, each answered once and paid for once, and nobody asked one by one.
fn assert_bought_once(model: &Model, daemon: &mut Daemon) {
    assert_eq!(model.batches().submitted(), [NOTES as usize]);
    assert_eq!((model.batches().answered(), model.calls() as u64), (NOTES, NOTES), "12 alone at first, 12 in a batch");
    let rebuild = spent(daemon, "rebuild");
    assert_eq!((rebuild.calls, rebuild.contexts, rebuild.unsettled_calls), (NOTES, CHUNKS, 0), "{rebuild:?}");
    // The same questions at half the price, each rounded up to a whole micro-dollar.
    let (full, half) = (spent(daemon, "change").micro_dollars, rebuild.micro_dollars);
    assert!((full / 2..=full / 2 + NOTES).contains(&half), "{half} of {full}");
}

#[test]
fn a_rebuild_by_batch_is_one_submission_at_half_the_price() {
    let model = Model::start();
    let place = place(&model, "anthropic", "");
    let mut daemon = start(&place);
    model.batches().working.store(true, Ordering::SeqCst);
    rebuild_by_batch(&mut daemon);
    wait_phase(&mut daemon, "waiting for the batch (since 20");
    for request in model.batches().requests(0) {
        assert!(!request.to_string().contains("cache_control"), "{request}");
    }
    // What was bought before serves meanwhile, and a save does not wait for the batch.
    assert_eq!(daemon.contextualized(), CHUNKS);
    place.write("new.md", NOTE.replace("Atlas", "Borealis"));
    eventually("the new note is asked for", || model.calls() as u64 == NOTES + 1);
    std::fs::remove_file(place.vault.join("new.md")).unwrap();
    model.batches().working.store(false, Ordering::SeqCst);
    assert_done(&place, &mut daemon);
    assert_eq!(model.batches().submitted(), [NOTES as usize]);
    assert_eq!((model.batches().answered(), model.calls() as u64), (NOTES, NOTES + 1));
    let rebuild = spent(&mut daemon, "rebuild");
    assert_eq!((rebuild.calls, rebuild.unsettled_calls), (NOTES, 0), "{rebuild:?}");
    let notes = daemon.cost().by_note;
    let named = notes.iter().filter(|note| note.path.starts_with('n'));
    assert_eq!(named.count() as u64, NOTES + 1, "{notes:?}");
}

#[test]
fn a_kill_while_it_is_handed_in_does_not_hand_it_in_twice() {
    let model = Model::start();
    let place = place(&model, "anthropic", "");
    let mut daemon = start(&place);
    model.batches().mute.store(true, Ordering::SeqCst);
    rebuild_by_batch(&mut daemon);
    eventually("the provider has it", || model.batches().submitted().len() == 1);
    // A batch of somebody else's that looks like it.
    model.batches().add_foreign(NOTES as usize);
    daemon.kill();
    model.batches().mute.store(false, Ordering::SeqCst);
    let mut daemon = spawn(&place);
    daemon.wait_idle();
    assert_done(&place, &mut daemon);
    assert_eq!(model.batches().submitted(), [NOTES as usize; 2], "ours and the other");
    // Whoever reads the results of the other has them answered.
    assert_eq!((model.batches().answered(), model.calls() as u64), (2 * NOTES, NOTES));
    let rebuild = spent(&mut daemon, "rebuild");
    assert_eq!((rebuild.calls, rebuild.unsettled_calls), (NOTES, 0), "{rebuild:?}");
}

#[test]
fn a_kill_before_it_arrives_hands_it_in_anew() {
    let model = Model::start();
    let place = place(&model, "anthropic", "");
    let mut daemon = start(&place);
    model.batches().deaf.store(true, Ordering::SeqCst);
    rebuild_by_batch(&mut daemon);
    let handing_in = || {
        let state = std::fs::read_dir(vault_data(&place).join("batch")).into_iter().flatten().flatten();
        let text = |path| std::fs::read_to_string(path).unwrap_or_default();
        state
            .map(|entry| entry.path())
            .any(|path| path.extension().is_some_and(|e| e == "state") && text(path).contains("submitting"))
    };
    eventually("it is being handed in", handing_in);
    daemon.kill();
    model.batches().deaf.store(false, Ordering::SeqCst);
    let mut daemon = spawn(&place);
    daemon.wait_idle();
    assert_done(&place, &mut daemon);
    assert_eq!((model.batches().submitted(), model.batches().answered()), (vec![NOTES as usize], NOTES));
    let rebuild = spent(&mut daemon, "rebuild");
    assert_eq!(
        (rebuild.calls, rebuild.contexts, rebuild.unsettled_calls),
        (NOTES + 1, CHUNKS, 0),
        "it may have arrived"
    );
}

#[test]
fn kills_while_it_is_waited_for_and_read_cost_nothing() {
    let model = Model::start();
    let place = place(&model, "anthropic", "");
    let daemon = start_batch(&place, &model);
    daemon.kill();
    // Again while it waits: an edit of a note meanwhile loses nothing that is paid for.
    let mut daemon = spawn(&place);
    daemon.wait_idle();
    wait_phase(&mut daemon, "waiting for the batch");
    model.batches().half.store(true, Ordering::SeqCst);
    model.batches().working.store(false, Ordering::SeqCst);
    eventually("results are being read", || model.batches().answered() == NOTES);
    daemon.kill();
    model.batches().half.store(false, Ordering::SeqCst);
    // And when the first answers are in the journal.
    let journal = vault_data(&place).join("contexts.journal");
    let size = || std::fs::metadata(&journal).unwrap().len();
    let before = size();
    let daemon = spawn(&place);
    eventually("answers are kept", || size() > before);
    daemon.kill();
    let mut daemon = spawn(&place);
    daemon.wait_idle();
    assert_done(&place, &mut daemon);
    assert_bought_once(&model, &mut daemon);
    let export = place.run(&["contexts", "export"]);
    assert!(!export.status.success(), "only without a daemon");
    assert_eq!(daemon.stop(), Some(0));
    let export = String::from_utf8(place.run(&["contexts", "export"]).stdout).unwrap();
    assert!(export.lines().count() as u64 >= CHUNKS);
}

#[test]
fn what_a_batch_leaves_is_handed_in_once_more_and_then_asked_for_one_by_one() {
    let model = Model::start();
    let place = place(&model, "anthropic", "");
    let mut daemon = start(&place);
    *model.batches().fate.lock().unwrap() = Some(|_| "expired");
    rebuild_by_batch(&mut daemon);
    let said = problem_when_done(&place, &mut daemon).unwrap();
    assert!(said.contains("12 of 12 requests") && said.contains("at the full price"), "{said}");
    assert_eq!((model.batches().answered(), model.calls() as u64), (0, 2 * NOTES), "all of them one by one");
    let (full, rebuild) = (spent(&mut daemon, "change"), spent(&mut daemon, "rebuild"));
    assert_eq!(rebuild.micro_dollars, full.micro_dollars, "what expires costs nothing");

    *model.batches().fate.lock().unwrap() = Some(|at| match at {
        0 | 1 => "nonsense",
        2 => "errored",
        3 => "expired",
        _ => "succeeded",
    });
    rebuild_by_batch(&mut daemon);
    let said = problem_when_done(&place, &mut daemon).unwrap();
    assert_eq!(said, "the batch left 1 of 12 requests unanswered, and another one asks for the rest");
    let all = NOTES as usize;
    assert_eq!(model.batches().submitted(), [all, all, all, 1]);
    assert_eq!(model.batches().answered(), NOTES - 2 + 1);
    // Four notes passage by passage, for the whole was tried.
    assert_eq!(model.calls() as u64, 2 * NOTES + 4 * 3);
}

#[test]
fn a_batch_that_is_given_up_keeps_what_was_answered() {
    let model = Model::start();
    let place = place(&model, "anthropic", "");
    let mut daemon = start(&place);
    let journal = vault_data(&place).join("contexts.journal");
    let lines = || std::fs::metadata(&journal).unwrap().len();
    model.batches().working.store(true, Ordering::SeqCst);
    rebuild_by_batch(&mut daemon);
    wait_phase(&mut daemon, "waiting for the batch");
    let before = lines();
    let number = job(&mut daemon).job;
    daemon.ask(&CancelRequest::of_job(number));
    let ended = wait_ended(&mut daemon);
    assert_eq!(ended.state, JobState::Cancelled, "{ended:?}");
    // Killed before the provider has given it up, it is given up by the next.
    daemon.kill();
    let mut daemon = spawn(&place);
    daemon.wait_idle();
    eventually("it is given up", || model.batches().cancelled());
    eventually("everything is taken", || files(&place).is_empty());
    assert_eq!(model.batches().answered(), NOTES / 2);
    assert!(lines() > before, "what was answered is kept");
    let rebuild = spent(&mut daemon, "rebuild");
    assert_eq!((rebuild.calls, rebuild.unsettled_calls), (NOTES / 2, 0), "{rebuild:?}");
    wait_written(&mut daemon);
    assert_eq!((model.calls() as u64, model.batches().submitted().len()), (NOTES, 1));
}

#[test]
fn an_answer_to_a_note_that_changed_serves_it_and_is_found_by_the_undo() {
    let model = Model::start();
    let place = place(&model, "anthropic", "");
    let mut daemon = start_batch(&place, &model);
    let (old, new) = (NOTE.replace("Atlas", "Atlas0"), NOTE.replace("Atlas", "Atlas0").replace("clause", "comma"));
    place.write("n0.md", &new);
    daemon.wait_holding("comma", &["n0.md"]);
    model.batches().working.store(false, Ordering::SeqCst);
    assert_done(&place, &mut daemon);
    assert_eq!(model.calls() as u64, NOTES, "a body edit buys nothing");
    place.write("n0.md", &old);
    daemon.wait_holding("comma", &[]);
    wait_written(&mut daemon);
    assert_eq!(model.calls() as u64, NOTES);
}

/// Has the provider refuse a rebuild by batch, and calls alone too.
fn rebuild_refused(model: &Model, daemon: &mut Daemon) {
    model.batches().refusing.store(true, Ordering::SeqCst);
    rebuild_by_batch(daemon);
    eventually("it is refused", || model.batches().refused.load(Ordering::SeqCst) > 0);
}

#[test]
fn a_note_that_becomes_private_or_goes_before_a_batch_is_handed_in_is_left_out() {
    for (killed, paused) in [(false, false), (true, false), (false, true)] {
        let model = Model::start();
        let place = place(&model, "anthropic", "");
        // Only a model elsewhere may not see a private note.
        let chunk = "\n[chunk]\nmin = 1\ntarget = 20\nmax = 200\n";
        let config = format!("{}{chunk}", model.config("anthropic", "passes_on = true"));
        place.configure(&config);
        let mut daemon = Some(start(&place));
        rebuild_refused(&model, daemon.as_mut().unwrap());
        if paused {
            daemon.as_mut().unwrap().pause();
        }
        if killed {
            daemon.take().unwrap().kill();
        }
        let note = |n: &str| NOTE.replace("Atlas", &format!("Atlas{n}"));
        place.write("n0.md", format!("---\ntags: [private]\n---\n{}", note("0")));
        place.write("n2.md", note("2").replace("clause", "comma"));
        std::fs::remove_file(place.vault.join("n3.md")).unwrap();
        place.configure(&format!("private = [\"n4*\"]\n{config}"));
        let mut daemon = match daemon {
            Some(mut daemon) => {
                daemon.reload();
                daemon
            }
            None => spawn(&place),
        };
        model.batches().refusing.store(false, Ordering::SeqCst);
        if paused {
            daemon.resume();
        }
        eventually("the batch is over", || model.batches().submitted().len() == 1 && files(&place).is_empty());
        assert_eq!(model.batches().submitted(), [NOTES as usize - 4], "killed: {killed}, paused: {paused}");
        let sent = format!("{:?} {:?}", model.batches().requests(0), &model.asked()[NOTES as usize..]);
        for n in ["0", "3", "4"] {
            assert!(!sent.contains(&format!("Atlas{n}")), "n{n}.md was sent; killed: {killed}, paused: {paused}");
        }
        assert!(!sent.contains("Atlas2 begins in Lisbon") || sent.contains("every comma"), "{sent}");
        wait_written(&mut daemon);
        let rebuild = spent(&mut daemon, "rebuild");
        assert_eq!(rebuild.unsettled_calls, 0, "{rebuild:?}");
    }
}

/// A model elsewhere, as far as the daemon knows, that was agreed to or not.
fn place_elsewhere(model: &Model, consent: &str) -> Place {
    let place = place(model, "anthropic", "");
    let file = place.dir.path().join("config.toml");
    let consent = format!("consent = \"{consent}\"\nconcurrency = 2\npasses_on = true");
    std::fs::write(&file, std::fs::read_to_string(&file).unwrap().replace("consent = \"given\"", &consent)).unwrap();
    place
}

#[test]
fn what_a_batch_that_is_given_up_has_answered_is_not_bought_again() {
    let model = Model::start();
    let place = place_elsewhere(&model, "ask");
    let mut daemon = spawn(&place);
    daemon.wait_vault("indexed", |vault| vault.notes == NOTES);
    model.batches().working.store(true, Ordering::SeqCst);
    rebuild_by_batch(&mut daemon);
    wait_phase(&mut daemon, "waiting for the batch");
    let number = job(&mut daemon).job;
    daemon.ask(&CancelRequest::of_job(number));
    eventually("everything is taken", || files(&place).is_empty());
    eventually("the rest is written", || daemon.contextualized() == CHUNKS);
    assert_eq!((model.batches().answered(), model.calls() as u64), (NOTES / 2, NOTES / 2));
}

#[test]
fn what_a_batch_is_to_buy_is_not_bought_alone_as_well() {
    // Neither contexts that nobody has agreed to yet, nor those that are being asked for.
    for consent in ["ask", "given"] {
        let model = Model::start();
        let place = place_elsewhere(&model, consent);
        model.latency(std::time::Duration::from_secs(1));
        let mut daemon = spawn(&place);
        daemon.wait_vault("indexed", |vault| vault.notes == NOTES);
        if consent == "given" {
            eventually("some are being asked for", || model.calls() > 0);
        }
        rebuild_by_batch(&mut daemon);
        eventually("it is handed in", || model.batches().submitted().len() == 1);
        wait_ended(&mut daemon);
        wait_written(&mut daemon);
        assert_eq!(daemon.contextualized(), CHUNKS);
        let (alone, batch) = (model.calls(), model.batches().submitted()[0]);
        assert_eq!(alone + batch, NOTES as usize, "{consent}: {alone} alone");
        assert!(consent == "given" || alone == 0, "{alone} alone");
    }
}

#[test]
fn a_batch_waits_for_the_host_that_has_it() {
    let (here, there) = (Model::start(), Model::start());
    let place = place(&here, "anthropic", "");
    let mut daemon = start_batch(&place, &here);
    let config = std::fs::read_to_string(place.dir.path().join("config.toml")).unwrap();
    let move_to = |daemon: &mut Daemon, url: &str| {
        std::fs::write(place.dir.path().join("config.toml"), config.replace(&here.url(), url)).unwrap();
        daemon.reload();
    };
    there.always(Some(Answer::Raw(503, "{}".to_owned(), Vec::new())));
    move_to(&mut daemon, &there.url());
    eventually("others are asked", || there.calls() > 0);
    let problem = job(&mut daemon).problem.unwrap_or_default();
    assert!(problem.contains("another host"), "{problem}");
    assert_eq!((there.batches().polls.load(Ordering::SeqCst), there.batches().submitted().len()), (0, 0));
    here.batches().working.store(false, Ordering::SeqCst);
    move_to(&mut daemon, &here.url());
    wait_ended(&mut daemon);
    wait_written(&mut daemon);
    assert_eq!(files(&place), Vec::<String>::new());
    assert_bought_once(&here, &mut daemon);
}

#[test]
fn a_batch_waits_for_the_key_that_it_was_handed_in_with() {
    let model = Model::start();
    let place = place(&model, "anthropic", "");
    let daemon = start_batch(&place, &model);
    daemon.kill();
    model.batches().unknown.store(true, Ordering::SeqCst);
    model.always(Some(Answer::Raw(503, "{}".to_owned(), Vec::new())));
    let mut daemon = spawn_with(&place, "sk-another-key");
    daemon.wait_idle();
    eventually("it says so", || job(&mut daemon).problem.is_some_and(|problem| problem.contains("another key")));
    daemon.kill();
    model.batches().unknown.store(false, Ordering::SeqCst);
    model.batches().working.store(false, Ordering::SeqCst);
    model.always(None);
    let mut daemon = spawn(&place);
    daemon.wait_idle();
    assert_done(&place, &mut daemon);
    assert_eq!((model.batches().submitted(), model.batches().answered()), (vec![NOTES as usize], NOTES));
}

#[test]
fn what_the_budget_does_not_allow_is_not_handed_in() {
    let model = Model::start();
    let place = place(&model, "anthropic", "\n[budget]\nrebuild = 0.0001\n");
    let mut daemon = start(&place);
    rebuild_by_batch(&mut daemon);
    let job = wait_ended(&mut daemon);
    assert_eq!(job.state, JobState::Failed, "{job:?}");
    assert!(job.problem.as_ref().unwrap().contains("budget.rebuild"), "{job:?}");
    assert_eq!((model.batches().submitted().len(), model.calls() as u64), (0, NOTES));
    assert_eq!(files(&place), Vec::<String>::new());
    assert_eq!(daemon.contextualized(), CHUNKS, "what was there serves");
}

#[test]
fn without_a_batch_interface_the_job_says_so() {
    let model = Model::start();
    let place = place(&model, "openai", "");
    let mut daemon = start(&place);
    rebuild_by_batch(&mut daemon);
    let job = wait_ended(&mut daemon);
    assert_eq!((job.state, model.calls() as u64), (JobState::Done, 2 * NOTES), "{job:?}");
    assert!(job.problem.as_ref().unwrap().contains("no batch interface"), "{job:?}");
}
