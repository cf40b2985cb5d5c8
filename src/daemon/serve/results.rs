//! Watches: what a client wants to be shown of the vaults for as long as it is connected, and how the results of one
//! moment differ from those of another. Pure.

use std::collections::HashMap;

use serde_json::json;

use protocol::decision::Decision;
use protocol::envelope::{ErrorKind, Id, RpcError};
use protocol::events::{MAX_WATCHES, Results, Watch, Watched};
use protocol::hit::Hit;
use protocol::search::{Expand, MAX_HITS, SearchAnswer};

/// Most bytes of a watch's results. They are sent whole, and those of every watch may wait for a slow reader.
pub const MAX_RESULTS: usize = 1 << 20;

/// A watch that is followed.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenWatch {
    /// What the client calls it.
    pub token: Id,
    /// What it shows.
    pub shows: Watched,
}

/// The watches of a request; their tokens differ.
pub fn open(watches: Vec<Watch>) -> Result<Vec<OpenWatch>, RpcError> {
    let invalid = |why: String| RpcError::new(ErrorKind::InvalidParams, why);
    if watches.len() > MAX_WATCHES {
        return Err(invalid(format!("{} watches are more than the {MAX_WATCHES} of one connection", watches.len()))
            .hint("another connection has as many again"));
    }
    let mut open: Vec<OpenWatch> = Vec::with_capacity(watches.len());
    for (i, watch) in watches.into_iter().enumerate() {
        let token = watch.token.unwrap_or(Id::Number(i as i64));
        if open.iter().any(|other| other.token == token) {
            return Err(invalid(format!("`watch[{i}]` has the token of another watch")));
        }
        let shows = shown(watch.shows).map_err(|why| invalid(format!("`watch[{i}]`: {why}")))?;
        open.push(OpenWatch { token, shows });
    }
    Ok(open)
}

/// Checks what a watch shows, and takes out what a look at every save must not do.
fn shown(shows: Watched) -> Result<Watched, String> {
    let limit = shows.limit();
    let shows = match shows {
        Watched::Search(mut request) => {
            // A look at every save must neither wait for the next look at the disk nor ask, and pay, a model.
            (request.fresh, request.expect) = (false, None);
            (request.expand, request.rerank) = (Some(Expand::Off), Some(false));
            Watched::Search(request)
        }
        Watched::Related(request) => {
            if [&request.path, &request.chunk, &request.text].iter().filter(|given| given.is_some()).count() != 1 {
                return Err("give exactly one of `query`, `path`, `chunk` and `text`".to_owned());
            }
            Watched::Related(request)
        }
    };
    match limit {
        Some(limit) if limit == 0 || limit > MAX_HITS => Err(format!("`limit` must be 1 to {MAX_HITS}, not {limit}")),
        _ => Ok(shows),
    }
}

/// What a look at a watch found.
#[derive(Clone, Debug, Default)]
pub struct WatchAnswer {
    /// What is shown.
    pub answer: SearchAnswer,
    /// The newest decision about the note that is asked about.
    pub decision: Option<Decision>,
}

/// A vault and a chunk of it: notes at the same path of two vaults have chunks of the same id.
type ChunkOf = (String, String);

/// The parts of results whose change a client hears of; scores and times are not among them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ShownResults {
    /// Chunks in order, each with a digest of what is shown of it.
    hits: Vec<(ChunkOf, blake3::Hash)>,
    decided: Option<(u64, i64)>,
    error: Option<(ErrorKind, String)>,
}

impl ShownResults {
    /// The parts of what a look found.
    pub fn of(found: &Result<WatchAnswer, RpcError>) -> ShownResults {
        match found {
            Ok(WatchAnswer { answer, decision }) => ShownResults {
                hits: answer.hits.iter().map(|hit| ((hit.vault.clone(), hit.chunk.clone()), digest(hit))).collect(),
                decided: decision.as_ref().map(|decision| (decision.seq, decision.at)),
                error: None,
            },
            Err(error) => ShownResults { error: Some((error.kind, error.message.clone())), ..ShownResults::default() },
        }
    }

    /// Whether the look failed.
    pub fn is_error(&self) -> bool {
        self.error.is_some()
    }
}

fn digest(hit: &Hit) -> blake3::Hash {
    let mut shown = hit.clone();
    (shown.score, shown.mtime, shown.stale, shown.lanes) = (0.0, 0, false, None);
    shown.also.iter_mut().for_each(|also| also.score = 0.0);
    blake3::hash(json!(shown).to_string().as_bytes())
}

/// Parameters of the event that tells a client, which has heard of `before`, what was found.
pub fn event(token: &Id, found: Result<WatchAnswer, RpcError>, before: Option<&ShownResults>) -> Results {
    let now = ShownResults::of(&found);
    let old = places(before.map_or(&[], |state| &state.hits));
    let new = places(&now.hits);
    let of = |holds: &dyn Fn(&ChunkOf, usize, blake3::Hash) -> bool| -> Vec<String> {
        let hits = now.hits.iter().enumerate();
        let held = hits.filter(|(i, (chunk, digest))| holds(chunk, *i, *digest));
        held.map(|(_, ((_, chunk), _))| chunk.clone()).collect()
    };
    let came = of(&|chunk, _, _| !old.contains_key(chunk));
    let moved = of(&|chunk, i, _| old.get(chunk).is_some_and(|(place, _)| *place != i));
    let changed = of(&|chunk, _, digest| old.get(chunk).is_some_and(|(_, before)| *before != digest));
    let gone = before.iter().flat_map(|state| &state.hits).filter(|(chunk, _)| !new.contains_key(chunk));
    let went = gone.map(|((_, chunk), _)| chunk.clone()).collect();
    let (WatchAnswer { answer, decision }, error) = match found {
        Ok(found) => (found, None),
        Err(error) => (WatchAnswer::default(), Some(error.to_value())),
    };
    let SearchAnswer { hits, seq, truncated, warnings, .. } = answer;
    Results { token: token.clone(), seq, hits, truncated, warnings, came, went, moved, changed, decision, error }
}

fn places(hits: &[(ChunkOf, blake3::Hash)]) -> HashMap<&ChunkOf, (usize, blake3::Hash)> {
    hits.iter().enumerate().map(|(i, (chunk, digest))| (chunk, (i, *digest))).collect()
}

#[cfg(all(test, unix))]
mod tests;
