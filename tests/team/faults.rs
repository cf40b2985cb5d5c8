//! What a server or a network does wrong, and what is said of it.

use std::time::Duration;

use team::{Asked, Done, Kind, Quantisation, Reader};

use super::notes::{Notes, init};
use super::publish::{LONG, chapters};
use super::server::Server;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a Qdrant: SITUATED_QDRANT"]
async fn a_server_that_is_killed_is_waited_for_and_nothing_is_lost() {
    let mut server = Server::start_with(&[("QDRANT__STORAGE__WAL__WAL_CAPACITY_MB", "8")]).await;
    let collection = server.collection();
    init(&collection).await;
    let texts: Vec<(String, String)> =
        (0..200).map(|n| (format!("n{n:03}.md"), chapters(2, &format!("word{n}")))).collect();
    let texts: Vec<(&str, &str)> = texts.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let notes = Notes::new(&texts);
    let mut keeper = notes.keeper(&collection.within(Duration::from_secs(5)), "one");
    let publishing = tokio::spawn(async move {
        let done = keeper.turn().await;
        (keeper, done)
    });
    let reader = Reader::new(collection.clone());
    // Somewhere in the middle.
    while collection.count(&serde_json::json!({})).await.unwrap() < 100 {}
    server.kill();
    let (keeper, done) = publishing.await.unwrap();
    let Done::Waits(_, failure) = done else { panic!("it did not notice") };
    assert_eq!(failure.kind, Kind::Unavailable, "{failure}");
    let asked = Asked { words: "shelter".to_owned(), depth: 1000, ..Asked::default() };
    let unanswered = reader.search(&asked, Duration::from_millis(300)).await.unwrap_err();
    assert_eq!(unanswered.kind, Kind::Unavailable, "{unanswered}");
    drop(keeper);
    server.start_again().await;
    // The keeper was killed, too: another process of the same keeper goes on.
    let mut keeper = notes.keeper(&collection, "one");
    assert_eq!(keeper.turn().await, Done::Rests);
    assert_eq!(reader.search(&asked, LONG).await.unwrap().found.len(), 400);
    assert_eq!(keeper.verify().await.unwrap().count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a Qdrant: SITUATED_QDRANT"]
async fn collections_of_others_are_left_alone() {
    let server = Server::start().await;
    let collection = server.collection();
    let notes = Notes::new(&[("a.md", "zebra")]);
    let Done::Waits(_, missing) = notes.keeper(&collection, "one").turn().await else { panic!("there is none") };
    assert_eq!(missing.kind, Kind::Missing);
    assert!(missing.message.contains("situated team init"), "{missing}");
    init(&collection).await;
    let other = collection.ensure(7, Quantisation::Byte).await.unwrap_err();
    assert!(other.message.contains("256 dimensions") && other.message.contains(" 7;"), "{other}");
    let mut described = collection.described().await.unwrap().unwrap();
    described.embedder = "ollama nomic".to_owned();
    collection.describe(&described).await.unwrap();
    let Done::Waits(_, other) = notes.keeper(&collection, "one").turn().await else { panic!("another embedder") };
    assert!(other.message.contains("ollama nomic"), "{other}");
    described.layout = 99;
    collection.describe(&described).await.unwrap();
    let Done::Waits(_, newer) = notes.keeper(&collection, "one").turn().await else { panic!("another layout") };
    assert!(newer.message.contains("newer version"), "{newer}");
    collection.drop_all().await.unwrap();
}
