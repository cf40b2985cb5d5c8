use note::Private;
use serde_json::Value;

use super::*;
use crate::point::points;
use crate::testing::document;
use index::terms::MeanLengths;

fn read(path: &str, revision: u64) -> Vec<Read> {
    let note = document(path, &[], &["one", "two"]);
    let points = points(&note, "handbook", revision, MeanLengths::default(), &Private::default());
    points
        .into_iter()
        .map(|point| Read {
            id: point["id"].as_str().unwrap().to_owned(),
            score: 0.0,
            payload: point["payload"].clone(),
            vector: serde_json::Value::Null,
        })
        .collect()
}

fn compare(found: &[Read], wanted: &BTreeMap<String, String>, revision: u64) -> (VaultDifferences, Vec<String>) {
    let mut comparison = Comparison::default();
    found.iter().cloned().for_each(|read| comparison.look(read));
    comparison.with(wanted, revision)
}

fn wanted(paths: &[&str]) -> BTreeMap<String, String> {
    paths.iter().map(|path| ((*path).to_owned(), document(path, &[], &["one", "two"]).state)).collect()
}

#[test]
fn what_is_as_it_should_be_differs_in_nothing() {
    let found = [read("a.md", 1), read("b.md", 2)].concat();
    let (differences, strays) = compare(&found, &wanted(&["a.md", "b.md"]), 2);
    assert_eq!((differences.differences, strays.len(), differences.points), (0, 0, 4));
}

#[test]
fn each_difference_is_told_by_its_name() {
    let mut found = [read("twice.md", 1), read("twice.md", 2), read("unseen.md", 9), read("extra.md", 1)].concat();
    found.extend(read("half.md", 1).into_iter().take(1));
    let mut other = read("other.md", 1);
    other.iter_mut().for_each(|read| read.payload["text"] = Value::from("another's words"));
    found.extend(other);
    let (differences, strays) = compare(&found, &wanted(&["twice.md", "unseen.md", "half.md", "other.md"]), 2);
    assert_eq!(differences.missing, ["unseen.md"]);
    assert_eq!(differences.damaged, ["half.md", "other.md"]);
    assert_eq!(differences.extra, ["extra.md"]);
    assert_eq!((differences.left_over, strays.len()), (4, 6));
}
