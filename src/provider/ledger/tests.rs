mod mend;

use std::collections::HashMap;
use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use proptest::prelude::*;

use super::*;
use context::cost::Usage;
use context::plan::Reason;
use protocol::cost::Sums;

const LIMITS: BudgetLimits = BudgetLimits { day: 1000, day_tokens: 500 };

fn at(text: &str) -> Zoned {
    format!("{text}[Europe/Berlin]").parse().unwrap()
}

fn noon() -> Zoned {
    at("2026-11-20T12:00:00")
}

fn ask(micro_dollars: Option<u64>, tokens: u64) -> CallEstimate<'static> {
    CallEstimate {
        vault: "notes",
        path: "a.md",
        reason: Reason::StructureChanged,
        provider: "anthropic",
        model: "small",
        purpose: Purpose::Change,
        micro_dollars,
        tokens,
    }
}

fn rebuild(job: u64, micro_dollars: Option<u64>, tokens: u64) -> CallEstimate<'static> {
    CallEstimate { purpose: Purpose::Rebuild(job), reason: Reason::Rebuild, ..ask(micro_dollars, tokens) }
}

fn used(micro_dollars: Option<u64>) -> Settled {
    let usage = Usage { input: 100, output: 20, cache_read: 40, cache_write: 10, estimated: false };
    Settled { usage, micro_dollars, contexts: 2, failed: false }
}

fn reserve(ledger: &Ledger, ask: CallEstimate<'_>) -> Result<Reservation, OverBudget> {
    ledger.reserve(ask, &LIMITS, None, noon())
}

/// What a restart reads is what was counted.
fn assert_same_after_restart(ledger: &Ledger, dir: &Path, now: &Zoned) {
    let again = Ledger::open(dir).unwrap();
    assert_eq!(again.report(now.clone()), ledger.report(now.clone()));
    let day = Pot::Day(now.date().to_string());
    assert_eq!(again.book.lock().spent(&day), ledger.book.lock().spent(&day));
}

#[test]
fn a_call_is_reserved_settled_and_reported() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("data/ledger");
    let ledger = Ledger::open(&folder).unwrap();
    let nothing = ledger.report(noon());
    assert_eq!((nothing.day.as_str(), nothing.today), ("2026-11-20", Sums::default()));
    assert!(!folder.exists(), "nothing is written before something is bought");
    let first = reserve(&ledger, ask(Some(600), 300)).unwrap();
    let today = ledger.report(noon()).today;
    assert_eq!((today.calls, today.micro_dollars, today.unsettled_micro_dollars), (1, 600, 600));
    ledger.settle(first, used(Some(250)), noon()).unwrap();
    let second = reserve(&ledger, CallEstimate { path: "b.md", model: "large", ..ask(Some(750), 300) }).unwrap();
    ledger.settle(second, Settled { failed: true, contexts: 0, ..used(Some(300)) }, noon()).unwrap();
    let third = reserve(&ledger, ask(Some(1), 1)).unwrap();
    ledger.release(third, noon()).unwrap();

    let report = ledger.report(noon());
    let sums = Sums {
        calls: 2,
        failed: 1,
        contexts: 2,
        tokens_in: 300,
        tokens_cached: 80,
        tokens_out: 40,
        micro_dollars: 550,
        ..Sums::default()
    };
    assert_eq!((report.today, report.this_month, report.last_month), (sums, sums, Sums::default()));
    let notes: Vec<_> = report.by_note.iter().map(|n| (n.path.as_str(), n.sums.micro_dollars)).collect();
    assert_eq!(notes, [("b.md", 300), ("a.md", 250)], "the dearest first");
    let models: Vec<_> = report.by_model.iter().map(|m| (m.provider.as_str(), m.model.as_str())).collect();
    assert_eq!(models, [("anthropic", "large"), ("anthropic", "small")]);
    assert_eq!((report.by_reason[0].reason.as_str(), report.by_reason[0].sums), ("StructureChanged", sums));
    assert_eq!((report.by_purpose[0].purpose.as_str(), report.by_purpose.len()), ("change", 1));
    assert_same_after_restart(&ledger, &folder, &noon());

    let json = serde_json::to_string(&report).unwrap();
    assert_eq!(serde_json::from_str::<CostReport>(&json).unwrap(), report);
    let mode = |path: &Path| platform::files::mode(&fs::metadata(path).unwrap());
    assert_eq!((mode(&folder), mode(&folder.join("2026-11.jsonl"))), (0o700, 0o600));
    let text = fs::read_to_string(folder.join("2026-11.jsonl")).unwrap();
    assert_eq!(text.lines().count(), 6);
    let mut lines = text.lines();
    let reserved = r#"{"at":"2026-11-20T12:00:00+01:00","line":"reserved","id":1,"day":"2026-11-20","vault":"notes","path":"a.md","reason":"StructureChanged","provider":"anthropic","model":"small","purpose":"change","reserved":600,"tokens":300,"placed":true}"#;
    assert_eq!(lines.next().unwrap(), reserved, "the format of the file");
    let took = r#","input":100,"output":20,"cache_read":40,"cache_write":10,"estimated":false,"micro_dollars":250,"contexts":2,"failed":false}"#;
    let settled = reserved.replace(r#""line":"reserved""#, r#""line":"settled""#).replace("true}", "true") + took;
    assert_eq!(lines.next().unwrap(), settled);
    ledger.settle_unknown(reserve(&ledger, ask(Some(1), 3)).unwrap(), noon()).unwrap();
    let text = fs::read_to_string(folder.join("2026-11.jsonl")).unwrap();
    let unknown = r#""input":3,"output":0,"cache_read":0,"cache_write":0,"estimated":true,"micro_dollars":1,"contexts":0,"failed":true,"maybe_billed":true}"#;
    assert!(text.lines().last().unwrap().ends_with(unknown), "{text}");
}

