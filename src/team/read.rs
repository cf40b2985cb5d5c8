//! Members' searches: every note whole or not at all, within a deadline.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use index::Language;
use index::embed::Vector;
use index::terms::{WordStatistics, asked_for};
use serde_json::{Value, json};
use tokio::sync::Mutex;

use crate::collection::{DENSE, Described, VaultState, WHAT, WORDS};
use crate::failure::{Failure, Kind};
use crate::point::{Payload, plain};
use crate::rarities::Rarities;
use crate::server::{Collection, Read, id_of, is};

/// Candidates that a search keeps if somebody gave the server a graph of vectors. With its default of 100 it found .31
/// of the ten nearest of 21,458 chunks, with this .64, in 4 ms rather than 2 (`SCALE.md`).
const LOOKED_AT: u32 = 1024;

/// Oversampling after bytes: this many times the points asked for are looked at exactly; nothing was missed then.
const AFTER_BYTES: f32 = 2.0;

/// Oversampling after bits, which tell less: .95 of the ten nearest of 21,458 chunks were found, and .49 with a factor
/// of two (`SCALE.md`).
const AFTER_BITS: f32 = 50.0;

/// What is asked.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// The free words; empty for none.
    pub words: String,
    /// Whether contexts take part in the words.
    pub contextual: bool,
    /// Weight of the questions beside contexts.
    pub expansion: f32,
    /// The embedding of the query, and who made it.
    pub vector: Option<(String, Vector)>,
    /// Conditions on the notes, all of which must hold.
    pub conditions: Vec<Condition>,
    /// Chunks asked of each lane.
    pub depth: usize,
    /// Vaults that are left out, since they are on this machine.
    pub without: Vec<String>,
}

/// A condition on notes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// The note has one of these tags, or one below it; in lower case.
    Tags(Vec<String>),
    /// The note is, or lies below, one of these paths; in lower case.
    Paths(Vec<String>),
    /// The note is of one of these kinds; in lower case.
    Kinds(Vec<String>),
    /// The note's day is from the first on and before the second, as numbers (20261031).
    Days(Option<i32>, Option<i32>),
    /// It does not hold.
    Not(Box<Condition>),
    /// All of these hold.
    All(Vec<Condition>),
    /// One of these holds.
    Any(Vec<Condition>),
}

impl Condition {
    fn filter(&self) -> Value {
        let any = |field: &str, values: &[String]| json!({"key": field, "match": {"any": values}});
        match self {
            Condition::Tags(tags) => any("tags", tags),
            Condition::Paths(paths) => any("folders", paths),
            Condition::Kinds(kinds) => any("kind_key", kinds),
            Condition::Days(from, before) => json!({"key": "day", "range": {"gte": from, "lt": before}}),
            Condition::Not(condition) => json!({"must_not": [condition.filter()]}),
            Condition::All(all) => json!({"must": all.iter().map(Condition::filter).collect::<Vec<_>>()}),
            Condition::Any(any) => json!({"should": any.iter().map(Condition::filter).collect::<Vec<_>>()}),
        }
    }
}

/// A chunk that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// All that was published of it.
    pub payload: Payload,
    /// Its BM25, as the collection counts words; `None` if it has none of them.
    pub lexical: Option<f32>,
    /// Its cosine; `None` if no vector was asked for, or it has none.
    pub dense: Option<f32>,
}

/// What was found, and what could not be asked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// In no order.
    pub found: Vec<Found>,
    /// Why vectors were not searched, if they should have been.
    pub without_vectors: Option<String>,
    /// The languages that words were looked up in.
    pub languages: Vec<Language>,
    /// How many chunks have the words.
    pub statistics: WordStatistics,
}

/// A collection as members read it. Cheap to clone; clones share what is known of it.
#[derive(Clone, Debug)]
pub struct Reader {
    collection: Collection,
    known: Arc<Mutex<Option<Known>>>,
    rarities: Arc<Mutex<Rarities>>,
}

/// What is known of a collection.
#[derive(Clone, Debug)]
struct Known {
    described: Described,
    vaults: Vec<VaultState>,
}

impl Reader {
    /// A reader that has asked nothing yet.
    pub fn new(collection: Collection) -> Self {
        Reader { collection, known: Arc::default(), rarities: Arc::default() }
    }

    /// Searches for the answer to a query; fails after `within`.
    ///
    /// # Errors
    /// See [`Failure`].
    pub async fn search(&self, asked: &Asked, within: Duration) -> Result<Answer, Failure> {
        let rarities = &self.rarities;
        let search =
            |collection: Collection, known: Known| async move { look(&collection, asked, &known, rarities).await };
        self.whole(within, search).await
    }

