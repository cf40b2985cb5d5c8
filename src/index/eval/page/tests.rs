use super::*;
use crate::eval::report::{Miss, QueryRun};

fn report() -> Report {
    let runs: Vec<QueryRun> = (0..12)
        .map(|i| QueryRun {
            kind: if i % 2 == 0 { "link".into() } else { "<alias>".into() },
            measures: QueryMeasures { ndcg_10: f64::from(i % 3) / 2.0, ..QueryMeasures::default() },
            rank: Some(i as usize * 9 + 1),
            ms: 0.5,
            first_order: false,
        })
        .collect();
    let hostile = "</title><script src=\"https://x.example/y.js\">alert('1')</script>";
    Report {
        name: hostile.into(),
        source: "vault".into(),
        queries: 12,
        written: 3,
        lost: 1,
        kinds: [("link".to_owned(), (9, 6))].into(),
        systems: vec![System::new("hybrid", "off", &runs, 1), System::new("lexical", hostile, &runs, 1)],
        comparison: Some(Comparison::new((hostile, &runs), ("b", &runs), 1)),
        misses: vec![Miss { query: hostile.into(), kind: "link".into(), expected: vec!["a&b.md".into()], best: None }],
        ..Report::default()
    }
}

/// Reads the page as XML would be: every element that opens closes, in order; attributes are quoted.
fn well_formed(page: &str) {
    let body = page.strip_prefix("<!DOCTYPE html>").unwrap();
    let mut open: Vec<&str> = Vec::new();
    let mut rest = body;
    while let Some(at) = rest.find('<') {
        assert!(!rest[..at].contains('>'), "a lone > in {:?}", &rest[..at]);
        let end = rest[at..].find('>').unwrap() + at;
        let tag = &rest[at + 1..end];
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap();
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "</{name}>");
        } else if name != "meta" {
            open.push(name);
        }
        rest = &rest[end + 1..];
    }
    assert!(open.is_empty(), "{open:?} stay open");
    for (at, _) in body.match_indices('&') {
        let entity = &body[at..(at + 7).min(body.len())];
        assert!(["&amp;", "&lt;", "&gt;", "&quot;"].iter().any(|e| entity.starts_with(e)), "{entity}");
    }
}

#[test]
fn the_page_is_well_formed_and_holds_nothing_from_elsewhere() {
    for report in [report(), Report::default()] {
        let page = page(&report);
        well_formed(&page);
        for foreign in ["<script", "<link", "<img", "<iframe", "src=", "href=", "url(", "@import", "onload"] {
            let escaped = page.replace("src=&quot;", "");
            assert!(!escaped.contains(foreign), "{foreign}");
        }
    }
}

#[test]
fn the_page_shows_every_system_and_the_comparison() {
    let page = page(&report());
    assert_eq!(page.matches("<svg").count(), 4 + 2 + 2, "measures, ranks by lane, kinds");
    assert!(page.contains("hybrid, off") && page.contains("a&amp;b.md") && page.contains("link: 6 queries of 9"));
    assert!(page.contains("<h2>b against "), "{page}");
}

#[test]
fn the_page_counts_one_as_one_and_two_configurations_apart() {
    let runs =
        [QueryRun { kind: "link".into(), measures: QueryMeasures::default(), rank: None, ms: 0.5, first_order: false }];
    let system = System::new(
        "hybrid",
        "off",
        &[runs.clone(), runs.clone().map(|run| QueryRun { kind: "b".into(), ..run })].concat(),
        1,
    );
    let one = Report { queries: 1, notes: 1, chunks: 1, systems: vec![system], lost: 1, written: 0, ..report() };
    let told = page(&Report { comparison: None, ..one.clone() });
    assert!(told.contains("1 note in 1 chunk, 1 query, ") && told.contains("nDCG@10 of 1 query<"), "{told}");
    assert!(!told.contains("1 queries") && told.contains("1 file or document was left out"), "{told}");
    let compared = Comparison { chunks: [3, 12], ..Comparison::new(("a", &runs), ("b", &runs), 1) };
    let told = page(&Report { comparison: Some(compared), ..one });
    assert!(told.contains("in 3 and 12 chunks"), "{told}");
}

#[test]
fn the_page_names_the_best_or_says_that_it_cannot() {
    let few = page(&report());
    assert!(few.contains("Too few to tell.</strong> 12 queries") && !few.contains("Best by"), "{few}");
    let best = crate::eval::report::Best { system: "<b>".into(), alike: vec!["a & b".into()] };
    let missing = Missing { id: "<gone>.md".into(), queries: 2 };
    let told = Report { queries: 60, best: Some(best), missing: vec![missing], unanswerable: 3, ..report() };
    let told = page(&Report { source: "set".into(), ..told });
    well_formed(&told);
    assert!(
        told.contains("<strong>&lt;b&gt;</strong>; not to be told from it") && told.contains("a &amp; b."),
        "{told}"
    );
    assert!(
        !told.contains("Too few") && told.contains("3 queries were left out") && told.contains("&lt;gone&gt;.md (2)")
    );
}