#[test]
fn a_ledger_beside_another_keeps_to_what_that_one_has_left_and_writes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let kept = Ledger::open(dir.path()).unwrap();
    let spent = reserve(&kept, ask(Some(600), 300)).unwrap();
    kept.settle(spent, used(Some(600)), noon()).unwrap();
    let before = fs::read_to_string(dir.path().join("2026-11.jsonl")).unwrap();
    let beside = Ledger::beside(dir.path()).unwrap();
    let refused = reserve(&beside, ask(Some(500), 300)).unwrap_err();
    assert_eq!(refused, OverBudget::Day { limit: 1000, spent: 600, needed: 500 });
    let call = reserve(&beside, ask(Some(400), 300)).unwrap();
    beside.settle(call, used(Some(400)), noon()).unwrap();
    assert!(reserve(&beside, ask(Some(1), 1)).is_err(), "its own calls count too");
    assert_eq!(fs::read_to_string(dir.path().join("2026-11.jsonl")).unwrap(), before);
}

#[test]
fn a_report_says_how_many_notes_there_are_beside_the_dearest() {
    let ledger = Ledger::in_memory();
    for n in 0..31 {
        let path = format!("{n}.md");
        let call = reserve(&ledger, CallEstimate { path: &path, ..ask(Some(1), 1) }).unwrap();
        ledger.settle(call, used(Some(1)), noon()).unwrap();
    }
    let report = ledger.report(noon());
    assert_eq!((report.by_note.len(), report.note_count), (20, 31));
}

#[test]
fn a_model_that_one_vault_has_asked_was_not_asked_by_another() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(dir.path()).unwrap();
    drop(reserve(&ledger, ask(Some(1), 1)).unwrap());
    drop(reserve(&ledger, CallEstimate { vault: "diary", model: "large", ..ask(Some(1), 1) }).unwrap());
    for ledger in [&ledger, &Ledger::open(dir.path()).unwrap()] {
        let has = |vault, model| ledger.has_asked(vault, "anthropic", model);
        assert!(has("notes", "small") && has("diary", "large"));
        assert!(!has("notes", "large") && !has("diary", "small"));
    }
}