    /// The chunks of a note in order, none if there is no such note; `None` if there is no such vault.
    ///
    /// # Errors
    /// See [`Failure`].
    pub async fn note(&self, vault: &str, path: &str, within: Duration) -> Result<Option<Vec<Payload>>, Failure> {
        let read =
            |collection: Collection, known: Known| async move { chunks_of(&collection, vault, path, &known).await };
        self.whole(within, read).await
    }

    /// Repeats a request until no revision became visible during it.
    async fn whole<T, A>(&self, within: Duration, request: impl Fn(Collection, Known) -> A) -> Result<T, Failure>
    where
        A: Future<Output = Result<T, Failure>>,
    {
        let until = Instant::now() + within;
        let late = || {
            let message = format!("{} did not answer within {} ms", self.collection.host(), within.as_millis());
            Failure::new(Kind::Unavailable, message)
        };
        let mut known = self.known.lock().await.clone();
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(late());
            }
            let collection = self.collection.within(left);
            let now = match known.take() {
                Some(known) => known,
                None => Known { described: self.describe(&collection).await?, vaults: collection.vaults().await? },
            };
            let got = request(collection.clone(), now.clone()).await?;
            let vaults = collection.vaults().await?;
            let same = seen(&vaults) == seen(&now.vaults);
            let now = Known { vaults, ..now };
            *self.known.lock().await = Some(now.clone());
            if same {
                return Ok(got);
            }
            // Notes were replaced meanwhile, and their older points may have been deleted before they were read.
            known = Some(now);
        }
    }

    async fn describe(&self, collection: &Collection) -> Result<Described, Failure> {
        let name = collection.name();
        let described = collection.described().await?.ok_or_else(|| {
            let message = format!("nothing was published yet in the collection `{name}` at {}", collection.host());
            Failure::new(Kind::Missing, message)
        })?;
        described.check(None, name)?;
        Ok(described)
    }
}

/// Of each vault, the number up to which its points are visible.
fn seen(vaults: &[VaultState]) -> HashMap<&str, u64> {
    vaults.iter().map(|state| (state.vault.as_str(), state.revision)).collect()
}

/// Searches both lanes, then asks each for its score of what only the other found.
async fn look(
    collection: &Collection,
    asked: &Asked,
    known: &Known,
    rarities: &Mutex<Rarities>,
) -> Result<Answer, Failure> {
    let languages = known.described.languages();
    let terms = asked_for(&asked.words, &languages, asked.contextual, asked.expansion);
    let (indices, values): (Vec<u32>, Vec<f32>) = terms.iter().map(|term| (term.number, term.weight)).unzip();
    let words = (!indices.is_empty()).then(|| json!({"indices": indices, "values": values}));
    let (mut dense, mut without_vectors) = (None, None);
    if let Some((embedder, vector)) = asked.vector.as_ref().filter(|(_, vector)| vector.scale > 0.0) {
        match known.described.check(Some(embedder), collection.name()) {
            Ok(()) => dense = Some(json!([plain(vector)])),
            Err(failure) => without_vectors = Some(failure.message),
        }
    }
    let filter = filter(asked, &known.vaults);
    if known.vaults.iter().all(|state| asked.without.contains(&state.vault)) {
        return Ok(Answer { without_vectors, languages, ..Answer::default() });
    }
    let lanes = [(dense, DENSE), (words, WORDS)];
    let lanes: Vec<(&Value, &str)> = lanes.iter().filter_map(|(query, lane)| Some((query.as_ref()?, *lane))).collect();
    let times = if known.described.bits { AFTER_BITS } else { AFTER_BYTES };
    let params = json!({"hnsw_ef": LOOKED_AT, "quantization": {"rescore": true, "oversampling": times}});
    let mut searches = Vec::new();
    for (query, using) in &lanes {
        searches.push(json!({
            "query": query, "using": using, "filter": filter, "limit": asked.depth, "with_payload": true, "params": params,
        }));
    }
    if searches.is_empty() {
        return Ok(Answer { without_vectors, languages, ..Answer::default() });
    }
    let asked_besides = rarities.lock().await.unknown(&terms, seen(&known.vaults));
    let of_lanes = searches.len();
    searches.extend(asked_besides.iter().copied().map(Rarities::search));
    let mut answers = collection.search(&searches).await?;
    let besides = answers.split_off(of_lanes.min(answers.len()));
    let statistics = {
        // The points that are not chunks: the collection's own, and one for each vault.
        let others = known.vaults.len() as u64 + 1;
        let info = if asked_besides.is_empty() { None } else { collection.inspect().await? };
        let mut rarities = rarities.lock().await;
        rarities.learn(info.map(|info| info.points.saturating_sub(others)), asked_besides.into_iter().zip(besides));
        rarities.of(terms, known.described.mean())
    };
    let mut of: Vec<&str> = lanes.iter().map(|(_, lane)| *lane).collect();
    let (others, searches): (Vec<&str>, Vec<Value>) = opinions(&lanes, &answers).into_iter().unzip();
    if !searches.is_empty() {
        of.extend(others);
        answers.extend(collection.search(&searches).await?);
    }
    let found = join(of.into_iter().map(|lane| lane == WORDS).zip(answers));
    Ok(Answer { found, without_vectors, languages, statistics })
}

