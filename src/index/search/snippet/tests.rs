use super::super::printable::printable;
use super::*;
use proptest::prelude::*;

/// Words in lower case without a plural's s; runs of CJK as bigrams.
fn analyze(text: &str, each: &mut dyn FnMut(Range<usize>, &str)) {
    for (at, word) in text.unicode_word_indices() {
        each(at..at + word.len(), word.to_lowercase().trim_end_matches('s'));
    }
    let chars: Vec<(usize, char)> = text.char_indices().collect();
    for pair in chars.windows(2).filter(|pair| pair.iter().all(|(_, c)| ('\u{4E00}'..='\u{9FFF}').contains(c))) {
        let range = pair[0].0..pair[1].0 + pair[1].1.len_utf8();
        each(range.clone(), &text[range]);
    }
}

fn of(raw: &str, query: &str) -> Snippet {
    let mut terms = Vec::new();
    analyze(query, &mut |_, term| terms.push(term.to_owned()));
    snippet(raw, Format::Markdown, &terms.iter().map(String::as_str).collect(), &analyze)
}

fn marked(raw: &str, query: &str) -> String {
    let Snippet { mut text, highlights, .. } = of(raw, query);
    for (start, end) in highlights.into_iter().rev() {
        text.insert(end as usize, ']');
        text.insert(start as usize, '[');
    }
    text
}

#[test]
fn a_short_chunk_is_shown_whole() {
    assert_eq!(marked("# Plan\n\nBuy  *apples*\tand pears.\n", "Apple pears"), "Buy [apples] and [pears].");
    assert_eq!(marked("", "x"), "");
    assert_eq!(marked("x", ""), "x");
}

#[test]
fn the_best_passage_of_a_long_one() {
    let filler = "Nothing to see in this sentence at all. ".repeat(20);
    let raw = format!("{filler}The apple fell. An apple and a pear met Newton here. {filler}");
    let text = marked(&raw, "pear newton apple");
    assert!(text.starts_with("The [apple] fell. An [apple] and a [pear] met [Newton] here."), "{text}");
    assert!(text.ends_with('.') && text.len() <= LENGTH + 8, "{text}");
}

#[test]
fn without_sentences_words_are_kept_whole() {
    let raw = format!("{} needle {}", "hay ".repeat(100), "straw ".repeat(100));
    let text = marked(&raw, "needle");
    assert!(text.starts_with("…hay hay") && text.ends_with("straw…") && text.contains("[needle]"), "{text}");
}

#[test]
fn lines_bound_a_passage() {
    let raw = format!("{}\n- the needle is here\n- more\n{}", "hay ".repeat(60).trim(), "straw ".repeat(60));
    assert!(marked(&raw, "needle").starts_with("the [needle] is here · more"), "{}", marked(&raw, "needle"));
}

#[test]
fn a_wrapped_line_does_not_bound_a_passage() {
    let raw = format!(
        "{}\nThe needle is\n{}",
        "Hay and straw.\n".repeat(20),
        "wrapped like\nthis text of few words\n".repeat(10)
    );
    let text = marked(&raw, "needle");
    assert!(text.starts_with("The [needle] is wrapped like this") && text.ends_with('…'), "{text}");
    let raw = format!("{}wraps at the needle.", "some text that has no end and\n".repeat(20));
    let text = marked(&raw, "needle");
    assert!(text.starts_with("…") && text.ends_with("wraps at the [needle]."), "{text}");
}

#[test]
fn without_a_match_the_first_words_are_shown() {
    assert_eq!(marked("## Heading\n\n---\nThe text.\n", "absent"), "The text.");
    assert_eq!(marked("## Heading\n", "absent"), "Heading");
}

#[test]
fn what_is_hidden_is_not_shown() {
    assert_eq!(marked("a <!-- secret\nneedle --> b \u{1B}[31mneedle\u{202E}", "needle"), "a b [needle]");
    assert_eq!(marked("a <!-- open needle", "needle"), "a <!-- open [needle]");
}