#[test]
fn each_limit_refuses_what_it_is_for() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(dir.path()).unwrap();
    let own = Some((2000, 800));
    // What is asked, with which limit of its own, and what comes of it.
    let table: [(CallEstimate<'_>, Option<(u64, u64)>, Result<(), OverBudget>); 14] = [
        (ask(Some(1001), 1), None, Err(OverBudget::Day { limit: 1000, spent: 0, needed: 1001 })),
        (ask(Some(900), 9999), None, Ok(())),
        (ask(Some(101), 1), None, Err(OverBudget::Day { limit: 1000, spent: 900, needed: 101 })),
        (ask(Some(100), 1), None, Ok(())),
        (ask(Some(1), 1), None, Err(OverBudget::Day { limit: 1000, spent: 1000, needed: 1 })),
        // What is free is only counted.
        (ask(Some(0), u64::MAX), None, Ok(())),
        // What has no known price is measured in tokens.
        (ask(None, 501), None, Err(OverBudget::DayTokens { limit: 500, spent: 0, needed: 501 })),
        (ask(None, 500), None, Ok(())),
        // A rebuild has its own budget, and each its own.
        (rebuild(1, Some(1500), 1), own, Ok(())),
        (rebuild(1, Some(501), 1), own, Err(OverBudget::Rebuild { limit: 2000, spent: 1500, needed: 501 })),
        (rebuild(2, Some(501), 1), own, Ok(())),
        (rebuild(1, None, 900), own, Err(OverBudget::RebuildTokens { limit: 800, spent: 0, needed: 900 })),
        // One without a limit of its own is measured against the day, and so is a limit without a rebuild.
        (rebuild(3, Some(1), 1), None, Err(OverBudget::Day { limit: 1000, spent: 1000, needed: 1 })),
        (ask(Some(1), 1), own, Err(OverBudget::Day { limit: 1000, spent: 1000, needed: 1 })),
    ];
    for (n, (ask, own, expected)) in table.into_iter().enumerate() {
        let got = ledger.reserve(ask, &LIMITS, own, noon()).map(drop);
        assert_eq!(got, expected, "case {n}");
    }
    assert_eq!(ledger.spent_by_rebuild("notes", 1), Spending { micro_dollars: 1500, tokens: 0 });
    assert_eq!(ledger.spent_by_rebuild("other", 1), Spending::default());
    let overflow = ledger.reserve(ask(None, u64::MAX), &BudgetLimits { day_tokens: u64::MAX, ..LIMITS }, None, noon());
    assert!(matches!(overflow, Err(OverBudget::DayTokens { .. })), "sums do not wrap");
    let nothing = BudgetLimits { day: 0, day_tokens: 0 };
    let tomorrow = at("2026-11-21T12:00:00");
    for ask in [ask(Some(1), 1), ask(None, 1)] {
        assert!(ledger.reserve(ask, &nothing, None, tomorrow.clone()).is_err(), "0 buys nothing");
    }
    assert_same_after_restart(&ledger, dir.path(), &noon());
}

#[test]
fn what_is_no_decision_about_a_note_has_no_reason() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(dir.path()).unwrap();
    for purpose in [Purpose::Query, Purpose::Probe, Purpose::Asked] {
        let call = CallEstimate { purpose, reason: Reason::Rebuild, path: "", ..ask(Some(7), 1) };
        drop(reserve(&ledger, call).unwrap());
    }
    let report = ledger.report(noon());
    let mut reasons: Vec<&str> = report.by_reason.iter().map(|of| of.reason.as_str()).collect();
    reasons.sort_unstable();
    assert_eq!(reasons, ["asked", "probe", "query"]);
    assert_eq!((report.by_note.len(), report.by_note[0].sums.calls), (1, 2), "contexts of no note");
}