/// The searches that ask each lane for its scores of what only the other found, by ids: letting the server find that
/// once more would take as long as the search itself.
fn opinions<'a>(lanes: &[(&Value, &'a str)], answers: &[Vec<Read>]) -> Vec<(&'a str, Value)> {
    let ([one, other], [of_one, of_other]) = (lanes, answers) else { return Vec::new() };
    let ask = |&(query, using): &(&Value, &'a str), own: &[Read], others: &[Read]| {
        let own: HashSet<&str> = own.iter().map(|read| read.id.as_str()).collect();
        let ids = others.iter().map(|read| read.id.as_str()).filter(|id| !own.contains(id));
        let ids: Vec<Value> = ids.map(id_of).collect();
        // Few points, so exactly: the vectors themselves.
        let search = json!({
            "query": query, "using": using, "filter": {"must": [{"has_id": ids}]}, "limit": ids.len(),
            "with_payload": false, "params": {"exact": true},
        });
        (!ids.is_empty()).then_some((using, search))
    };
    [ask(one, of_one, of_other), ask(other, of_other, of_one)].into_iter().flatten().collect()
}

/// The visible chunks of a note, of its highest revision.
async fn chunks_of(
    collection: &Collection,
    vault: &str,
    path: &str,
    known: &Known,
) -> Result<Option<Vec<Payload>>, Failure> {
    let Some(state) = known.vaults.iter().find(|state| state.vault == vault) else { return Ok(None) };
    let visible = json!({"key": "revision", "range": {"lte": state.revision}});
    let filter = json!({"must": [is(WHAT, "chunk"), is("vault", vault), is("path", path), visible]});
    let found = collection.look_through(&filter, json!(true)).await?;
    let mut chunks: Vec<Payload> =
        found.into_iter().filter_map(|found| serde_json::from_value(found.payload).ok()).collect();
    let newest = chunks.iter().map(|chunk| chunk.revision).max();
    chunks.retain(|chunk| Some(chunk.revision) == newest);
    chunks.sort_by_key(|chunk| chunk.position);
    Ok(Some(chunks))
}

/// The filter for visible chunks that meet the conditions. It excludes points above their vault's number: among a
/// million chunks the server finds those in 70 ms, and those "at or below" in 440 (`SCALE.md`).
fn filter(asked: &Asked, vaults: &[VaultState]) -> Value {
    let of: Vec<&VaultState> = vaults.iter().filter(|state| !asked.without.contains(&state.vault)).collect();
    let names: Vec<&str> = of.iter().map(|state| state.vault.as_str()).collect();
    let vault = match names[..] {
        [name] => is("vault", name),
        _ => json!({"key": "vault", "match": {"any": names}}),
    };
    let above = |state: &VaultState| json!({"must": [is("vault", &state.vault), {"key": "revision", "range": {"gt": state.revision}}]});
    let unseen: Vec<Value> = of.into_iter().map(above).collect();
    // Only chunks have vectors and words.
    let mut must = vec![vault];
    must.extend(asked.conditions.iter().map(Condition::filter));
    json!({"must": must, "must_not": unseen})
}

/// The chunks of all answers with what each lane says of them; of each note those of the highest revision.
fn join(answers: impl Iterator<Item = (bool, Vec<Read>)>) -> Vec<Found> {
    let mut found: HashMap<String, Found> = HashMap::new();
    for (of_words, answer) in answers {
        for Read { id, score, payload, .. } in answer {
            if !found.contains_key(&id) {
                let Ok(payload) = serde_json::from_value(payload) else { continue };
                found.insert(id.clone(), Found { payload, lexical: None, dense: None });
            }
            let Some(found) = found.get_mut(&id) else { continue };
            let lane = if of_words { &mut found.lexical } else { &mut found.dense };
            *lane = Some(score).filter(|score| !of_words || *score > 0.0);
        }
    }
    let mut newest: HashMap<(String, String), u64> = HashMap::new();
    for Found { payload, .. } in found.values() {
        let revision = newest.entry((payload.vault.clone(), payload.path.clone())).or_default();
        *revision = (*revision).max(payload.revision);
    }
    let is_newest = |found: &Found| {
        let Payload { vault, path, revision, .. } = &found.payload;
        newest.get(&(vault.clone(), path.clone())) == Some(revision)
    };
    found.into_values().filter(is_newest).collect()
}