#[test]
fn the_heading_that_it_begins_with_is_shown_above() {
    assert_eq!(marked("## Apples\n\n### Red *ones*\n\nAn apple", "apples"), "Red ones · An [apple]");
    assert_eq!(marked("## Apples\n\nA pear", "apples"), "[Apples] · A pear", "nothing else matches");
    let far = format!("## Apples\n{}\nan apple", "- hay and straw\n".repeat(30));
    assert!(marked(&far, "red apples").starts_with("[Apples] · hay and straw · hay"), "{}", marked(&far, "red apples"));
    let late = format!("{}\n## Apples\n\nAn apple\n\n{}", "hay and straw\n\n".repeat(20), "hay\n\n".repeat(99));
    assert!(marked(&late, "apples").starts_with("An [apple] · hay"), "{}", marked(&late, "apples"));
    assert_eq!(marked("An apple\n\n# Apples", "apples"), "An [apple] · [Apples]");
}

#[test]
fn the_headings_down_to_its_line() {
    let raw = "# A\n\nhay\n\n## B\n\na needle\n\n## C\nstraw";
    let headings = |query| of(raw, query).headings.into_iter().map(|heading| heading.text).collect::<Vec<_>>();
    assert_eq!(headings("needle"), ["A", "B"]);
    assert_eq!(headings("b"), ["A", "B"]);
    assert_eq!(headings("other"), ["A"]);
    assert_eq!(headings("straw"), ["A", "B", "C"]);
}

#[test]
fn what_ends_a_sentence() {
    let cases = [
        ("It ends.", true),
        ("It ends. ", true),
        ("終。", true),
        ("for one thing (e.g.", false),
        ("by J.", false),
        ("2.", false),
        ("hay\n12.", false),
        ("hay · 3.", false),
        ("in 2020.", true),
        ("Really?", true),
        ("so", false),
        ("", false),
        (".", true),
    ];
    for (text, ends) in cases {
        assert_eq!(ends_sentence(text), ends, "{text:?}");
    }
}

#[test]
fn where_the_last_sentence_begins() {
    let cases = [
        ("One. Two", Some("Two")),
        ("One.\nTwo. Three", Some("Three")),
        ("一。二", Some("二")),
        ("such as Polly (.NET)", None),
        ("See a/find?q=Herons", None),
        ("Yes (.NET). And", Some("And")),
        ("One", None),
    ];
    for (text, last) in cases {
        assert_eq!(last_sentence(text).map(|at| &text[at..]), last, "{text:?}");
    }
}

#[test]
fn what_only_marks_say_is_shown_among_them() {
    let raw = "# Birds\n\nSee [the heron](https://example.org/ardea/1).";
    assert_eq!(marked(raw, "heron"), "See the [heron].");
    assert_eq!(marked(raw, "ardea"), "# Birds See [the heron](https://example.org/[ardea]/1).");
    let raw = format!("{raw}\n{}", "- [straw](https://example.org/heron)\n".repeat(40));
    assert_eq!(marked(&raw, "heron straw").matches("http").count(), 0);
}

#[test]
fn a_chunk_of_marks_alone_is_shown_as_it_is() {
    assert_eq!(marked("![[plan.png]]\n\n![](b.png)", "needle"), "![[plan.png]] ![](b.png)");
}

#[test]
fn a_match_far_into_a_long_line_is_shown() {
    for bytes in [LOOKED_AT - 3, LOOKED_AT + 1, 100_000] {
        let raw = format!("# Log\n\n{} needle in it.", "hay ".repeat(bytes / 4));
        let snippet = of(&raw, "needle");
        assert!(marked(&raw, "needle").ends_with("hay [needle] in it."), "{bytes}: {snippet:?}");
        assert_eq!(snippet.lines_before, 2);
    }
}

#[test]
fn each_format_has_its_own_marks() {
    let shown = |format| snippet("* a_b_ *c*\n\n[[x][y]]", format, &HashSet::new(), &analyze).text;
    assert_eq!(shown(Format::Org), "y");
    assert_eq!(shown(Format::Docx), "a_b_ c · x][y");
    assert_eq!(shown(Format::Pdf), "* a_b_ *c* [[x][y]]");
}

