//! Queries: answered from the published snapshots, on the caller's thread.

mod attachments;
mod expect;
pub(super) mod expansion;
pub(super) mod freshness;
pub(super) mod include;
mod texts_alone;
pub(super) mod vaults;
mod time;

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;

use self::freshness::Look;
use self::time::time_asked;
use super::super::decide::NotePipeline;
use super::super::indexer::Event;
use super::super::rerank::Reranker;
use super::access::ready;
use super::vectors::QueryVectors;
use super::{
    Audience, CallError, Cancel, Contextual, Handle, Scope, SearchAnswer, SearchFilter, SearchRequest, VaultShared,
    generations, vectors, work,
};
use index::Snapshot;
use index::search;
use index::search::{Answer, Boosts, Key, Options, Parsed, Part};
use note::Private;
use protocol::jobs::JobState;
use protocol::search::{BoostWeights, MAX_HITS, Mode};

/// How long a fresh answer waits for the disk.
const FRESH_WITHIN: Duration = Duration::from_secs(30);

/// What a request says of [`Options`]; the configuration sets the rest.
#[derive(Default)]
pub(super) struct Asked {
    pub(super) mode: Option<Mode>,
    pub(super) limit: Option<usize>,
    pub(super) per_note: Option<usize>,
    pub(super) window_chars: Option<usize>,
    pub(super) contextual: bool,
    pub(super) explain: bool,
    pub(super) merge: Option<bool>,
}

/// A vault while a query is answered from it: one snapshot, and the pipeline whose embedder made its vectors.
pub(super) struct Served {
    pub(super) vault: Arc<VaultShared>,
    pub(super) snapshot: Arc<Snapshot>,
    pub(super) pipeline: Arc<NotePipeline>,
}

impl Served {
    fn new(vault: &Arc<VaultShared>) -> Result<Self, CallError> {
        let (snapshot, pipeline) = ready(vault)?;
        Ok(Served { vault: vault.clone(), snapshot, pipeline })
    }

    fn source<'a>(&'a self, hidden: Option<&'a Private>) -> include::Source<'a> {
        include::Source { vault: &self.vault.name, snapshot: &self.snapshot, pipeline: &self.pipeline, hidden }
    }