#[test]
fn an_unknown_price_is_counted_apart_and_never_as_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(dir.path()).unwrap();
    let first = reserve(&ledger, ask(None, 300)).unwrap();
    ledger.settle(first, used(None), noon()).unwrap();
    let _in_flight = reserve(&ledger, ask(None, 200)).unwrap();
    let today = ledger.report(noon()).today;
    assert_eq!((today.micro_dollars, today.unpriced_calls, today.unpriced_tokens), (0, 2, 170 + 200));
    assert_eq!((today.tokens_in, today.tokens_out), (150, 20), "tokens of an answer that came");
    // A price that was known when the call was made does not vanish.
    let known = reserve(&ledger, ask(Some(70), 300)).unwrap();
    ledger.settle(known, used(None), noon()).unwrap();
    assert_eq!(ledger.report(noon()).today.micro_dollars, 70);
    assert_same_after_restart(&ledger, dir.path(), &noon());
}

#[test]
fn what_is_never_settled_counts_as_spent() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(dir.path()).unwrap();
    drop(reserve(&ledger, ask(Some(700), 1)).unwrap());
    assert!(matches!(reserve(&ledger, ask(Some(400), 1)), Err(OverBudget::Day { spent: 700, .. })));
    // Killed: nothing of the process is left but the file.
    drop(ledger);
    let ledger = Ledger::open(dir.path()).unwrap();
    assert!(matches!(reserve(&ledger, ask(Some(400), 1)), Err(OverBudget::Day { spent: 700, .. })));
    let today = ledger.report(noon()).today;
    assert_eq!((today.micro_dollars, today.unsettled_calls, today.unsettled_micro_dollars), (700, 1, 700));
    // Numbers go on, so that a later settlement is not taken for that of the former process.
    let second = reserve(&ledger, ask(Some(300), 1)).unwrap();
    assert_eq!(second.entry.id, 2);
    ledger.settle(second, used(Some(5)), noon()).unwrap();
    let again = Ledger::open(dir.path()).unwrap();
    assert_eq!(again.report(noon()).today.micro_dollars, 705);
}

#[test]
fn what_a_killed_process_reserved_is_settled_in_parts_once() {
    let dir = tempfile::tempdir().unwrap();
    let whole = || CallEstimate { path: "", ..rebuild(7, Some(500), 90) };
    let limits = Some((600, 600));
    {
        let ledger = Ledger::open(dir.path()).unwrap();
        drop(ledger.reserve(whole(), &LIMITS, limits, noon()).unwrap());
        drop(ledger.reserve(rebuild(7, Some(50), 9), &LIMITS, limits, noon()).unwrap());
    }
    let ledger = Ledger::open(dir.path()).unwrap();
    assert!(ledger.standing("notes", "", Purpose::Rebuild(8)).is_none());
    assert!(ledger.standing("other", "", Purpose::Rebuild(7)).is_none());
    let reservation = ledger.standing("notes", "", Purpose::Rebuild(7)).unwrap();
    let parts =
        [("a.md".to_owned(), used(Some(40))), ("b.md".to_owned(), used(Some(2))), ("a.md".to_owned(), used(Some(1)))];
    ledger.settle_parts(reservation, &parts, noon()).unwrap();
    assert!(ledger.standing("notes", "", Purpose::Rebuild(7)).is_none(), "settled twice");
    // What the other call may have taken still counts.
    assert_eq!(ledger.spent_by_rebuild("notes", 7).micro_dollars, 43 + 50);
    let report = ledger.report(noon());
    assert_eq!((report.today.calls, report.today.contexts, report.today.unsettled_calls), (4, 6, 1));
    let notes: Vec<(&str, u64)> = report.by_note.iter().map(|n| (n.path.as_str(), n.sums.micro_dollars)).collect();
    assert_eq!(notes, [("a.md", 91), ("b.md", 2)]);
    assert_same_after_restart(&ledger, dir.path(), &noon());
    // Torn before its last line: too much counts, and not too little, and it can be settled.
    let file = dir.path().join("2026-11.jsonl");
    let text = std::fs::read_to_string(&file).unwrap();
    let cut: Vec<&str> = text.lines().collect();
    std::fs::write(&file, format!("{}\n", cut[..cut.len() - 1].join("\n"))).unwrap();
    let torn = Ledger::open(dir.path()).unwrap();
    assert_eq!(torn.spent_by_rebuild("notes", 7).micro_dollars, 43 + 50 + 500);
    assert!(torn.standing("notes", "", Purpose::Rebuild(7)).is_some());
}

