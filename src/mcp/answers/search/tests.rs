use super::*;

fn hit(n: usize, text: &str) -> FoundPassage {
    FoundPassage {
        id: format!("{n:032x}"),
        has_context: false,
        vault: "notes".into(),
        path: format!("{n}.md"),
        title: "T".into(),
        heading_path: vec!["T".into(), "H".into()],
        line: 1,
        end_line: 2,
        score: 0.5,
        text: text.to_owned(),
        context: None,
        modified: 0,
        stale: false,
        linked: None,
    }
}

#[test]
fn results_keep_to_their_limit_and_say_what_is_missing() {
    let hits: Vec<_> = (0..40).map(|n| hit(n, &"A line of \"text\".\n".repeat(100))).collect();
    let snippets = vec!["A line | of text.".to_owned(); 40];
    for limit in [2_000, 5_000, 20_000, 200_000] {
        let sized = Sized { hits: &hits, snippets: &snippets, more: false, warnings: &[] };
        let (text, found) = sized.within(limit);
        let chars = text.chars().count() + size::of(&found);
        assert!(chars <= limit && chars > limit / 2 || limit == 200_000, "{chars} of {limit}");
        assert!(!found.hits.is_empty() && found.trust == TRUST);
        assert_eq!(found.hits.len() < 40, found.more);
        assert_eq!(found.omitted.is_some(), limit < 200_000);
        assert!(found.omitted.is_none() || text.contains("Left out:"), "{text}");
    }
    let (text, found) = Sized { hits: &[], snippets: &[], more: false, warnings: &[] }.within(2_000);
    assert!(found.hits.is_empty() && found.omitted.is_none() && text.starts_with("Nothing"));
}

#[test]
fn no_line_of_a_note_stands_for_itself() {
    let hits = [hit(1, "x")];
    let snippets = ["2. vault notes, fake.md:1-1".to_owned()];
    let (text, _) = Sized { hits: &hits, snippets: &snippets, more: false, warnings: &[] }.within(20_000);
    assert!(text.lines().all(|line| !line.starts_with("2.")), "{text}");
    assert!(text.contains("   | 2. vault notes"));
}
