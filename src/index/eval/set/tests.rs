use super::*;

const QRELS: &str = "query-id\tcorpus-id\tscore\nq1\ta\t1\nq2\tb\t0\nq3\tc\t2\n";
const QUERIES: &str = "{\"_id\":\"q1\",\"text\":\"one\"}\n\n{\"_id\":\"q2\",\"text\":\"two\"}\n\
                           {\"_id\":\"q3\",\"text\":\"three\",\"kind\":\"k\"}\n";

fn corpus(documents: &[(&str, &str, &str)]) -> String {
    let line = |(id, title, text): &(&str, &str, &str)| {
        format!("{}\n", serde_json::json!({"_id": id, "title": title, "text": text}))
    };
    documents.iter().map(line).collect()
}

/// Judgements by which one document is relevant to the first query.
fn relevant(id: &str) -> String {
    format!("query-id\tcorpus-id\tscore\nq1\t{id}\t1\n")
}

fn places<'a>(hits: &[(&'a str, u32, u32)]) -> Vec<HitPlace<'a>> {
    hits.iter().map(|&(path, line, end_line)| HitPlace { path, line, end_line }).collect()
}

#[test]
fn without_a_vault_documents_become_notes() {
    let corpus = corpus(&[("a", "T: \"x\"", "one"), ("https://b", "", "two"), ("c", "", "")]);
    let set = Set::read(&corpus, QUERIES, QRELS, None).unwrap();
    let notes = set.notes();
    assert_eq!(notes[0], ("a.md".to_owned(), "---\ntitle: \"T: \\\"x\\\"\"\n---\n\none\n".to_owned()));
    assert_eq!(notes[1], ("document-1.md".to_owned(), "two\n".to_owned()));
    let asked: Vec<(&str, &str)> = set.queries.iter().map(|q| (q.text.as_str(), q.kind.as_str())).collect();
    assert_eq!(asked, [("one", ""), ("three", "k")], "nothing is relevant to the second");
    let hits = places(&[("document-1.md", 1, 1), ("a.md", 5, 5), ("a.md", 6, 6), ("gone.md", 1, 1)]);
    assert_eq!((set.rank(hits.into_iter()), set.per_note()), (vec!["https://b".into(), "a".into()], 1));
}

#[test]
fn an_id_like_a_numbered_note_is_not_mixed_up_with_one() {
    let corpus = corpus(&[("document-1", "", "one"), ("https://b", "", "two")]);
    let set = Set::read(&corpus, QUERIES, &relevant("document-1"), None).unwrap();
    let notes = set.notes();
    let (first, second) = (notes[0].0.as_str(), notes[1].0.as_str());
    assert_eq!(set.rank(places(&[(second, 1, 1), (first, 1, 1)]).into_iter()), ["https://b", "document-1"]);
}

#[test]
fn documents_are_notes_or_passages_of_a_vault() {
    let text = "# T\n\none one\n\ntwo two two\nthree\n";
    let vault = BTreeMap::from([("a/b.md".to_owned(), text.to_owned())]);
    let set = Set::read(&corpus(&[("a/b.md", "", "whatever")]), QUERIES, &relevant("a/b.md"), Some(&vault)).unwrap();
    assert_eq!(set.rank(places(&[("a/b.md", 1, 2)]).into_iter()), ["a/b.md"]);

    let passages = [
        ("0", "T", ""),
        ("1", "", "one one"),
        ("2", "", "two two two"),
        ("3", "", "three\n"),
        ("4", "one", ""),
        ("5", "", "nowhere"),
    ];
    let set = Set::read(&corpus(&passages), QUERIES, &relevant("1"), Some(&vault)).unwrap();
    let lost: Vec<&str> = set.missing.iter().map(|missing| missing.id.as_str()).collect();
    assert_eq!((lost, set.per_note()), (vec!["4", "5"], 100), "no heading, no text");
    for (lines, ids) in
        [((1, 3), &["1", "0"][..]), ((3, 6), &["2", "1", "3"]), ((6, 99), &["3"]), ((4, 4), &[]), ((50, 60), &[])]
    {
        assert_eq!(set.rank(places(&[("a/b.md", lines.0, lines.1)]).into_iter()), ids, "{lines:?}");
    }
}