#[test]
fn the_line_is_that_of_the_best_passage() {
    let filler = "nothing of interest stands in this line, which is as long as lines are\n".repeat(6);
    let cases = [
        ("needle\nhay", "needle", 0),
        ("hay\nhay\nneedle", "needle", 2),
        // Where most words of the query stand together, and of these the first.
        ("# thread\n\nFILLERa needle\nand thread\n", "needle thread", 8),
        ("<!-- two\nlines -->\nneedle", "needle", 2),
        ("hay\r\nneedle", "needle", 1),
        // Without a match, where it begins to say something.
        ("# Heading\n\n---\nfirst words\nmore", "other", 3),
        ("", "needle", 0),
    ];
    for (raw, query, line) in cases {
        let raw = raw.replace("FILLER", &filler);
        assert_eq!(of(&raw, query).lines_before, line, "{raw:?}");
    }
}

#[test]
fn overlapping_bigrams_are_one_highlight() {
    assert_eq!(marked("昨日の東京都庁", "東京都庁"), "昨日の[東京都庁]");
}

#[test]
fn what_is_found_may_hold_white_space() {
    let raw = "one  two\nthree four five";
    let find = |of: &str| (raw.find(of).unwrap(), raw.find(of).unwrap() + of.len());
    let found = [find("two\nthree"), find(" four"), find("r f"), find("five")];
    let analyze = |_: &str, each: &mut dyn FnMut(Range<usize>, &str)| found.iter().for_each(|(a, b)| each(*a..*b, "x"));
    let Snippet { text, highlights, .. } = snippet(raw, Format::Markdown, &HashSet::from(["x"]), &analyze);
    let marked: Vec<&str> = highlights.iter().map(|(a, b)| &text[*a as usize..*b as usize]).collect();
    assert_eq!((text.as_str(), marked), ("one two three four five", vec!["two three four five"]));
    let blank = |_: &str, each: &mut dyn FnMut(Range<usize>, &str)| each(3..5, "x");
    let Snippet { highlights, .. } = snippet(raw, Format::Markdown, &HashSet::from(["x"]), &blank);
    assert_eq!(highlights, [], "a blank cannot be marked");
}

proptest! {
    #[test]
    fn highlights_are_in_order_and_on_character_boundaries(
        raw in proptest::collection::vec(prop_oneof![
            Just("apple"), Just("pears "), Just("東京都"), Just("e\u{301}"), Just(". "), Just("\n"), Just("👩\u{200D}💻"),
            Just("<!--"), Just("-->"), Just("\u{1B}[1m"), Just("noise "), Just("über ")], 0..150),
        query in "(apple|pear|東京|über| ){0,4}",
    ) {
        let Snippet { text, highlights, .. } = of(&raw.concat(), &query);
        prop_assert_eq!(printable(&text), text.as_str());
        prop_assert!(text.chars().count() <= LENGTH + 2);
        let mut last = 0;
        for (i, (start, end)) in highlights.into_iter().enumerate() {
            let (start, end) = (start as usize, end as usize);
            prop_assert!(start < end && (i == 0 || start > last));
            prop_assert!(text.is_char_boundary(start) && text.is_char_boundary(end));
            last = end;
        }
    }

    #[test]
    fn a_match_is_shown(before in "[a-d \n.]{0,400}", after in "[a-d \n.]{0,400}") {
        let text = of(&format!("{before} needle {after}"), "needle").text;
        prop_assert!(text.contains("needle"), "{:?}", text);
    }

    #[test]
    fn any_text_and_an_analyzer_that_lies(raw in any::<String>(), ranges in proptest::collection::vec((0usize..50, 0usize..50), 0..8)) {
        let lying = |_: &str, each: &mut dyn FnMut(Range<usize>, &str)| {
            ranges.iter().for_each(|(a, b)| each(*a..*b, "x"));
        };
        snippet(&raw, Format::Markdown, &HashSet::from(["x"]), &lying);
    }
}

#[test]
fn it_opens_on_the_first_line_with_most_of_the_words() {
    let raw = "A pear.\n\nNewton saw.\nA pear, Newton and an apple.\nThe pear and Newton and the apple again.\n";
    assert_eq!(of(raw, "newton apple pear").lines_before, 3);
    assert_eq!(of(raw, "newton saw").lines_before, 2);
    assert_eq!(of(raw, "pear").lines_before, 0);
}
