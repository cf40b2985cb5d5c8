use super::super::search::tests::Page;
use super::*;
use crate::cli::print::Out;
use protocol::contexts::Estimate;
use protocol::jobs::{JobKind, JobState, SkippedFile};
use protocol::status::ConfigStatus;

fn status() -> Status {
    Status {
        state: RunState::Idle,
        vaults: vec![VaultStatus {
            name: "no\u{1b}[31mtes".into(),
            path: "/home/me/Notes".into(),
            notes: 1234,
            chunks: 5678,
            last_change: Some(90),
            watch: "inotify".into(),
            skipped: (0..6).map(|i| SkippedFile { path: format!("{i}.md"), why: "too large".into() }).collect(),
            skipped_total: 9,
            ..VaultStatus::default()
        }],
        problems: vec!["the disk is full; make room".into()],
        leaves_machine: Vec::new(),
        contexts: protocol::status::ContextStatus::default(),
        contextualizer: "template/1".into(),
        embedder: "builtin/1".into(),
        embedding: EmbedStatus { waiting: 2, next: Some("openai m".into()), done: 3, total: 1234 },
        uptime_s: 61,
        rss_bytes: 50_000_000,
        version: "0.1.0".into(),
        pid: 7,
        held: vec!["making anew waits: on battery".into()],
        config: ConfigStatus::default(),
        paused_until: None,
        sandbox: Sandbox { landlock: Enforcement::Full, abi: 6, network: false, why: None },
        supervisor: "systemd".into(),
        socket: "/run/user/1000/situated/sock".into(),
    }
}

fn report(status: Status) -> Report {
    Report { status, cost: Some(CostReport::default()), jobs: Vec::new() }
}

#[test]
fn one_screen_answers_the_questions() {
    let page = Page::default();
    let job = |state| Job {
        state,
        done: 1200,
        ..Job::dry_run(JobKind::Rebuild, protocol::jobs::Scope::default(), Some(5678), None)
    };
    let report = Report { jobs: vec![job(JobState::Running), job(JobState::Done)], ..report(status()) };
    rows(&report, 100).print(&mut Out::to(page.clone(), 80)).unwrap();
    let text = page.text();
    for expected in [
        "up to date, but see below",
        "1,234 notes, 5,678 chunks",
        "changed just now, by inotify",
        "9 files skipped",
        "and 6 more",
        "doing     rebuild: 1,200 of 5,678 notes\n",
        "cost      nothing today, nothing this month",
        "making anew waits: on battery",
        "leaves    nothing leaves this machine",
        "it can read the vaults, write to its own folders",
        "the disk is full; make room",
    ] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
    assert!(!text.contains('\u{1b}'), "{text:?}");
    assert!(text.lines().count() <= 24, "{text}");
}

