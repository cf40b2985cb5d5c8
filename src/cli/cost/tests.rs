use super::super::search::tests::Page;
use super::*;
use protocol::cost::{ModelCost, NoteCost, PurposeCost, ReasonCost};

fn sums() -> Sums {
    Sums {
        calls: 12,
        contexts: 36,
        tokens_in: 12_000,
        tokens_cached: 3000,
        tokens_out: 800,
        micro_dollars: 4200,
        unpriced_calls: 1,
        unpriced_tokens: 777,
        unsettled_calls: 2,
        unsettled_micro_dollars: 300,
        failed: 1,
        estimated_calls: 1,
    }
}

fn report() -> CostReport {
    let priced = Sums { unpriced_calls: 0, unpriced_tokens: 0, ..sums() };
    CostReport {
        day: "2026-11-20".into(),
        today: priced,
        this_month: sums(),
        last_month: Sums::default(),
        by_reason: vec![ReasonCost { reason: "NewNote".into(), sums: priced }],
        by_purpose: vec![PurposeCost { purpose: "change".into(), sums: priced }],
        by_note: (0..7)
            .map(|i| NoteCost { vault: "notes".into(), path: format!("a\u{1b}[2J{i}.md"), sums: priced })
            .collect(),
        note_count: 0,
        by_model: vec![ModelCost { provider: "openai".into(), model: "own".into(), sums: sums() }],
        by_team: vec![TeamSaving { team: "handbook".into(), contexts: 9, calls: 3, micro_dollars: 52_000 }],
        damaged_lines: 1,
    }
}

#[test]
fn one_screen_says_what_it_cost() {
    let page = Page::default();
    print(&report(), &mut Out::to(page.clone(), 80)).unwrap();
    let text = page.text();
    for expected in [
        "Today       $0.0042\n",
        "This month  $0.0042, and 777 tokens of unknown price",
        "Last month  nothing",
        "12 calls, 36 contexts; 12,000 tokens read (3,000 cached), 800 written",
        "of that reserved: 2 calls without an answer yet ($0.0003 at most)",
        "of that in vain: 1 call\n",
        "NewNote",
        "notes that changed",
        "openai own",
        "and 2 more",
        "handbook",
        "about $0.052, 3 calls, 9 contexts",
        "1 line of the ledger cannot be read",
    ] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
    assert!(!text.contains('\u{1b}') && !text.contains("$0.00 "), "{text:?}");
    assert!(text.lines().count() <= 40, "{text}");
    assert!(text.lines().all(|line| columns(line) <= 80), "{text}");
}

#[test]
fn nothing_is_said_as_nothing() {
    let page = Page::default();
    print(&CostReport::default(), &mut Out::to(page.clone(), 80)).unwrap();
    assert_eq!(page.text().matches("nothing").count(), 3);
    assert!(!page.text().contains('$'));
}

#[test]
fn what_json_lists_of_many_notes_is_no_more_than_the_daemon_reports() {
    let shown = |note_count| {
        let page = Page::default();
        print(&CostReport { note_count, ..report() }, &mut Out::to(page.clone(), 80)).unwrap();
        page.text()
    };
    assert!(shown(7).contains("  and 2 more; --json lists them\n"), "{}", shown(7));
    assert!(shown(1040).contains("  and 1,035 more; --json lists the 7 dearest\n"), "{}", shown(1040));
}