#[test]
fn days_and_months_end_at_the_users_midnight() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(dir.path()).unwrap();
    let (evening, morning) = (at("2026-11-30T23:59:59"), at("2026-12-01T00:00:01"));
    let late = ledger.reserve(ask(Some(900), 1), &LIMITS, None, evening.clone()).unwrap();
    assert!(ledger.reserve(ask(Some(900), 1), &LIMITS, None, evening.clone()).is_err());
    let early = ledger.reserve(ask(Some(800), 1), &LIMITS, None, morning.clone()).unwrap();
    // The answer comes after midnight and belongs to the day on which it was asked for.
    ledger.settle(late, used(Some(450)), morning.clone()).unwrap();
    ledger.settle(early, used(Some(80)), morning.clone()).unwrap();
    let report = ledger.report(morning.clone());
    let micro = [report.today, report.this_month, report.last_month].map(|sums| sums.micro_dollars);
    assert_eq!((micro, report.day.as_str()), ([80, 80, 450], "2026-12-01"));
    assert_eq!(ledger.report(evening.clone()).today.micro_dollars, 450);
    let lines = |month: &str| fs::read_to_string(dir.path().join(format!("{month}.jsonl"))).unwrap().lines().count();
    assert_eq!((lines("2026-11"), lines("2026-12")), (2, 2));
    assert_same_after_restart(&ledger, dir.path(), &morning);
    assert_same_after_restart(&ledger, dir.path(), &evening);
    // The same moment is another day elsewhere.
    let elsewhere = evening.with_time_zone(jiff::tz::TimeZone::fixed(jiff::tz::offset(9)));
    assert_eq!(ledger.report(elsewhere).day, "2026-12-01");
    // A rebuild's budget knows no midnight, and no restart.
    let own = Some((1000, 0));
    drop(ledger.reserve(rebuild(7, Some(600), 1), &LIMITS, own, evening).unwrap());
    let ledger = Ledger::open(dir.path()).unwrap();
    let refused = ledger.reserve(rebuild(7, Some(600), 1), &LIMITS, own, morning);
    assert_eq!(refused.map(drop), Err(OverBudget::Rebuild { limit: 1000, spent: 600, needed: 600 }));
}

#[test]
fn what_a_team_saved_hides_nothing_that_was_spent() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(dir.path()).unwrap();
    // The clock was ahead once, so that the newest two months are not this one.
    for now in [noon(), at("2026-12-20T12:00:00"), at("2027-01-20T12:00:00")] {
        drop(ledger.reserve(ask(Some(900), 1), &LIMITS, None, now).unwrap());
    }
    let again = Ledger::open(dir.path()).unwrap();
    again.spare("notes", "a.md", TeamSaving { team: "handbook".to_owned(), ..TeamSaving::default() }, noon()).unwrap();
    assert!(matches!(reserve(&again, ask(Some(900), 1)), Err(OverBudget::Day { spent: 900, .. })));
    assert_same_after_restart(&again, dir.path(), &noon());
}

#[test]
fn a_clock_that_jumps_loses_no_money() {
    let dir = tempfile::tempdir().unwrap();
    let days = ["2026-11-20", "2031-01-01", "2026-11-19", "2026-08-01", "2026-11-20"];
    let ledger = Ledger::open(dir.path()).unwrap();
    for (n, day) in days.iter().enumerate() {
        let now = at(&format!("{day}T12:00:00"));
        let reserved = ledger.reserve(ask(Some(600), 1), &LIMITS, None, now.clone());
        assert_eq!(reserved.is_ok(), n < 4, "a day has its budget once, whatever came between: {day}");
        if let Ok(reserved) = reserved {
            // Settled with a clock that is set back by then.
            ledger.settle(reserved, used(Some(550)), at("2020-01-01T00:00:00")).unwrap();
        }
    }
    // The newest two months are read at the start, the others as the clock asks for them.
    let again = Ledger::open(dir.path()).unwrap();
    for day in ["2026-08-01", "2026-11-19", "2026-11-20", "2031-01-01"] {
        let now = at(&format!("{day}T23:00:00"));
        assert_eq!(again.report(now.clone()).today.micro_dollars, 550, "{day}");
        assert!(again.reserve(ask(Some(600), 1), &LIMITS, None, now).is_err(), "{day}");
    }
}

