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

fn places<'a>(hits: &[(&'a str, u32, u32)]) -> Vec<HitPlace<'a>> {
    hits.iter().map(|&(path, line, end_line)| HitPlace { path, line, end_line }).collect()
}

#[test]
fn without_a_vault_documents_become_notes() {
    let corpus = corpus(&[("a", "T: \"x\"", "one"), ("https://b", "", "two")]);
    let set = Set::read(&corpus, QUERIES, QRELS, None).unwrap();
    let notes = set.notes();
    assert_eq!(notes[0], ("a.md".to_owned(), "---\ntitle: \"T: \\\"x\\\"\"\n---\n\none\n".to_owned()));
    assert_eq!(notes[1], ("document-1.md".to_owned(), "two\n".to_owned()));
    let asked: Vec<(&str, &str)> = set.queries.iter().map(|q| (q.text.as_str(), q.kind.as_str())).collect();
    assert_eq!(asked, [("one", ""), ("three", "k")], "nothing is relevant to the second");
    let hits = places(&[("document-1.md", 1, 1), ("a.md", 5, 5), ("a.md", 6, 6), ("gone.md", 1, 1)]);
    assert_eq!((set.rank(hits.into_iter()), set.per_note(), set.lost), (vec!["https://b".into(), "a".into()], 1, 0));
}

#[test]
fn documents_are_notes_or_passages_of_a_vault() {
    let text = "# T\n\none one\n\ntwo two two\nthree\n";
    let vault = BTreeMap::from([("a/b.md".to_owned(), text.to_owned())]);
    let set = Set::read(&corpus(&[("a/b.md", "", "whatever")]), QUERIES, QRELS, Some(&vault)).unwrap();
    assert_eq!(set.rank(places(&[("a/b.md", 1, 2)]).into_iter()), ["a/b.md"]);

    let passages = [
        ("0", "T", ""),
        ("1", "", "one one"),
        ("2", "", "two two two"),
        ("3", "", "three\n"),
        ("4", "one", ""),
        ("5", "", "nowhere"),
    ];
    let set = Set::read(&corpus(&passages), QUERIES, QRELS, Some(&vault)).unwrap();
    assert_eq!((set.lost, set.per_note()), (2, 100), "no heading, no text");
    for (lines, ids) in
        [((1, 3), &["1", "0"][..]), ((3, 6), &["2", "1", "3"]), ((6, 99), &["3"]), ((4, 4), &[]), ((50, 60), &[])]
    {
        assert_eq!(set.rank(places(&[("a/b.md", lines.0, lines.1)]).into_iter()), ids, "{lines:?}");
    }
}

#[test]
fn broken_lines_are_named() {
    let corpus = corpus(&[("a", "", "secret")]);
    let table = [
        (format!("{corpus}{{\"_id\":\"b\"}}\n"), QUERIES, QRELS, "corpus.jsonl:2"),
        (format!("{corpus}\n{{\"_id\":\"b\",\"text\":[\"secret\"]}}\n"), QUERIES, QRELS, "corpus.jsonl:3"),
        (String::new(), QUERIES, QRELS, "corpus.jsonl:0: it is empty"),
        (corpus.clone(), "{\"_id\":\"q1\",", QRELS, "queries.jsonl:1"),
        (corpus.clone(), "7", QRELS, "queries.jsonl:1"),
        (corpus.clone(), QUERIES, "q\td\ts\nq1 a 1\n", "qrels.tsv:2: three fields"),
        (corpus.clone(), QUERIES, "q\td\ts\nq1\ta\t1\nq1\ta\tyes\n", "qrels.tsv:3"),
        (corpus.clone(), QUERIES, "q1\ta\t1\n", "qrels.tsv:0: no document"),
    ];
    for (corpus, queries, qrels, expected) in table {
        let error = Set::read(&corpus, queries, qrels, None).unwrap_err().to_string();
        assert!(error.starts_with(expected) && !error.contains("secret"), "{expected}: {error}");
    }
}
