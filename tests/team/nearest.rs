//! What is nearest is found, of more notes than the server looks at without help.

use std::collections::HashSet;
use std::time::Duration;

use context::settings::KeyConfig;
use index::embed::{Vector, builtin};
use provider::rest::Method;
use serde_json::Value;
use team::{Asked, Collection, Done, Quantisation, Reader};

use super::notes::{EMBEDDER, Notes, init_by};
use super::publish::LONG;
use super::server::Server;

const NOTES: usize = 1_500;
const QUERIES: usize = 20;
const SHOWN: usize = 10;

/// Of each query's nearest notes the share that is found, once the server has put all vectors into an index.
async fn found(quantisation: Quantisation) -> f64 {
    // By itself it begins with 10 MB.
    let server = Server::start_with(&[("QDRANT__STORAGE__OPTIMIZERS__INDEXING_THRESHOLD_KB", "100")]).await;
    let collection = server.collection();
    init_by(&collection, quantisation).await;
    let texts: Vec<(String, String)> = (0..NOTES).map(|n| (format!("{n}.md"), words(n, 30))).collect();
    let borrowed: Vec<(&str, &str)> = texts.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let notes = Notes::new(&borrowed);
    assert_eq!(notes.keeper(&collection, "one").turn().await, Done::Rests);
    indexed(&server, &collection).await;
    let reader = Reader::new(collection);
    let vectors: Vec<Vec<f32>> = texts.iter().map(|(_, text)| values(&builtin::model().embed(text))).collect();
    let mut hits = 0;
    for query in 0..QUERIES {
        let vector = builtin::model().embed(&words(NOTES + query, 4));
        let mut nearest: Vec<(f32, &str)> =
            vectors.iter().zip(&texts).map(|(one, (path, _))| (dot(one, &values(&vector)), path.as_str())).collect();
        nearest.sort_by(|one, other| other.0.total_cmp(&one.0));
        let nearest: HashSet<&str> = nearest[..SHOWN].iter().map(|(_, path)| *path).collect();
        let asked = Asked { vector: Some((EMBEDDER.to_owned(), vector)), depth: 60, ..Asked::default() };
        let mut found = reader.search(&asked, LONG).await.unwrap().found;
        found.sort_by(|one, other| other.dense.unwrap().total_cmp(&one.dense.unwrap()));
        hits += found.iter().take(SHOWN).filter(|found| nearest.contains(found.payload.path.as_str())).count();
    }
    hits as f64 / (QUERIES * SHOWN) as f64
}

fn values(vector: &Vector) -> Vec<f32> {
    vector.values.iter().map(|value| vector.scale * f32::from(*value)).collect()
}

fn dot(one: &[f32], other: &[f32]) -> f32 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

/// Waits until the server has most vectors in an index.
async fn indexed(server: &Server, collection: &Collection) {
    let rest = server.rest(&KeyConfig::default());
    let path = format!("/collections/{}", collection.name());
    for _ in 0..1200 {
        let answer = rest.ask(Method::GET, &path, Vec::new(), LONG).await.unwrap();
        let answer: Value = serde_json::from_slice(&answer).unwrap();
        let done = answer["result"]["indexed_vectors_count"].as_u64().unwrap_or(0);
        if answer["result"]["status"] == "green" && done as usize > NOTES {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the server never made an index");
}

/// Words that stand together by chance: no graph of their vectors is a good one.
fn words(seed: usize, count: usize) -> String {
    const WORDS: [&str; 32] = [
        "river", "invoice", "violin", "glacier", "harbour", "lemon", "budget", "comet", "saddle", "novel", "engine",
        "pepper", "treaty", "marble", "orchid", "ladder", "whale", "barley", "copper", "desert", "falcon", "garlic",
        "helmet", "island", "jacket", "kernel", "lantern", "meadow", "needle", "oyster", "pillow", "quartz",
    ];
    let mut state = seed as u64 + 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        WORDS[(state >> 59) as usize]
    };
    (0..count).map(|_| next()).collect::<Vec<_>>().join(" ")
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a Qdrant: SITUATED_QDRANT"]
async fn bytes_miss_nothing() {
    let found = found(Quantisation::Byte).await;
    assert!(found >= 0.995, "{found}");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a Qdrant: SITUATED_QDRANT"]
async fn bits_miss_little() {
    let found = found(Quantisation::Bit).await;
    assert!(found >= 0.95, "{found}");
}