fn shown(status: &Status, width: usize) -> String {
    let page = Page::default();
    rows(&report(status.clone()), 10_000).print(&mut Out::to(page.clone(), width)).unwrap();
    page.text().split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn contexts_of_a_model_are_told_in_words() {
    let renewal =
        Estimate { micro_dollars: Some(420_000), price_as_of: Some("2026-11-12".into()), ..Estimate::default() };
    let contexts = ContextStatus {
        provider: "anthropic".into(),
        model: "own\u{1b}[2J".into(),
        wanted: 5678,
        waiting: 12,
        old_generation: 1234,
        drifted: 3,
        failed: 1,
        held: Some("today's budget is used up".into()),
        offers: Vec::new(),
        renewal: Some(renewal.clone()),
        synced_at: Some(0),
    };
    let leaves = vec!["text of notes, to api.example.com".to_owned()];
    let told = shown(&Status { contexts: contexts.clone(), leaves_machine: leaves, ..status() }, 80);
    for expected in [
        "contexts anthropic own it is to write 5,678 contexts; 12 wait for it",
        "nothing is asked at present: today's budget is used up",
        "1,234 contexts are older than the model, the prompt or the last rebuild; new ones: about $0.42 \
         (prices of 2026-11-12): `situated contexts start --replace`",
        "3 chunks wait for the next sync: the text has become another than its context was written for, or the model \
         has not been asked yet; `situated sync --since all` asks now",
        "1 chunk got nothing usable from the model",
        "last look after stale ones: 2 h ago",
        "leaves text of notes, to api.example.com",
    ] {
        assert!(told.contains(expected), "{expected}\n{told}");
    }
    let refused =
        ContextStatus { held: Some("openai: Address family not supported (os error 97)".into()), ..contexts.clone() };
    let told = shown(&Status { contexts: refused, supervisor: "systemd".into(), ..status() }, 120);
    assert!(told.contains("the service may not use the network: `situated service install` lets it"), "{told}");
    let unpriced = Estimate { micro_dollars: None, tokens_in: 900, tokens_out: 99, ..renewal };
    let told =
        shown(&Status { contexts: ContextStatus { renewal: Some(unpriced), ..contexts.clone() }, ..status() }, 120);
    assert!(told.contains("new ones: price unknown: 999 tokens") && !told.contains('$'), "{told}");
    let quiet = ContextStatus { provider: "ollama".into(), model: "m".into(), ..ContextStatus::default() };
    let told = shown(&Status { contexts: quiet, ..status() }, 80);
    assert!(told.contains("none waits for it") && told.contains("not yet") && !told.contains("older than"), "{told}");
    // The template needs no words of its own.
    for provider in ["template", ""] {
        let contexts = ContextStatus { provider: provider.into(), ..contexts.clone() };
        assert!(!shown(&Status { contexts, ..status() }, 80).contains("is to write"));
    }
}

#[test]
fn a_daemon_that_does_not_answer_is_not_to_be_asked_again_by_this_command() {
    let failure = unanswered(ClientError::Timeout { after: std::time::Duration::from_secs(10), pid: Some(7) });
    let CliFailure::Said { code: exit::TIMEOUT, message } = failure else { panic!("{failure:?}") };
    assert!(message.contains("kill -9 7") && !message.contains("situated status"), "{message}");
}

#[test]
fn it_fits_a_terminal_of_twenty_columns() {
    let page = Page::default();
    rows(&report(Status { vaults: Vec::new(), ..status() }), 100).print(&mut Out::to(page.clone(), 20)).unwrap();
    for line in page.text().lines().skip(1) {
        assert!(super::super::print::columns(line) <= 20, "{line:?}");
    }
}

#[test]
fn a_vault_without_notes_is_nothing_to_be_content_with() {
    let vault = VaultStatus { notes: 0, chunks: 0, skipped_total: 0, last_change: None, ..status().vaults.remove(0) };
    let empty = Status { vaults: vec![vault], problems: Vec::new(), ..status() };
    let said = rows(&report(empty.clone()), 100);
    assert_eq!((said.light, said.health.as_str()), (Level::Warn, "up to date, and there is no note"));
    let told = shown(&empty, 100);
    assert!(told.contains("is this the right folder") && !told.contains("not indexed yet"), "{told}");
    // What was found could not be kept: that says nothing about the folder.
    let full =
        Status { state: RunState::Degraded, problems: vec!["the disk is full; make room".into()], ..empty.clone() };
    assert!(!shown(&full, 100).contains("is this the right folder"));
    let looking = Status { state: RunState::Indexing, ..empty };
    assert!(!shown(&looking, 100).contains("is this the right folder"));
    assert_eq!(rows(&report(looking), 100).light, Level::Ok);
}

#[test]
fn a_configuration_that_is_not_in_force_is_told_of() {
    assert!(!shown(&status(), 80).contains("config reload"));
    let config = ConfigStatus {
        changed: true,
        awaits_start: vec!["serve.socket".into(), "host.sandbox".into()],
        ..ConfigStatus::default()
    };
    let told = shown(&Status { config, ..status() }, 80);
    assert!(told.contains("changed since the daemon read it: `situated config reload`"), "{told}");
    assert!(told.contains("starts again: serve.socket, host.sandbox"), "{told}");
}

#[test]
fn the_page_says_the_same_and_holds_nothing_of_others() {
    use crate::cli::doctor::{Check, Level};
    let mut evil = status();
    evil.vaults[0].path = "/home/<script>alert(1)</script>".into();
    let rows = rows(&report(evil), 100);
    let check = Check {
        id: "vaults",
        level: Level::Fail,
        finding: "it is <gone>".into(),
        evidence: Some("ENOENT".into()),
        remedy: Some("situated vault list".into()),
    };
    let page = page::page(&rows, &[check]);
    for said in [
        "1,234 notes, 5,678 chunks",
        "9 files skipped",
        "nothing leaves this machine",
        "it is &lt;gone&gt;",
        "situated vault list",
    ] {
        assert!(page.contains(said), "{said}: {page}");
    }
    assert!(!page.contains("<script") && !page.contains("://") && !page.contains('\u{1b}'), "{page}");
}

#[test]
fn the_end_of_a_pause_names_another_day_than_today() {
    let noon = jiff::civil::date(2026, 11, 28).at(12, 0, 0, 0).to_zoned(jiff::tz::TimeZone::system()).unwrap();
    let now = noon.timestamp().as_second();
    let told = |paused_until| paused(&Status { paused_until, ..status() }, now);
    assert_eq!(told(None), None);
    assert_eq!(told(Some(0)).unwrap(), "paused");
    assert_eq!(told(Some(now + 3600)).unwrap(), "paused until 13:00");
    assert_eq!(told(Some(now + 86_400)).unwrap(), "paused until 2026-11-29 12:00");
}