    /// This vault's part of the search. `query` and `options` are those of the request; what this vault adds goes into
    /// its part only, so that it does not affect other vaults.
    fn part(&self, query: &Parsed, options: &Options, hide: bool, vectors: &mut QueryVectors<'_>) -> Part<'_> {
        let mut part = Part { snapshot: &self.snapshot, query: query.clone(), vector: None, options: options.clone() };
        part.query.of_vault(&self.vault.name);
        part.query.filter.hidden = hide.then(|| self.pipeline.private.clone());
        part.options.boosts.graph = self.vault.graph.load_full();
        if !self.pipeline.expansion {
            part.options.expansion_weight = 0.0;
        }
        if options.mode != Mode::Lexical && query.has_text() {
            let embedder = &self.pipeline.service.embedder;
            // A word may have been read as a hidden note's name, which must not reach an embedder on another machine.
            let text = if embedder.is_local_and_fast() { query.text_meant() } else { query.text() };
            part.vector = vectors.of(&self.pipeline, &text);
            // A lane that does not know the language must not drag the other down.
            part.options.familiarity = embedder.familiarity(&text);
        }
        part
    }
}

/// See [`Handle::search`].
pub(super) fn search(engine: &Handle, request: SearchRequest, cancel: &Cancel) -> Result<SearchAnswer, CallError> {
    let (include, audience) = (request.include.clone(), request.audience);
    let mut answer = search_hiding(engine, request, audience.is_assistant(), cancel)?;
    include::leave_out(&include, audience, &mut answer.hits);
    Ok(answer)
}

/// The same, with all texts; with `hide` as if there were no private notes, even for the owner.
pub(super) fn search_hiding(
    engine: &Handle,
    request: SearchRequest,
    hide: bool,
    cancel: &Cancel,
) -> Result<SearchAnswer, CallError> {
    let began = Instant::now();
    let (mut vaults, left_out) = engine.served(request.vault.as_deref())?;
    let contextual = match &request.contextual {
        None => true,
        Some(Contextual::Flag(flag)) => *flag,
        Some(Contextual::Generation(name)) => {
            let name = name.strip_prefix("gen:").ok_or_else(|| {
                CallError::Invalid("`contextual` is true, false, or `gen:` and the name of a generation".to_owned())
            })?;
            vaults = generations::of_generation(engine, vaults, name)?;
            true
        }
    };
    let mut options = options(
        engine,
        &Asked {
            mode: request.mode,
            limit: request.limit,
            per_note: request.per_note,
            window_chars: request.window_chars,
            contextual,
            explain: request.explain,
            merge: request.merge,
        },
    )?;
    options.cancel = cancel.clone();
    let min_score = request.min_score.unwrap_or_default();
    if !(0.0..=1.0).contains(&min_score) {
        return Err(CallError::Invalid(format!("`min_score` must be 0 to 1, as scores are, not {min_score}")));
    }
    let (reranker, mut unjudged) = reranker(engine, request.rerank, request.audience)?;
    let now = jiff::Zoned::now();
    options.boosts.today = Some(now.date());
    weigh(&mut options.boosts, request.boosts.as_ref())?;
    // Before the disk is looked at: a request that is refused must not wait for it.
    let mut parsed = parsed(&request, &now)?;
    if request.expect.is_none() {
        vaults = vaults::admitted(&parsed, vaults);
    }
    parsed.warnings.extend(vaults::unknown(engine, parsed.vaults()));
    let time = if options.boosts.date_weight > 0.0 { search::asked(&parsed.words, now.date()) } else { None };
    options.boosts.asked = time.as_ref().map(|time| time.when);
    let unseen = if request.fresh { freshen(engine, &vaults, cancel)? } else { None };
    let expand = expansion::expands_for(engine, request.audience, request.expand);
    let (expansion, warning) = expansion::expansion(engine, expand, &parsed, options.mode, cancel);
    parsed.warnings.extend(warning);
    let mut vectors = vectors::vectors(engine);
    let mut served = vaults.iter().map(Served::new).collect::<Result<Vec<_>, _>>()?;
    if !contextual && options.mode != Mode::Lexical {
        for served in &mut served {
            parsed.warnings.extend(served.leave_contexts_out(cancel)?);
        }
    }
    if options.mode == Mode::Hybrid {
        parsed.understand(served.iter().map(|served| &*served.snapshot), &options)?;
    }
    let parts: Vec<Part<'_>> = served.iter().map(|served| served.part(&parsed, &options, hide, &mut vectors)).collect();
    // If a vault is named, only that one is asked. Of a team, only the generation that answers is published.
    let question = (request.vault.is_none() && request.expect.is_none()).then(|| {
        // The vector of the query as it was typed: a word may have been read as the name of a private note.
        let mut vector = |served: &Served| {
            let pipeline = &served.pipeline;
            Some((pipeline.service.embedder.identity().to_owned(), vectors.of(pipeline, &parsed.text())?))
        };
        let asked = engine.0.teams.are_searched() && options.mode != Mode::Lexical && parsed.has_text();
        let vector = served.iter().filter(|_| asked).find_map(&mut vector);
        engine.0.teams.ask(&parsed, &options, vector)
    });
    let (outside, unasked) = question.map_or_else(|| Ok(Default::default()), |question| question.wait(cancel))?;
    let (rankings, outside) = search::rank_beside(&parts, outside)?;
    let mut rankings = expansion.blend(rankings, (&served, &parts), &mut vectors)?;
    if let Some(reranker) = reranker.filter(|_| parsed.has_text()) {
        let snapshots: Vec<_> = served.iter().map(|s| (s.snapshot.clone(), s.pipeline.private.clone())).collect();
        unjudged = reranker.rerank(&parsed.text(), contextual, &snapshots, &mut rankings, cancel)?;
    }
    let mut answers = Vec::with_capacity(served.len());
    for ((served, part), ranking) in served.iter().zip(&parts).zip(rankings) {
        cancel.check()?;
        let Served { vault, snapshot, .. } = served;
        let look = Look::begin(vault, ranking.notes(snapshot, options.limit));
        let found = search::finish(snapshot, &vault.name, ranking, &part.options)?;
        answers.push(freshness::mark(found, vault, snapshot, look));
    }
    answers.push(outside.finish(&options));
    let mut answer = search_answer(answers, options.limit, began);
    answer.warnings.extend(left_out);
    for Served { vault, .. } in served.iter().filter(|served| served.pipeline.vectors.is_cut()) {
        // The indexer finds out by itself what is wrong, and opens the store anew.
        engine.0.indexers.send(vault.id, Event::Wake);
        answer.warnings.push(format!(
            "`{}`: its vectors were cut short on the disk by another program; chunks are found by words alone until they are \
             made again, which has begun",
            vault.name
        ));
    }
    answer.warnings.extend(unasked);
    keep_above(min_score, &mut answer);
    let hidden: Vec<_> = parts.iter().map(|part| part.query.filter.hidden.clone()).collect();
    let sources: Vec<_> = served.iter().zip(&hidden).map(|(served, hidden)| served.source(hidden.as_deref())).collect();
    include::add(&request.include, &mut answer.hits, &sources, cancel)?;
    let whole = |part: &Part<'_>| part.query.filter.asks_nothing();
    for ((served, hidden), _) in served.iter().zip(&hidden).zip(&parts).filter(|(_, part)| whole(part)) {
        answer.attachments.extend(attachments::named(&served.vault, &parsed.text(), hidden.as_deref()));
    }
    answer.time = time.as_ref().map(time_asked);
    answer.warnings.extend(unjudged);
    answer.warnings.extend(unseen);
    if let Some(path) = request.expect.as_ref().filter(|_| request.audience == Audience::Owner) {
        answer.expected = Some(expect::expected(path, (&served, &parts), &answer.hits)?);
    }
    Ok(vectors.warn(answer))
}

/// Takes a request's weights instead of the configured ones.
fn weigh(boosts: &mut Boosts, asked: Option<&BoostWeights>) -> Result<(), CallError> {
    let Some(BoostWeights { graph, links, recency, date, types }) = asked else { return Ok(()) };
    let check = |name: &str, weight: f32| {
        let wrong = || CallError::Invalid(format!("`boosts.{name}` must be 0 to 1, not {weight}"));
        (0.0..=1.0).contains(&weight).then_some(weight).ok_or_else(wrong)
    };
    for (name, asked, weight) in [
        ("graph", graph, &mut boosts.graph_weight),
        ("links", links, &mut boosts.link_weight),
        ("recency", recency, &mut boosts.recency_weight),
        ("date", date, &mut boosts.date_weight),
    ] {
        if let Some(asked) = asked {
            *weight = check(name, *asked)?;
        }
    }
    for (kind, weight) in types {
        let name: String = kind.chars().take(60).collect();
        boosts.type_weights.insert(kind.to_lowercase(), check(&format!("types.{name}"), *weight)?);
    }
    Ok(())
}

/// Leaves out hits with a lower score than `least`.
fn keep_above(least: f32, answer: &mut SearchAnswer) {
    let found = answer.hits.len();
    answer.hits.retain(|hit| hit.score >= least);
    // Hits that would follow have lower scores still.
    answer.truncated &= answer.hits.len() == found;
}

/// See [`Handle::reranks`].
pub(super) fn reranks(engine: &Handle) -> bool {
    engine.0.reranker.load().as_ref().is_some_and(|reranker| reranker.is_always_asked())
}

/// The reranker, if it is to judge what is found, or a warning about what keeps it from that. A user who asks for it
/// agrees to it, for this search.
fn reranker(
    engine: &Handle,
    wanted: Option<bool>,
    audience: Audience,
) -> Result<(Option<Arc<Reranker>>, Option<String>), CallError> {
    let reranker = match (wanted, engine.0.reranker.load_full()) {
        (Some(false), _) | (None, None) => return Ok((None, None)),
        (Some(true), None) => {
            let message = "there is no reranker: `[rerank] provider` in the configuration names one; `situated models add \
                           cross-encoder ORG/NAME` has one in this process";
            return Err(CallError::Invalid(message.to_owned()));
        }
        (None, Some(reranker)) if !reranker.is_always_asked() => return Ok((None, None)),
        (_, Some(reranker)) => reranker,
    };
    if reranker.is_agreed() || (wanted == Some(true) && !audience.is_assistant()) {
        return Ok((Some(reranker), None));
    }
    Ok((None, Some("not reranked: the reranker waits for your yes: `situated contexts start`".to_owned())))
}

pub(super) fn options(engine: &Handle, asked: &Asked) -> Result<Options, CallError> {
    let search = engine.0.config.load().search.clone();
    let limit = asked.limit.unwrap_or(search.limit);
    if limit == 0 || limit > MAX_HITS {
        return Err(CallError::Invalid(format!("`limit` must be 1 to {MAX_HITS}, not {limit}")));
    }
    Ok(Options {
        mode: asked.mode.unwrap_or_default(),
        limit,
        per_note: asked.per_note.unwrap_or(search.per_note).max(1),
        contextual: asked.contextual,
        window_chars: asked.window_chars.unwrap_or(search.window_chars).min(100_000),
        dense_weight: search.dense_weight,
        expansion_weight: search.expansion_weight,
        boosts: Boosts {
            graph_weight: search.graph_weight,
            link_weight: search.link_weight,
            date_weight: search.date_weight,
            recency_weight: search.recency_weight,
            recency_half_life: search.recency_half_life.as_secs_f32() / 86_400.0,
            type_weights: search.type_weights,
            ..Boosts::default()
        },
        merge: asked.merge.unwrap_or(true),
        explain: asked.explain,
        ..Options::default()
    })
}

/// Waits until everything that was saved before now is in these snapshots. Returns a warning if some of it may not be,
/// because a vault could not be looked at.
pub(super) fn freshen(
    engine: &Handle,
    vaults: &[Arc<VaultShared>],
    cancel: &Cancel,
) -> Result<Option<String>, CallError> {
    let until = Instant::now() + FRESH_WITHIN;
    let only = vaults.first().filter(|_| vaults.len() == 1).map(|vault| vault.name.clone());
    let job = work::look_at(engine, Scope { vault: only, path: None }, vaults, false);
    while engine.wait_job(job, Duration::from_millis(100))?.is_running() {
        cancel.check()?;
        if Instant::now() > until {
            return Err(CallError::Timeout(FRESH_WITHIN.as_millis() as u64));
        }
    }
    let job = engine.job(job)?;
    let why = job.problem.unwrap_or_else(|| "some notes could not be read".to_owned());
    let fresh = job.state == JobState::Done && job.failed.is_empty();
    Ok((!fresh).then(|| format!("not all of this is fresh: {why}")))
}

/// What a request asks for: its query, and its filter as if the query had said it.
fn parsed(request: &SearchRequest, now: &jiff::Zoned) -> Result<Parsed, CallError> {
    let mut parsed = search::parse(&request.query, now.date())?;
    parsed.filter.offset = now.offset();
    // The word that is being typed is the last one of the query, and a free one.
    let last = parsed.words.rsplit(' ').next().unwrap_or_default();
    parsed.prefix = request.prefix && !last.is_empty() && request.query.ends_with(last);
    if let Some(filter) = &request.filter {
        narrow(&mut parsed, filter, now)?;
    }
    Ok(parsed)
}

/// Adds what a request's filter says, as if the query had said it.
pub(super) fn narrow(parsed: &mut Parsed, filter: &SearchFilter, now: &jiff::Zoned) -> Result<(), CallError> {
    let SearchFilter { path, tag, after, before, note_type, properties } = filter;
    let conditions =
        [(Key::Path, path), (Key::Tag, tag), (Key::After, after), (Key::Before, before), (Key::Type, note_type)];
    for (key, value) in conditions {
        if let Some(value) = value {
            parsed.counted.condition(value)?;
            parsed.filter.add(key, value, now.date()).map_err(CallError::Invalid)?;
        }
    }
    for (name, value) in properties {
        let value = property(name, value)?;
        parsed.counted.property(&value)?;
        parsed.filter.add_property(name, &value, true, now.date()).map_err(CallError::Invalid)?;
    }
    Ok(())
}

/// A property's value in JSON as it would stand in a query.
fn property(name: &str, value: &Value) -> Result<String, CallError> {
    let plain = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Null | Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        Value::Array(_) | Value::Object(_) => None,
    };
    let text = match value {
        Value::Array(items) if !items.is_empty() => items.iter().map(plain).collect::<Option<Vec<_>>>(),
        value => plain(value).map(|text| vec![text]),
    };
    text.map(|values| values.join(" OR ")).ok_or_else(|| {
        let name: String = name.chars().take(60).collect();
        CallError::Invalid(format!(
            "`filter.properties.{name}` is a text, a number, true, false, null, or a list of these"
        ))
    })
}

pub(super) fn search_answer(answers: Vec<Answer>, limit: usize, began: Instant) -> SearchAnswer {
    let merged = search::merge(answers, limit);
    SearchAnswer {
        hits: merged.hits,
        seq: merged.seq,
        took_ms: began.elapsed().as_secs_f64() * 1e3,
        truncated: merged.truncated,
        warnings: merged.warnings,
        attachments: Vec::new(),
        expected: None,
        time: None,
    }
}
