//! Rebuilds and the user's yes to the model that they ask.

use super::*;
use crate::consent::Terms;

/// The bench of a model that costs, with a rebuild of one note that the user has confirmed.
fn confirmed(name: &str, batch: bool) -> (Bench, u64) {
    let mut bench = Bench::new(|settings| settings.context.consent = Consent::Ask);
    bench.save(name, &report(2));
    let number = begin_rebuild(&mut bench, name, batch);
    assert_eq!(pending(&mut bench).counters.sum().rebuild, 2);
    (bench, number)
}

/// Whether the user must agree to a model at this host, and has.
fn consent_to(bench: &Bench, host: &str, agreed: bool) -> ConsentState {
    let terms = Terms::of(Consent::Ask, ("openai", "dear-1"), Some(host.to_owned()), false);
    ConsentState::read_or(terms, bench.indexer.actor.place.dir.as_path(), |_, _| agreed)
}

#[test]
fn a_rebuild_goes_on_with_no_model_but_the_one_that_it_was_confirmed_for() {
    for (batch, agreed) in [(false, false), (true, false), (false, true)] {
        let (mut bench, number) = confirmed("a.md", batch);
        buy(&mut bench, Buyer::stop_run_of_others);
        assert_eq!(job_of(&bench, number).state, JobState::Running, "nothing has changed");
        // Another process takes it up, with the same model and then with another one, whatever that was agreed to for.
        let resume = |bench: &mut Bench, consent: Option<ConsentState>| {
            bench.indexer.buyer = Buyer::new(bench.shared.runtime(""));
            buy(bench, |buyer, at| {
                buyer.read_consent(at);
                buyer.consent = consent.unwrap_or(buyer.consent.clone());
                buyer.resume_run(at)
            })
        };
        assert!(resume(&mut bench, None).is_some());
        let other = consent_to(&bench, "dear.example", agreed);
        assert_eq!(resume(&mut bench, Some(other)), None);
        let ended = &bench.shared.jobs.all()[0];
        assert_eq!((ended.state, unfinished(&bench)), (JobState::Failed, None));
        assert!(ended.problem.as_ref().is_some_and(|problem| problem.contains("rebuild again")), "{ended:?}");
        let is_rebuilt = |chunk: &ChunkRecord| chunk.due.is_some_and(|due| due.reason == Reason::Rebuild);
        assert!(!record(&bench, "a.md").chunks.iter().any(is_rebuilt));
    }
}

#[test]
fn a_rebuild_of_a_former_version_goes_on_if_the_user_has_agreed_and_any_if_nobody_need_agree() {
    for (agreed, goes_on) in [(true, true), (false, false)] {
        let (mut bench, _) = confirmed("a.md", false);
        bench.indexer.buyer.consent = consent_to(&bench, "a.example", agreed);
        pending(&mut bench).run.as_mut().unwrap().terms = None;
        buy(&mut bench, Buyer::stop_run_of_others);
        assert_eq!(bench.indexer.buyer.run_job().is_some(), goes_on);
    }
    let (mut bench, _) = confirmed("a.md", false);
    bench.indexer.buyer.consent = ConsentState::default();
    buy(&mut bench, Buyer::stop_run_of_others);
    assert!(bench.indexer.buyer.run_job().is_some());
}

#[test]
fn a_yes_that_is_taken_back_ends_the_rebuild_with_the_notes_that_were_still_to_be_decided_about() {
    let mut bench = Bench::new(|settings| settings.context.consent = Consent::Ask);
    for n in 0..20 {
        save(&mut bench, &format!("{n}.md"), 2);
    }
    let number = job(&bench);
    // Of one folder, which is no yes to the model.
    let covered = Covered::default();
    bench.indexer.take(Event::Rebuild { job: number, covered, batch: false, agreed: false });
    let begun = job_of(&bench, number);
    assert_eq!((begun.state, bench.indexer.notes.work.works_for(number)), (JobState::Running, true));
    let (reply, said) = std::sync::mpsc::channel();
    bench.indexer.take(Event::Consent { agreed: false, replace: false, reply });
    said.recv().unwrap().unwrap();
    let ended = job_of(&bench, number);
    assert_eq!((ended.state, bench.indexer.buyer.run_job(), unfinished(&bench)), (JobState::Failed, None, None));
    assert!(ended.problem.is_some_and(|problem| problem.contains("took back")));
    assert!(!bench.indexer.notes.work.works_for(number));
    // A look that was under way lands, and nothing is asked for.
    let landed = bench.decide(&Task::rebuild(path("0.md"), now_s()));
    pending(&mut bench).written(&landed, machine::now());
    assert_eq!(ask(&mut bench, IDLE), 0);
}