#[test]
fn damaged_lines_are_counted_and_stop_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("2026-11.jsonl");
    let ledger = Ledger::open(dir.path()).unwrap();
    for _ in 0..3 {
        let reserved = reserve(&ledger, ask(Some(300), 1)).unwrap();
        ledger.settle(reserved, used(Some(100)), noon()).unwrap();
    }
    drop(ledger);
    let lines: Vec<String> = fs::read_to_string(&file).unwrap().lines().map(str::to_owned).collect();
    // Reservation and settlement, three times; which lines are damaged, and what counts then.
    for (damaged, spent) in [(0, 300), (1, 500), (2, 300), (4, 300), (5, 500)] {
        let mut bad = lines.clone();
        bad[damaged] = bad[damaged].replacen("\"id\":", "\"id\":x", 1);
        fs::write(&file, bad.join("\n") + "\n").unwrap();
        let report = Ledger::open(dir.path()).unwrap().report(noon());
        assert_eq!((report.damaged_lines, report.today.micro_dollars), (1, spent), "line {damaged}");
    }
    // Torn at every byte of the last line; what is appended behind it is whole.
    let whole = lines.join("\n") + "\n";
    let last = whole.len() - lines[5].len() - 1;
    for length in (last..whole.len()).step_by(7).chain([whole.len() - 1]) {
        fs::write(&file, &whole[..length]).unwrap();
        let ledger = Ledger::open(dir.path()).unwrap();
        let torn = u64::from(length > last && length < whole.len() - 1);
        assert_eq!(ledger.report(noon()).damaged_lines, torn, "{length}");
        drop(reserve(&ledger, ask(Some(7), 1)).unwrap());
        let micro = if length == whole.len() - 1 { 307 } else { 507 };
        let report = Ledger::open(dir.path()).unwrap().report(noon());
        assert_eq!((report.damaged_lines, report.today.micro_dollars), (torn, micro), "{length}");
    }
    let mut strange = b"\xFF\xFE\n\n{}\nnull\n".to_vec();
    strange.extend(vec![b'x'; 200 << 10]);
    strange.push(b'\n');
    // A line of another month, and days that are none.
    for day in ["2026-10-20", "2026-11-31", "2026-11-5", "x"] {
        strange.extend(lines[0].replace("2026-11-20\",\"vault", &format!("{day}\",\"vault")).bytes());
        strange.push(b'\n');
    }
    strange.extend(whole.bytes());
    fs::write(&file, strange).unwrap();
    fs::write(dir.path().join("notes.jsonl"), "not ours").unwrap();
    fs::write(dir.path().join("2026-13.jsonl"), "not ours").unwrap();
    let report = Ledger::open(dir.path()).unwrap().report(noon());
    assert_eq!((report.damaged_lines, report.today.micro_dollars), (8, 300));
}

#[test]
fn what_cannot_be_written_is_not_bought() {
    let dir = tempfile::tempdir().unwrap();
    let blocked = dir.path().join("ledger");
    let ledger = Ledger::open(&blocked).unwrap();
    fs::write(&blocked, "a file where the folder should be").unwrap();
    assert!(matches!(reserve(&ledger, ask(Some(1), 1)), Err(OverBudget::Io(_))));
    assert_eq!(ledger.report(noon()).today, Sums::default());
    fs::remove_file(&blocked).unwrap();
    assert!(reserve(&ledger, ask(Some(1), 1)).is_ok(), "and it goes on when it can");
}

#[test]
fn a_refusal_says_what_is_left() {
    let refused = OverBudget::Day { limit: 500_000, spent: 499_000, needed: 1200 };
    let said = "the budget of $0.50 a day is used up: $0.499 are spent or reserved, and this call may take $0.0012";
    assert_eq!(refused.to_string(), said);
}

