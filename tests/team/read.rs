//! What members find, and who is a member.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;

use context::settings::KeyConfig;
use index::embed::builtin;
use platform::files::Private as _;
use provider::rest::RestServer;
use team::{Asked, Collection, Condition, Done, Kind, Reader};

use super::notes::{EMBEDDER, Notes, init};
use super::publish::LONG;
use super::server::{CA_CERT, Server};

fn asked(words: &str) -> Asked {
    let vector = Some((EMBEDDER.to_owned(), builtin::model().embed(words)));
    Asked { words: words.to_owned(), contextual: true, vector, depth: 50, ..Asked::default() }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a Qdrant: SITUATED_QDRANT"]
async fn each_lane_judges_what_the_other_found_and_conditions_hold_in_both() {
    let server = Server::start().await;
    let collection = server.collection();
    init(&collection).await;
    let notes = Notes::new(&[
        ("animals/zebra.md", "---\ntags: [africa/south]\ndate: 2026-03-02\n---\nThe zebra grazes on the plain."),
        ("animals/horse.md", "---\ntags: [Europe]\ndate: 2025-03-02\n---\nA horse eats grass in the meadow."),
        ("tax.md", "Invoices are paid within thirty days."),
    ]);
    assert_eq!(notes.keeper(&collection, "one").turn().await, Done::Rests);
    let reader = Reader::new(collection.clone());
    let answer = reader.search(&asked("zebra grazing"), LONG).await.unwrap();
    assert_eq!(answer.found.len(), 3);
    let of = |path: &str| answer.found.iter().find(|found| found.payload.path == path).unwrap();
    let zebra = of("animals/zebra.md");
    assert!(zebra.lexical.unwrap() > 0.5 && zebra.dense.unwrap() > 0.3, "{zebra:?}");
    assert!(of("tax.md").lexical.is_none() && of("tax.md").dense.is_some());
    let narrowed = async |condition: Condition| -> Vec<String> {
        let asked = Asked { conditions: vec![condition], ..asked("zebra horse invoices") };
        let found = reader.search(&asked, LONG).await.unwrap().found;
        let mut paths: Vec<String> = found.into_iter().map(|found| found.payload.path).collect();
        paths.sort();
        paths
    };
    assert_eq!(narrowed(Condition::Tags(vec!["africa".to_owned()])).await, ["animals/zebra.md"]);
    assert_eq!(narrowed(Condition::Paths(vec!["animals".to_owned()])).await, ["animals/horse.md", "animals/zebra.md"]);
    assert_eq!(narrowed(Condition::Days(Some(20_260_101), Some(20_261_231))).await, ["animals/zebra.md"]);
    let any = Condition::Any(vec![
        Condition::Tags(vec!["africa".to_owned()]),
        Condition::All(vec![
            Condition::Paths(vec!["tax.md".to_owned()]),
            Condition::Not(Box::new(Condition::Tags(vec!["europe".to_owned()]))),
        ]),
    ]);
    assert_eq!(narrowed(any).await, ["animals/zebra.md", "tax.md"]);
    let not = Condition::Not(Box::new(Condition::Paths(vec!["animals".to_owned()])));
    assert_eq!(narrowed(not).await, ["tax.md"]);
    let other = Asked { vector: Some(("other".to_owned(), builtin::model().embed("zebra"))), ..asked("zebra") };
    let answer = reader.search(&other, LONG).await.unwrap();
    assert_eq!(answer.found.len(), 1);
    assert!(answer.without_vectors.unwrap().contains("other"));
    collection.drop_all().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a Qdrant: SITUATED_QDRANT"]
async fn how_many_chunks_have_a_word_is_told_once_they_were_asked() {
    let server = Server::start().await;
    let collection = server.collection();
    init(&collection).await;
    let animal = |at: usize| if at < 7 { "zebra" } else { "horse" };
    let texts: Vec<(String, String)> =
        (0..40).map(|at| (format!("{at}.md"), format!("A {} grazes.", animal(at)))).collect();
    let notes: Vec<(&str, &str)> = texts.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    assert_eq!(Notes::new(&notes).keeper(&collection, "one").turn().await, Done::Rests);
    let reader = Reader::new(collection.clone());
    let in_chunks = async |words: &str| {
        let answer = reader.search(&Asked { contextual: false, ..asked(words) }, LONG).await.unwrap();
        let terms: Vec<u64> = answer.statistics.terms.iter().map(|(_, having)| *having).collect();
        (answer.statistics.chunks, terms)
    };
    assert_eq!(in_chunks("zebra").await, (40, vec![7]));
    assert_eq!(in_chunks("horse").await, (40, vec![33]));
    assert_eq!(in_chunks("okapi").await, (40, vec![0]));
    // From what is remembered.
    assert_eq!(in_chunks("zebras").await, (40, vec![7]));
    collection.drop_all().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a Qdrant: SITUATED_QDRANT"]
async fn a_key_opens_its_own_collection_and_no_other() {
    const MASTER: &str = "a-key-of-this-test-alone";
    let settings = [("QDRANT__SERVICE__API_KEY", MASTER), ("QDRANT__SERVICE__JWT_RBAC", "true")];
    let server = Server::start_with(&settings).await;
    let key = |name: &str, text: &str| {
        let file = server.dir.path().join(name);
        // A key that others may read is not taken.
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).private().open(&file).unwrap().write_all(text.as_bytes()).unwrap();
        KeyConfig { file: Some(file), ..KeyConfig::default() }
    };
    let master = key("master", MASTER);
    let notes = Notes::new(&[("a.md", "The zebra.")]);
    for name in ["a", "b"] {
        let collection = server.collection_with(name, &master);
        init(&collection).await;
        assert_eq!(notes.keeper(&collection, "one").turn().await, Done::Rests);
    }
    let of_a = key("a", &READS_A.join("."));
    let found = Reader::new(server.collection_with("a", &of_a)).search(&asked("zebra"), LONG).await.unwrap();
    assert_eq!(found.found.len(), 1);
    let of_b = key("b", &READS_B.join("."));
    let found = Reader::new(server.collection_with("b", &of_b)).search(&asked("zebra"), LONG).await.unwrap();
    assert_eq!(found.found.len(), 1);
    for (collection, others) in [("b", &of_a), ("a", &of_b)] {
        let collection = server.collection_with(collection, others);
        let refused = Reader::new(collection.clone()).search(&asked("zebra"), LONG).await.unwrap_err();
        assert_eq!(refused.kind, Kind::Forbidden, "{refused}");
        assert!(Reader::new(collection.clone()).note("handbook", "a.md", LONG).await.is_err());
        assert_eq!(collection.contexts(&["k".to_owned()]).await.unwrap_err().kind, Kind::Forbidden);
    }
    notes.put("a.md", "The okapi.");
    let mut reading = notes.keeper(&server.collection_with("a", &of_a), "one");
    let Done::Waits(_, refused) = reading.turn().await else { panic!("a reader wrote") };
    assert_eq!(refused.kind, Kind::Forbidden, "{refused}");
    let without = Reader::new(server.collection_with("a", &KeyConfig::default()));
    let refused = without.search(&asked("zebra"), LONG).await.unwrap_err();
    assert_eq!(refused.kind, Kind::Forbidden, "{refused}");
    assert!(!refused.message.contains(MASTER) && !refused.message.contains("eyJ"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a Qdrant: SITUATED_QDRANT"]
async fn a_server_is_believed_that_is_vouched_for_under_the_name_it_is_asked_by() {
    let tls = |name: &str| format!("{}/../../tests/team/tls/{name}", env!("CARGO_MANIFEST_DIR"));
    let (ca, cert, key) = (tls("ca.pem"), tls("server.pem"), tls("server.key"));
    let settings = [
        ("QDRANT__SERVICE__ENABLE_TLS", "true"),
        ("QDRANT__TLS__CERT", &cert),
        ("QDRANT__TLS__KEY", &key),
        (CA_CERT, &ca),
    ];
    // Ready means that it was believed by its name, `localhost`.
    let server = Server::start_with(&settings).await;
    let collection = server.collection();
    init(&collection).await;
    assert_eq!(Notes::new(&[("a.md", "The zebra.")]).keeper(&collection, "one").turn().await, Done::Rests);
    let found = Reader::new(collection.clone()).search(&asked("zebra"), LONG).await.unwrap();
    assert_eq!(found.found.len(), 1);
    let by = |url: &str, ca: Option<&Path>| {
        let rest = RestServer::new(url, "api-key", &KeyConfig::default(), ca).unwrap();
        Reader::new(Collection::new(rest, collection.name()))
    };
    let other_name = server.url.replace("localhost", "127.0.0.1");
    for reader in [by(&other_name, Some(Path::new(&ca))), by(&server.url, None)] {
        let refused = reader.search(&asked("zebra"), LONG).await.unwrap_err();
        assert_eq!(refused.kind, Kind::Other, "{refused}");
        assert!(refused.message.contains("is not to be trusted"), "{refused}");
    }
    let none = RestServer::new(&server.url, "api-key", &KeyConfig::default(), Some(Path::new(&key))).unwrap_err();
    assert!(none.contains("there is no certificate in it"), "{none}");
}

/// `{"access":[{"collection":"a","access":"r"}]}`, signed with the test's key (HS256).
const READS_A: [&str; 3] = [
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9",
    "eyJhY2Nlc3MiOlt7ImNvbGxlY3Rpb24iOiJhIiwiYWNjZXNzIjoiciJ9XX0",
    "CD8cj9Nby9VZBKwC__Pv84-xK1ZBWkQbqcBJIs8Vm6g",
];

/// The same for `b`.
const READS_B: [&str; 3] = [
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9",
    "eyJhY2Nlc3MiOlt7ImNvbGxlY3Rpb24iOiJiIiwiYWNjZXNzIjoiciJ9XX0",
    "EN23LlYqMafTLRdPLU1BP5MPodzgtr4L1LwhIitoS_I",
];
