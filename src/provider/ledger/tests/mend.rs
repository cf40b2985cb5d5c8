//! What the start does with what former processes left reserved.

use std::fmt::Write as _;
use std::fs;

use super::super::*;
use context::plan::Reason;

fn at(text: &str) -> Zoned {
    format!("{text}[Europe/Berlin]").parse().unwrap()
}

fn noon() -> Zoned {
    at("2026-11-20T12:00:00")
}

/// A reservation as a former version wrote it.
fn reserved(id: u64, second: u64, path: &str, micro: u64) -> String {
    format!(
        r#"{{"at":"2026-11-20T10:00:{second:02}+01:00","line":"reserved","id":{id},"day":"2026-11-20","vault":"notes","path":"{path}","reason":"NewNote","provider":"anthropic","model":"small","purpose":"change","reserved":{micro},"tokens":90}}"#
    )
}

fn settled(id: u64, path: &str, micro: u64) -> String {
    let line = reserved(id, 0, path, 50).replace(r#""line":"reserved""#, r#""line":"settled""#);
    let used = r#""input":80,"output":9,"cache_read":0,"cache_write":0,"estimated":false,"contexts":1,"failed":false"#;
    format!("{},{used},\"micro_dollars\":{micro}}}", line.trim_end_matches('}'))
}

fn today(ledger: &Ledger) -> (u64, u64, u64) {
    let today = ledger.report(noon()).today;
    (today.calls, today.unsettled_calls, today.micro_dollars)
}

#[test]
fn what_a_former_version_never_sent_is_given_back() {
    let dir = tempfile::tempdir().unwrap();
    let mut lines = vec![reserved(1, 0, "long.md", 50), settled(1, "long.md", 30)];
    // A burst of forty, of which two were answered, and another one a minute later.
    lines.extend((2..42).map(|id| reserved(id, 5, "long.md", 50 + id)));
    lines.extend([settled(2, "long.md", 20), settled(3, "long.md", 20)]);
    lines.extend((42..52).map(|id| reserved(id, 55, "long.md", 10)));
    // A call about another note, alone.
    lines.push(reserved(52, 55, "short.md", 7));
    fs::write(dir.path().join("2026-11.jsonl"), lines.join("\n") + "\n").unwrap();
    let ledger = Ledger::open(dir.path()).unwrap();
    let before = today(&ledger);
    assert_eq!((before.0, before.1), (52, 38 + 10 + 1));
    let mended = ledger.mend(4, &noon()).unwrap();
    // Of each burst the four dearest may have been sent.
    let kept = (38 + 39 + 40 + 41) + 4 * 50 + 4 * 10 + 7;
    assert_eq!((mended.booked, mended.booked_micro_dollars), (4 + 4 + 1, kept));
    assert_eq!((mended.returned, mended.returned_micro_dollars), (34 + 6, before.2 - 70 - kept));
    assert_eq!(today(&ledger), (3 + 9, 0, 70 + kept));
    // It is written down: the next start has nothing to do and counts the same.
    let again = Ledger::open(dir.path()).unwrap();
    assert_eq!((today(&again), again.mend(4, &noon()).unwrap()), (today(&ledger), Mended::default()));
    assert_eq!(again.report(noon()), ledger.report(noon()));
}

#[test]
fn what_was_sent_counts_at_its_estimate_and_a_batch_stays() {
    let dir = tempfile::tempdir().unwrap();
    let limits = BudgetLimits { day: 1000, day_tokens: 1000 };
    let ask = |path, purpose| CallEstimate {
        vault: "notes",
        path,
        reason: Reason::NewNote,
        provider: "anthropic",
        model: "small",
        purpose,
        micro_dollars: Some(20),
        tokens: 9,
    };
    {
        let ledger = Ledger::open(dir.path()).unwrap();
        for _ in 0..6 {
            drop(ledger.reserve(ask("a.md", Purpose::Change), &limits, None, noon()).unwrap());
        }
        drop(ledger.reserve(ask("", Purpose::Rebuild(5)), &limits, Some((500, 500)), noon()).unwrap());
    }
    let ledger = Ledger::open(dir.path()).unwrap();
    // However few places there are: this version reserves for what it sends.
    let mended = ledger.mend(1, &noon()).unwrap();
    assert_eq!(mended, Mended { booked: 6, booked_micro_dollars: 120, ..Mended::default() });
    assert_eq!(today(&ledger), (7, 1, 140));
    assert!(ledger.standing("notes", "", Purpose::Rebuild(5)).is_some());
    assert_eq!(Ledger::open(dir.path()).unwrap().report(noon()), ledger.report(noon()));
}

#[test]
fn a_ledger_that_cannot_be_read_buys_nothing_until_it_can() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("2026-11.jsonl");
    fs::write(&file, reserved(1, 0, "a.md", 70) + "\n").unwrap();
    let limits = BudgetLimits { day: 100, day_tokens: 0 };
    let ask = |micro| CallEstimate {
        vault: "notes",
        path: "a.md",
        reason: Reason::NewNote,
        provider: "anthropic",
        model: "small",
        purpose: Purpose::Change,
        micro_dollars: Some(micro),
        tokens: 9,
    };
    fs::rename(&file, dir.path().join("kept")).unwrap();
    // Neither a folder nor a pipe is a file; opening the pipe would wait for ever.
    fs::create_dir(&file).unwrap();
    assert!(Ledger::open(dir.path()).is_err());
    let ledger = Ledger::open_or_refuse(dir.path());
    let problem = ledger.problem().unwrap();
    assert!(problem.contains("2026-11.jsonl") && problem.contains("nothing is bought") && !problem.contains('\n'));
    let refused = ledger.reserve(ask(1), &limits, None, noon()).map(drop).unwrap_err();
    assert_eq!(refused, OverBudget::Io(problem));
    fs::remove_dir(&file).unwrap();
    #[cfg(unix)]
    {
        assert!(std::process::Command::new("mkfifo").arg(&file).status().unwrap().success());
        assert!(ledger.reserve(ask(1), &limits, None, noon()).is_err());
        fs::remove_file(&file).unwrap();
    }
    // As soon as it can be read what was spent counts, and nothing is wrong any more.
    fs::rename(dir.path().join("kept"), &file).unwrap();
    assert_eq!(ledger.problem(), None);
    assert_eq!(ledger.report(noon()).today.micro_dollars, 70);
    assert_eq!(
        ledger.reserve(ask(31), &limits, None, noon()).map(drop),
        Err(OverBudget::Day { limit: 100, spent: 70, needed: 31 })
    );
    assert!(ledger.reserve(ask(30), &limits, None, noon()).is_ok());
    assert_eq!(ledger.problem(), None);
}

#[test]
fn a_zeroed_ledger_is_damage() {
    let dir = tempfile::tempdir().unwrap();
    let mut text = String::new();
    for id in 1..4 {
        writeln!(text, "{}", reserved(id, 0, "a.md", 70)).unwrap();
    }
    fs::write(dir.path().join("2026-11.jsonl"), vec![0; text.len()]).unwrap();
    let ledger = Ledger::open(dir.path()).unwrap();
    assert_eq!(ledger.report(noon()).damaged_lines, 1);
    let problem = ledger.problem().unwrap();
    assert!(problem.contains("2026-11.jsonl") && problem.contains("nothing that can be read"), "{problem}");
}
