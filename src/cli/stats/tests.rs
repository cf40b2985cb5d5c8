use super::super::search::tests::Page;
use super::*;

fn shown(stats: &Stats) -> String {
    let page = Page::default();
    print(stats, &mut Out::to(page.clone(), 80)).unwrap();
    page.text()
}

#[test]
fn what_a_model_wrote_is_told_in_words() {
    let stats = Stats {
        total: 5678,
        processed: 5000,
        failed: 12,
        percentage: 88.06,
        elapsed_s: Some(61.0),
        remaining_s: Some(30.0),
        status: "running".into(),
        contextualized: 4000,
        average_context_length: 312.4,
        average_context_words: 51.0,
        average_quality: 0.82,
        provider: "openai".into(),
        model: "own\u{1b}[2J".into(),
        tokens: 1_234_567,
        micro_dollars: 0,
        unpriced: 4000,
        outcomes: [("taken_note", 3990), ("rejected_refusal", 7), ("fell_back_to_template", 12)]
            .map(|(name, n)| (name.to_owned(), n))
            .into(),
    };
    let text = shown(&stats);
    for expected in [
        "contexts are being written",
        "5,000 (88.1 %)",
        "for 1 min 1 s, about 30.0 s to go",
        "openai own\n",
        "312 characters, quality 0.82",
        "price unknown (4,000 contexts)",
        "7       rejected: declined by the model",
        "given up after all tries",
    ] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
    assert!(!text.contains('\u{1b}') && !text.contains('$'), "{text:?}");
    assert_eq!(cost(&Stats { micro_dollars: 4200, ..stats }), "$0.0042, and 4,000 contexts of unknown price");
}

#[test]
fn templates_say_nothing_of_money() {
    let text = shown(&Stats { provider: "template".into(), status: "idle".into(), total: 3, ..Stats::default() });
    assert!(text.contains("nothing to do") && text.contains("template"), "{text}");
    assert!(!text.contains("cost") && !text.contains("quality"), "{text}");
}

#[test]
fn what_waits_is_not_said_to_be_under_way() {
    let waiting = Stats { status: "running".into(), provider: "openai".into(), ..Stats::default() };
    assert!(shown(&waiting).starts_with("contexts wait for the model"), "{}", shown(&waiting));
    let free = shown(&Stats { provider: "template".into(), ..Stats::default() });
    assert!(free.contains("written by") && free.lines().all(|line| line.trim_end() == line), "{free}");
}
