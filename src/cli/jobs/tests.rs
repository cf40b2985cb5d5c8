use super::*;
use protocol::jobs::{JobKind, SkippedFile};

fn job() -> Job {
    let failed = |path: &str, why: &str| SkippedFile { path: path.into(), why: why.into() };
    Job {
        job: 3,
        kind: JobKind::Rebuild,
        scope: Scope { vault: Some("notes".into()), path: None },
        state: JobState::Done,
        done: 670,
        total: Some(670),
        failed: vec![failed("a.md", "refusal"), failed("b.md", "weak"), failed("c.md", "refusal")],
        changed: 669,
        bought: 0,
        started_at: 0,
        took_ms: 61_000,
        phase: String::new(),
        seq: 9,
        contexts: Some(ContextProgress {
            total: 3350,
            processed: 3350,
            failed: 3,
            percentage: 100.0,
            elapsed_s: 61.0,
            remaining_s: Some(0.0),
            micro_dollars: 420_000,
        }),
        estimate: None,
        vectors: Vec::new(),
        problem: None,
        parts: Vec::new(),
    }
}

#[test]
fn the_end_says_what_failed_and_why() {
    let line = ended(&job());
    let plain = anstream::adapter::strip_str(&line).to_string();
    assert_eq!(
        plain,
        "done: rebuild of notes: 670 notes looked at, 669 changed, 1 min 1 s; 3,347 of 3,350 contexts written, $0.42, \
         3 failed (declined by the model 2, too poor 1)"
    );
    let many = ContextProgress { failed: 500, ..job().contexts.unwrap() };
    assert!(written(&many, &job()).contains("500 failed (of the first: declined by the model 2"));
    let built = Job { kind: JobKind::Generation, done: 0, changed: 0, failed: Vec::new(), ..job() };
    let built = ended(&built);
    assert!(!built.contains("looked at") && built.contains("3,347 of 3,350 contexts written"), "{built}");
    let cancelled = Job { state: JobState::Cancelled, ..job() };
    assert!(ended(&cancelled).contains("contexts written, $0.42 at most, 3 failed"), "{}", ended(&cancelled));
    let free = Job { contexts: None, failed: Vec::new(), ..job() };
    assert!(!ended(&free).contains("contexts"));
}

#[test]
fn the_bar_counts_contexts_once_they_are_counted() {
    let bar = bar(true);
    let contexts = job().contexts.unwrap();
    let deciding = Job { contexts: Some(ContextProgress { total: 0, ..contexts }), ..job() };
    show(&bar, &deciding);
    assert_eq!((bar.length(), bar.position()), (Some(670), 670));
    let writing = ContextProgress { processed: 40, remaining_s: Some(125.0), ..contexts };
    show(&bar, &Job { contexts: Some(writing), ..job() });
    assert_eq!((bar.length(), bar.position()), (Some(3350), 40));
    assert_eq!(bar.message(), "3 failed, $0.42, 2 min 5 s left");
    // Of a price that nobody knows no sum is shown.
    assert!(!progress(&job(), &ContextProgress { micro_dollars: 0, ..writing }).contains('$'));
}

#[test]
fn a_job_that_waits_for_a_batch_says_so() {
    let contexts = job().contexts.map(|contexts| ContextProgress { processed: 0, failed: 0, ..contexts });
    let phase = |phase: &str| Job { state: JobState::Running, contexts, phase: phase.to_owned(), ..job() };
    assert_eq!(running(&phase("waiting for the batch")), "rebuild: 0 of 3,350 contexts, waiting for the batch");
    assert_eq!(running(&phase(WRITING_CONTEXTS)), "rebuild: 0 of 3,350 contexts");
    let decides = Job { contexts: None, ..phase("rebuilding") };
    assert_eq!(running(&decides), "rebuild: 670 of 670 notes");
}

#[test]
fn spans_are_said_in_the_unit_they_were_typed_in() {
    for (seconds, said) in
        [(86_400, "24 hours"), (604_800, "7 days"), (90_000, "25 hours"), (90, "90 seconds"), (7200, "2 hours")]
    {
        assert_eq!(span(seconds), said);
    }
}
