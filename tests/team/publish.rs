//! What a keeper writes, and what others see of it meanwhile.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;
use team::{Asked, Done, Kind, Reader};

use super::notes::{Notes, init};
use super::server::Server;

pub const LONG: Duration = Duration::from_secs(60);

/// A note of `chunks` sections, each with a word of its revision.
pub fn chapters(chunks: usize, word: &str) -> String {
    let filler =
        "The quick brown fox jumps over the lazy dog and looks for shelter before the night comes. ".repeat(16);
    (0..chunks).map(|n| format!("# Part {n}\n\n{word} handles shelter. {filler}\n\n")).collect()
}

fn words(words: &str) -> Asked {
    Asked { words: words.to_owned(), contextual: true, depth: 100, ..Asked::default() }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a Qdrant: SITUATED_QDRANT"]
async fn what_is_in_the_store_is_there_and_nothing_else() {
    let server = Server::start().await;
    let collection = server.collection();
    init(&collection).await;
    let notes =
        Notes::new(&[("a.md", "# Alpha\n\nThe zebra."), ("b.md", "# Beta\n\nThe gnu."), ("secret/c.md", "zebra")]);
    let mut keeper = notes.keeper(&collection, "one");
    assert_eq!(keeper.turn().await, Done::Rests);
    assert_eq!(keeper.progress(), (2, 0));
    let reader = Reader::new(collection.clone());
    let paths = async |query: &str| -> BTreeSet<String> {
        let answer = reader.search(&words(query), LONG).await.unwrap();
        answer.found.into_iter().map(|found| found.payload.path).collect()
    };
    assert_eq!(paths("zebras").await, BTreeSet::from(["a.md".to_owned()]));
    notes.put("a.md", "# Alpha\n\nThe okapi.");
    notes.remove("b.md");
    assert_eq!(keeper.turn().await, Done::Rests);
    assert_eq!(paths("zebra").await, BTreeSet::new());
    assert_eq!(paths("okapi").await, BTreeSet::from(["a.md".to_owned()]));
    assert_eq!(paths("gnu").await, BTreeSet::new());
    let chunks = json!({"must": [{"key": "situated", "match": {"value": "chunk"}}]});
    assert_eq!(collection.count(&chunks).await.unwrap(), 1);
    collection.drop_all().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a Qdrant: SITUATED_QDRANT"]
async fn a_reader_sees_every_revision_whole_while_it_is_replaced() {
    const CHUNKS: usize = 4;
    let (replacements, reads) = sizes();
    let server = Server::start().await;
    let collection = server.collection();
    init(&collection).await;
    let notes = Notes::new(&[("a.md", &chapters(CHUNKS, "revision0"))]);
    let mut keeper = notes.keeper(&collection, "one");
    assert_eq!(keeper.turn().await, Done::Rests);
    let reader = Reader::new(collection.clone());
    // Every read falls among replacements, and every replacement among reads.
    let (read, over) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
    let (counted, stop) = (read.clone(), over.clone());
    let reading = tokio::spawn(async move {
        let mut seen = BTreeSet::new();
        while !stop.load(Ordering::Relaxed) {
            let read = counted.fetch_add(1, Ordering::Relaxed);
            let answer = reader.search(&words("shelter"), LONG).await.unwrap();
            let states: BTreeSet<&str> = answer.found.iter().map(|found| found.payload.state.as_str()).collect();
            assert_eq!(states.len(), 1, "of two revisions at once in read {read}");
            let positions: Vec<u32> = answer.found.iter().map(|found| found.payload.position).collect();
            let once: BTreeSet<u32> = positions.iter().copied().collect();
            assert_eq!((positions.len(), once.len()), (CHUNKS, CHUNKS), "half there or twice there in read {read}");
            seen.extend(states.into_iter().map(str::to_owned));
        }
        seen.len()
    });
    let mut replaced = 0;
    while !reading.is_finished() && (replaced < replacements || read.load(Ordering::Relaxed) < reads) {
        replaced += 1;
        notes.put("a.md", &chapters(CHUNKS, &format!("revision{replaced}")));
        assert_eq!(keeper.turn().await, Done::Rests);
    }
    over.store(true, Ordering::Relaxed);
    let (seen, read) = (reading.await.unwrap(), read.load(Ordering::Relaxed));
    eprintln!("{replaced} replacements, {read} reads, {seen} revisions seen");
    assert!(seen > replacements / 10, "the reader saw {seen} of {replaced} revisions");
    collection.drop_all().await.unwrap();
}

/// Replacements and reads: a few, unless `SITUATED_TEAM_LONG` is set.
fn sizes() -> (usize, usize) {
    if std::env::var_os("SITUATED_TEAM_LONG").is_some() { (1_000, 10_000) } else { (60, 400) }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a Qdrant: SITUATED_QDRANT"]
async fn a_second_keeper_refuses_until_it_is_told_to_take_over() {
    let server = Server::start().await;
    let collection = server.collection();
    init(&collection).await;
    let notes = Notes::new(&[("a.md", "zebra")]);
    let (mut first, mut second) = (notes.keeper(&collection, "one"), notes.keeper(&collection, "two"));
    assert_eq!(first.turn().await, Done::Rests);
    let Done::Waits(_, refused) = second.turn().await else { panic!("two keepers") };
    assert_eq!(refused.kind, Kind::Kept);
    assert!(refused.message.contains("host-one") && refused.message.contains("--take-over"), "{refused}");
    let before = collection.vault("handbook").await.unwrap().unwrap();
    second.take_over();
    assert_eq!(second.turn().await, Done::Rests);
    // What the first had on its way comes too late; nor does the second go back by its own.
    let after = collection.vault("handbook").await.unwrap().unwrap();
    assert_ne!(before.keeper, after.keeper);
    collection.raise("handbook", &before.keeper, after.revision + 1).await.unwrap();
    collection.raise("handbook", &after.keeper, after.revision - 1).await.unwrap();
    assert_eq!(collection.vault("handbook").await.unwrap().unwrap(), after);
    collection.raise("handbook", &after.keeper, after.revision + 1).await.unwrap();
    assert_eq!(collection.vault("handbook").await.unwrap().unwrap().revision, after.revision + 1);
    notes.put("a.md", "okapi");
    let Done::Waits(_, refused) = first.turn().await else { panic!("it goes on") };
    assert_eq!(refused.kind, Kind::Kept);
    collection.drop_all().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a Qdrant: SITUATED_QDRANT"]
async fn a_comparison_finds_and_mends_every_difference() {
    let server = Server::start().await;
    let collection = server.collection();
    init(&collection).await;
    let texts: Vec<(String, String)> = (0..8).map(|n| (format!("n{n}.md"), chapters(3, &format!("word{n}")))).collect();
    let texts: Vec<(&str, &str)> = texts.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let notes = Notes::new(&texts);
    let mut keeper = notes.keeper(&collection, "one");
    assert_eq!(keeper.verify().await.unwrap().differences, 0);
    let of = |path: &str| json!({"must": [{"key": "path", "match": {"value": path}}]});
    let second =
        json!({"must": [{"key": "path", "match": {"value": "n1.md"}}, {"key": "position", "match": {"value": 1}}]});
    collection.delete(&of("n0.md")).await.unwrap();
    collection.delete(&second).await.unwrap();
    let payload = |path: &str, revision: u64| json!({"situated": "chunk", "vault": "handbook", "path": path, "position": 0, "revision": revision});
    let odd = [payload("n2.md", 1), payload("n3.md", 1), payload("n4.md", 99), json!({"somebody": "else"})];
    let odd = (0_u64..).zip(odd).map(|(id, payload)| json!({"id": id, "vector": {}, "payload": payload})).collect();
    collection.put(odd).await.unwrap();
    let found = keeper.verify().await.unwrap();
    assert_eq!(found.missing, ["n0.md"]);
    assert_eq!(found.damaged, ["n1.md"]);
    assert_eq!((found.left_over, found.foreign), (3, 1), "{found:?}");
    let again = keeper.verify().await.unwrap();
    assert_eq!((again.differences, again.foreign), (0, 1), "{again:?}");
    let every = Reader::new(collection.clone()).search(&words("shelter"), LONG).await.unwrap();
    assert_eq!(every.found.len(), 24);
    collection.drop_all().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a Qdrant: SITUATED_QDRANT"]
async fn what_is_gone_is_withdrawn_by_its_keeper_though_it_cannot_publish() {
    let server = Server::start().await;
    let collection = server.collection();
    init(&collection).await;
    let notes = Notes::new(&[("a.md", "The zebra."), ("b.md", "The gnu."), ("c.md", "The horse.")]);
    let mut keeper = notes.keeper(&collection, "one");
    assert_eq!(keeper.turn().await, Done::Rests);
    let mut described = collection.described().await.unwrap().unwrap();
    described.embedder = "ollama nomic".to_owned();
    collection.describe(&described).await.unwrap();
    notes.remove("a.md");
    notes.put("b.md", "The okapi.");
    let there = async || {
        let found = Reader::new(collection.clone()).search(&words("the"), LONG).await.unwrap().found;
        found.into_iter().map(|found| found.payload.path).collect::<BTreeSet<String>>()
    };
    // Another keeper takes nothing away.
    let mut other = Notes::new(&[("c.md", "The horse.")]).keeper(&collection, "two");
    let Done::Waits(_, refused) = other.turn().await else { panic!("another embedder") };
    assert!(refused.message.contains("ollama nomic"), "{refused}");
    assert_eq!(there().await.len(), 3);
    keeper.begin_anew();
    let Done::Waits(_, refused) = keeper.turn().await else { panic!("another embedder") };
    assert!(refused.message.contains("ollama nomic"), "{refused}");
    assert_eq!(there().await, BTreeSet::from(["b.md".to_owned(), "c.md".to_owned()]));
    notes.remove("c.md");
    keeper.verify().await.unwrap_err();
    assert_eq!(there().await, BTreeSet::from(["b.md".to_owned()]));
    collection.drop_all().await.unwrap();
}
