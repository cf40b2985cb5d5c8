//! What a server or a network does wrong, and what is said of it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use context::settings::KeyConfig;
use provider::rest::RestServer;
use team::{Asked, Collection, Done, Kind, Quantisation, Reader};

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
    assert_eq!(keeper.verify().await.unwrap().differences, 0);
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

fn all(words: &str, depth: usize) -> Asked {
    Asked { words: words.to_owned(), depth, ..Asked::default() }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a Qdrant: SITUATED_QDRANT"]
async fn what_was_saved_while_a_server_was_away_is_there_afterwards() {
    let mut server = Server::start_with(&[("QDRANT__STORAGE__WAL__WAL_CAPACITY_MB", "8")]).await;
    let collection = server.collection();
    init(&collection).await;
    let notes = Notes::new(&[("a.md", "The zebra."), ("b.md", "The gnu."), ("c.md", "The horse.")]);
    let mut keeper = notes.keeper(&collection.within(Duration::from_secs(5)), "one");
    assert_eq!(keeper.turn().await, Done::Rests);
    let before = collection.vault("handbook").await.unwrap().unwrap().revision;
    server.kill();
    notes.put("a.md", "The okapi.");
    notes.remove("b.md");
    notes.put("d.md", "The tapir.");
    for _ in 0..2 {
        let Done::Waits(wait, failure) = keeper.turn().await else { panic!("nobody is there") };
        assert!(failure.kind == Kind::Unavailable && wait <= Duration::from_secs(300), "{failure}");
    }
    server.start_again().await;
    assert_eq!(keeper.turn().await, Done::Rests);
    let found =
        Reader::new(collection.clone()).search(&all("the okapi tapir horse gnu zebra", 50), LONG).await.unwrap();
    let texts: BTreeSet<&str> = found.found.iter().map(|found| found.payload.text.trim()).collect();
    assert_eq!(texts, BTreeSet::from(["The okapi.", "The horse.", "The tapir."]));
    let after = collection.vault("handbook").await.unwrap().unwrap().revision;
    assert_eq!(after, before + 1, "only what had changed was written");
    assert_eq!(keeper.verify().await.unwrap().differences, 0);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a Qdrant: SITUATED_QDRANT"]
async fn a_server_whose_disk_is_full_shows_every_note_whole_and_goes_on_when_there_is_room() {
    let server = Server::start().await;
    let disk = Disk::start(&server.url);
    let direct = server.collection();
    let collection = disk.collection(direct.name());
    init(&direct).await;
    let texts = |word: &str| -> Vec<(String, String)> {
        (0..200).map(|n| (format!("n{n:03}.md"), chapters(2, &format!("{word} shelter")))).collect()
    };
    let old = texts("first");
    let notes = Notes::new(&old.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect::<Vec<_>>());
    let mut keeper = notes.keeper(&collection, "one");
    assert_eq!(keeper.turn().await, Done::Rests);
    let seen = async || -> BTreeMap<String, BTreeSet<(String, u32)>> {
        let answer = Reader::new(direct.clone()).search(&all("shelter", 1000), LONG).await.unwrap();
        let mut seen: BTreeMap<String, BTreeSet<(String, u32)>> = BTreeMap::new();
        for found in answer.found {
            seen.entry(found.payload.path).or_default().insert((found.payload.state, found.payload.position));
        }
        seen
    };
    let before = seen().await;
    texts("second").iter().for_each(|(path, text)| notes.put(path, text));
    // A revision is there and visible, and the next is written and cannot be made visible.
    disk.writes.store(3, Ordering::Relaxed);
    let Done::Waits(_, failure) = keeper.turn().await else { panic!("the disk is full") };
    assert!(failure.kind == Kind::Unavailable && failure.message.contains("is full"), "{failure}");
    let during = seen().await;
    let is_whole = |points: &BTreeSet<(String, u32)>| {
        points.len() == 2 && points.iter().map(|(state, _)| state).collect::<BTreeSet<_>>().len() == 1
    };
    assert!(during.len() == 200 && during.values().all(is_whole), "half there");
    let replaced = during.iter().filter(|(path, points)| before.get(*path) != Some(points)).count();
    assert!((1..200).contains(&replaced), "{replaced} of 200 were replaced");
    disk.writes.store(i64::MAX, Ordering::Relaxed);
    assert_eq!(keeper.turn().await, Done::Rests);
    let after = seen().await;
    assert!(
        after.len() == 200 && after.iter().all(|(path, points)| is_whole(points) && before.get(path) != Some(points))
    );
    assert_eq!(keeper.verify().await.unwrap().differences, 0);
    direct.drop_all().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a Qdrant: SITUATED_QDRANT"]
async fn notes_that_move_all_at_once_are_there_at_every_moment() {
    let count = if std::env::var_os("SITUATED_TEAM_LONG").is_some() { 10_000 } else { 400 };
    let server = Server::start().await;
    let collection = server.collection();
    init(&collection).await;
    let texts: Vec<(String, String)> =
        (0..count).map(|n| (format!("old/n{n:05}.md"), format!("Shelter number{n}."))).collect();
    let notes = Notes::new(&texts.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect::<Vec<_>>());
    let mut keeper = notes.keeper(&collection, "one");
    assert_eq!(keeper.turn().await, Done::Rests);
    for (path, text) in &texts {
        notes.remove(path);
        notes.put(&path.replace("old/", "new/"), text);
    }
    let moving = tokio::spawn(async move {
        let done = keeper.turn().await;
        (keeper, done)
    });
    let reader = Reader::new(collection.clone());
    let mut reads = 0;
    while !moving.is_finished() || reads == 0 {
        // A note by its own word: under its old name, its new one, or both.
        let n = (reads * 37) % count;
        let answer = reader.search(&all(&format!("number{n}"), 4), LONG).await.unwrap();
        assert!(!answer.found.is_empty(), "note {n} is nowhere");
        reads += 1;
    }
    let (mut keeper, done) = moving.await.unwrap();
    assert_eq!((done, keeper.progress()), (Done::Rests, (count, 0)));
    let compared = keeper.verify().await.unwrap();
    assert_eq!((compared.differences, compared.points), (0, count), "{compared:?}");
    assert!(reader.note("handbook", "old/n00001.md", LONG).await.unwrap().unwrap().is_empty());
    assert_eq!(reader.note("handbook", "new/n00001.md", LONG).await.unwrap().unwrap().len(), 1);
    collection.drop_all().await.unwrap();
}

/// What lies between a keeper and its server: a disk that has room for so many more writes.
struct Disk {
    port: u16,
    writes: Arc<AtomicI64>,
}

impl Disk {
    fn start(server: &str) -> Disk {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let (writes, server) = (Arc::new(AtomicI64::new(i64::MAX)), server.trim_start_matches("http://").to_owned());
        let left = writes.clone();
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (server, left) = (server.clone(), left.clone());
                // The client may have gone.
                std::thread::spawn(move || drop(pass(client, &server, &left)));
            }
        });
        Disk { port, writes }
    }

    fn collection(&self, name: &str) -> Collection {
        let url = format!("http://127.0.0.1:{}", self.port);
        Collection::new(RestServer::new(&url, "api-key", &KeyConfig::default(), None).unwrap(), name)
    }
}

/// Hands one request on, and its answer back; a write for which there is no room is refused.
fn pass(mut client: TcpStream, server: &str, left: &AtomicI64) -> std::io::Result<()> {
    let mut request = BufReader::new(client.try_clone()?);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if request.read_line(&mut line)? == 0 {
            return Ok(());
        }
        if line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        head.push_str(&line);
    }
    let mut body = Vec::new();
    request.take(length).read_to_end(&mut body)?;
    let is_write = head.starts_with("PUT ") && head.contains("/points");
    if is_write && left.fetch_sub(1, Ordering::Relaxed) <= 0 {
        let said = r#"{"status":{"error":"Service internal error: No space left on device (os error 28)"}}"#;
        return write!(
            client,
            "HTTP/1.1 500 Error\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{said}",
            said.len()
        );
    }
    let mut to = TcpStream::connect(server)?;
    to.write_all(format!("{head}connection: close\r\n\r\n").as_bytes())?;
    to.write_all(&body)?;
    let mut answer = Vec::new();
    to.read_to_end(&mut answer)?;
    client.write_all(&answer)
}