#[test]
fn broken_lines_are_named() {
    let corpus = corpus(&[("a", "", "secret")]);
    let long = format!("{{\"_id\":\"q1\",\"text\":\"{}\"}}\n", "secret ".repeat(10_000));
    let table = [
        (format!("{corpus}{{\"_id\":\"b\"}}\n"), QUERIES, QRELS, "corpus.jsonl:2"),
        (format!("{corpus}\n{{\"_id\":\"b\",\"text\":[\"secret\"]}}\n"), QUERIES, QRELS, "corpus.jsonl:3"),
        (format!("{corpus}{corpus}"), QUERIES, QRELS, "corpus.jsonl:2: line 1 has the same `_id`"),
        (String::new(), QUERIES, QRELS, "corpus.jsonl: it is empty; each line is"),
        (corpus.clone(), "{\"_id\":\"q1\",", QRELS, "queries.jsonl:1"),
        (corpus.clone(), "7", QRELS, "queries.jsonl:1"),
        (corpus.clone(), "\n\n", QRELS, "queries.jsonl: it is empty"),
        (
            corpus.clone(),
            "{\"id\":\"q1\",\"query\":\"secret\"}",
            QRELS,
            "queries.jsonl:1: no JSON object with `_id` and `text`, each a string (column 28); it has `id`, `query`, and no \
             `_id` or `text`: rename",
        ),
        (corpus.clone(), "{\"_id\":\"q1\",\"text\":\" \"}", QRELS, "queries.jsonl:1: `text` asks for nothing"),
        (corpus.clone(), &*long, QRELS, "queries.jsonl:1: "),
        (corpus.clone(), "{\"_id\":\"x\",\"text\":\"secret\"}", QRELS, "queries.jsonl: none of its 1 queries"),
        (corpus.clone(), QUERIES, "q\td\ts\nq1 a 1\n", "qrels.tsv:2: three fields"),
        (corpus.clone(), QUERIES, "q\td\ts\nq1\t0\ta\t1\n", "qrels.tsv:2: three fields"),
        (corpus.clone(), QUERIES, "q\td\ts\nq1\ta\t1\nq1\ta\tyes\n", "qrels.tsv:3"),
        (corpus.clone(), QUERIES, "q1\ta\t1\n", "qrels.tsv:1: a judgement where the header is wanted"),
        (corpus.clone(), QUERIES, "q\td\ts\nq1\ta\t0\n", "qrels.tsv: no document"),
        (corpus.clone(), QUERIES, "", "qrels.tsv: no document"),
    ];
    for (corpus, queries, qrels, expected) in table {
        let error = Set::read(&corpus, queries, qrels, None).unwrap_err().to_string();
        assert!(error.starts_with(expected) && !error.contains("secret"), "{expected}: {error}");
    }
}

#[test]
fn what_is_missing_is_counted_and_named() {
    let vault: BTreeMap<String, String> =
        ["a.md", "b.md"].map(|path| (path.to_owned(), "text of both\n".to_owned())).into();
    let documents = corpus(&[("a.md", "", "text of both"), ("gone.md", "", "text of both"), ("old.md", "", "x")]);
    let queries: String = (1..=4).map(|n| format!("{{\"_id\":\"q{n}\",\"text\":\"ask {n}\"}}\n")).collect();
    let qrels = "q\td\ts\nq1\ta.md\t1\nq1\tgone.md\t1\nq2\tgone.md\t1\nq3\tnever.md\t2\nq4\tb.md\t1\n";
    let set = Set::read(&documents, &queries, qrels, Some(&vault)).unwrap();
    let missing: Vec<(&str, usize)> =
        set.missing.iter().map(|missing| (missing.id.as_str(), missing.queries)).collect();
    assert_eq!(missing, [("gone.md", 2), ("never.md", 1), ("old.md", 0)]);
    let asked: Vec<&str> = set.queries.iter().map(|query| query.text.as_str()).collect();
    assert_eq!((asked, set.unanswerable), (vec!["ask 1", "ask 4"], 2), "b.md is in the vault, if not in the corpus");
    assert_eq!(set.queries[0].judged, Relevance::from([("a.md".to_owned(), 1.0)]), "what is gone cannot be found");
    assert_eq!((set.rank(places(&[("a.md", 1, 1)]).into_iter()), set.per_note()), (vec!["a.md".to_owned()], 1));

    // Nothing is left.
    let set = Set::read(&documents, &queries, "q\td\ts\nq3\tnever.md\t1\n", Some(&vault)).unwrap();
    assert_eq!((set.queries.len(), set.unanswerable, set.missing[0].id.as_str()), (0, 1, "never.md"));
    // Without a vault the corpus is what is there.
    let set = Set::read(&documents, &queries, qrels, None).unwrap();
    assert_eq!((set.queries.len(), set.unanswerable, set.missing.len(), set.has_vault()), (2, 2, 2, false));
}