#[test]
fn many_at_once_never_reserve_more_than_the_limit() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(dir.path()).unwrap();
    let limits = BudgetLimits { day: 500, day_tokens: 0 };
    let granted = AtomicU64::new(0);
    thread::scope(|scope| {
        for worker in 0..8u64 {
            let (ledger, granted) = (&ledger, &granted);
            scope.spawn(move || {
                for n in 0..12 {
                    let price = 7 + (worker * 5 + n) % 11;
                    let Ok(reserved) = ledger.reserve(ask(Some(price), 1), &limits, None, noon()) else { continue };
                    match n % 3 {
                        0 => ledger.release(reserved, noon()).unwrap(),
                        1 => {
                            granted.fetch_add(price - 3, Ordering::SeqCst);
                            ledger.settle(reserved, used(Some(price - 3)), noon()).unwrap();
                        }
                        // Dropped.
                        _ => {
                            granted.fetch_add(price, Ordering::SeqCst);
                        }
                    }
                }
            });
        }
    });
    let spent = ledger.report(noon()).today.micro_dollars;
    assert_eq!(spent, granted.into_inner());
    assert!(spent <= 500 && spent > 400, "{spent}");
    assert_same_after_restart(&ledger, dir.path(), &noon());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whatever is reserved, settled, released, dropped and restarted: the sum of estimates of what is open and
    /// of what was settled at most at its estimate is never above a limit, and the file says the same.
    #[test]
    fn no_limit_is_ever_exceeded(steps in proptest::collection::vec((0..5u8, 1..400u64, any::<bool>(), 0..3u8), 1..30)) {
        let dir = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::open(dir.path()).unwrap();
        let mut open: Vec<(Reservation, u64)> = Vec::new();
        let mut model: HashMap<String, u64> = HashMap::new();
        for (step, price, priced, day) in steps {
            let now = at(&format!("2026-11-{}T12:00:00", 29 + day.min(1)));
            match step {
                0..=2 => {
                    let ask = if priced { ask(Some(price), 1) } else { ask(None, price) };
                    let limit = if priced { LIMITS.day } else { LIMITS.day_tokens };
                    let pot = format!("{} {priced}", now.date());
                    let before = model.get(&pot).copied().unwrap_or(0);
                    match ledger.reserve(ask, &LIMITS, None, now) {
                        Ok(reservation) => {
                            prop_assert!(before + price <= limit);
                            model.insert(pot, before + price);
                            open.push((reservation, price));
                        }
                        Err(_) => prop_assert!(before + price > limit),
                    }
                }
                3 => if let Some((reservation, price)) = open.pop() {
                    let pot = format!("{} {}", reservation.entry.day, reservation.entry.reserved.is_some());
                    let take = if day == 0 { price } else { price / 2 };
                    *model.get_mut(&pot).unwrap() -= take;
                    if day == 0 {
                        ledger.release(reservation, now).unwrap();
                    } else {
                        let micro = reservation.entry.reserved.map(|micro| micro - take);
                        let usage = Usage { input: price - take, ..Usage::default() };
                        ledger.settle(reservation, Settled { usage, micro_dollars: micro, ..used(None) }, now).unwrap();
                    }
                },
                _ => {
                    open.clear();
                    ledger = Ledger::open(dir.path()).unwrap();
                }
            }
            for (pot, spent) in &model {
                let (day, priced) = pot.split_once(' ').unwrap();
                let now = ledger.book.lock().spent(&Pot::Day(day.to_owned()));
                prop_assert_eq!(if priced == "true" { now.micro_dollars } else { now.tokens }, *spent);
            }
        }
    }

    #[test]
    fn any_bytes_open(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("2026-11.jsonl"), bytes).unwrap();
        let ledger = Ledger::open(dir.path()).unwrap();
        prop_assert!(reserve(&ledger, ask(Some(1), 1)).is_ok());
        prop_assert_eq!(Ledger::open(dir.path()).unwrap().report(noon()).today.calls, 1);
    }
}
