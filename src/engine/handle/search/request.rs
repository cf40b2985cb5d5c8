//! What a search asks for: of which vaults, with which options and conditions, judged by whom.

use std::sync::Arc;

use serde_json::Value;

use super::super::access::{in_range, ready};
use super::super::{
    CallError, Cancel, Contextual, Handle, SearchFilter, SearchRequest, VaultShared, generations, permission,
};
use super::vaults;
use crate::rerank::Reranker;
use index::search;
use index::search::{AsWords, Boosts, Key, Options, Parsed};
use protocol::search::{BoostWeights, MAX_HITS, Mode};

/// A request that was read, and found to be one that can be answered.
pub(super) struct Wanted {
    /// The vaults that answer.
    pub(super) vaults: Vec<Arc<VaultShared>>,
    /// Those that the query leaves out, if it may have to say so of a note of theirs.
    pub(super) excluded: Vec<Arc<VaultShared>>,
    /// Why others do not.
    pub(super) left_out: Vec<String>,
    pub(super) options: Options,
    pub(super) parsed: Parsed,
    /// The time that the query's words name.
    pub(super) time: Option<search::Asked>,
    pub(super) min_score: f32,
    pub(super) reranking: Reranking,
}

/// Who puts what is found in its last order.
pub(super) enum Reranking {
    Nobody,
    /// A reranker should, and why it does not.
    Waits(String),
    Asked(Arc<Reranker>),
}

impl Wanted {
    /// Reads a request, by the configuration and the vaults of now.
    ///
    /// # Errors
    /// No such vault; a parameter out of its range; a query over a limit.
    pub(super) fn read(
        engine: &Handle,
        request: &SearchRequest,
        hide: bool,
        cancel: &Cancel,
    ) -> Result<Self, CallError> {
        // A team's vault is a condition, for the team is asked beside the vaults here.
        let (of_team, vault) = match request.vault.as_deref() {
            Some(name) if engine.names_team(name) => (Some(name), None),
            name => (None, name),
        };
        let (mut vaults, left_out) = engine.served(vault)?;
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
            &Requested {
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
        let reranking = reranking(engine, request)?;
        let now = jiff::Zoned::now();
        options.boosts.today = Some(now.date());
        weigh(&mut options.boosts, request.boosts.as_ref())?;
        let folders = vaults::folders(engine);
        let parse = |as_words: &AsWords| -> Result<Parsed, CallError> {
            let mut parsed = parsed(request, &now, as_words)?;
            parsed.filter.folders = folders.clone();
            let named = of_team.map_or(Ok(()), |name| parsed.filter.add(Key::Vault, name, now.date()));
            named.map_err(CallError::Invalid)?;
            Ok(parsed)
        };
        let mut parsed = parse(&AsWords::default())?;
        let (admitted, mut excluded) = vaults::admitted(&parsed, vaults);
        // The note that is expected may lie in one of these: that is why it is not found.
        excluded.retain(|_| request.expect.is_some());
        vaults = admitted;
        if parsed.is_doubtful() {
            let opened = vaults.iter().map(|vault| ready(vault)).collect::<Result<Vec<_>, _>>()?;
            let shown = vaults.iter().zip(&opened).map(|(vault, (snapshot, pipeline))| {
                (vault.name.as_str(), &**snapshot, hide.then(|| pipeline.private.clone()))
            });
            let teams = if vault.is_none() { vaults::admitted_teams(engine, &parsed) } else { Vec::new() };
            parsed = search::settled(parsed, &parse, (&shown.collect::<Vec<_>>(), &teams), &options)?;
        }
        parsed.warnings.extend(vaults::unknown(engine, parsed.vaults()));
        let time = if options.boosts.date_weight > 0.0 { search::asked(&parsed.words, now.date()) } else { None };
        options.boosts.asked = time.as_ref().map(|time| time.when);
        time.iter().for_each(|time| parsed.read_time(&time.words));
        Ok(Wanted { vaults, excluded, left_out, options, parsed, time, min_score, reranking })
    }
}

/// What a request says of [`Options`]; the configuration sets the rest.
#[derive(Default)]
pub(in crate::handle) struct Requested {
    pub(in crate::handle) mode: Option<Mode>,
    pub(in crate::handle) limit: Option<usize>,
    pub(in crate::handle) per_note: Option<usize>,
    pub(in crate::handle) window_chars: Option<usize>,
    pub(in crate::handle) contextual: bool,
    pub(in crate::handle) explain: bool,
    pub(in crate::handle) merge: Option<bool>,
}

/// The options of a search: what the request says, and what the configuration says of the rest.
pub(in crate::handle) fn options(engine: &Handle, asked: &Requested) -> Result<Options, CallError> {
    let search = engine.0.config.load().search.clone();
    let limit = in_range("limit", asked.limit.unwrap_or(search.limit), MAX_HITS)?;
    if asked.per_note == Some(0) {
        return Err(CallError::Invalid("`per_note` must be 1 or more, not 0".to_owned()));
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

/// The reranker, if it is to judge what is found. A user who asks for it agrees to it, for this search. While a query is
/// being typed it would be paid for every letter, so then one that costs judges only if the request says so.
fn reranking(engine: &Handle, request: &SearchRequest) -> Result<Reranking, CallError> {
    let SearchRequest { rerank: wanted, audience, prefix, .. } = *request;
    let reranker = match (wanted, engine.0.reranker.load_full()) {
        (Some(false), _) | (None, None) => return Ok(Reranking::Nobody),
        (Some(true), None) => {
            let message = "there is no reranker: `[rerank] provider` in the configuration names one; `situated models add \
                           cross-encoder ORG/NAME` has one in this process";
            return Err(CallError::Invalid(message.to_owned()));
        }
        (None, Some(reranker)) if !reranker.is_always_asked() => return Ok(Reranking::Nobody),
        (None, Some(reranker)) if prefix && !reranker.is_free() => return Ok(Reranking::Nobody),
        (_, Some(reranker)) => reranker,
    };
    if !reranker.is_agreed() && (wanted != Some(true) || audience.is_assistant()) {
        return Ok(Reranking::Waits(
            "not reranked: the reranker waits for your yes: `situated contexts start`".to_owned(),
        ));
    }
    let barred = permission::may_spend(engine, audience, !reranker.is_free(), "the reranker").err();
    Ok(barred.map_or(Reranking::Asked(reranker), |barred| Reranking::Waits(format!("not reranked: {barred}"))))
}

/// What a request asks for: its query, and its filter as if the query had said it.
fn parsed(request: &SearchRequest, now: &jiff::Zoned, as_words: &AsWords) -> Result<Parsed, CallError> {
    let mut parsed = search::parse_as(&request.query, now.date(), as_words)?;
    parsed.filter.zone = now.time_zone().clone();
    // The word that is being typed is the last one of the query, and a free one.
    let last = parsed.words.rsplit(' ').next().unwrap_or_default();
    parsed.prefix = request.prefix && !last.is_empty() && request.query.ends_with(last);
    if let Some(filter) = &request.filter {
        narrow(&mut parsed, filter, now)?;
    }
    Ok(parsed)
}

/// Adds what a request's filter says, as if the query had said it.
pub(in crate::handle) fn narrow(
    parsed: &mut Parsed,
    filter: &SearchFilter,
    now: &jiff::Zoned,
) -> Result<(), CallError> {
    let SearchFilter { path, tag, after, before, note_type, properties } = filter;
    let of = |name: &str, why: String| CallError::Invalid(format!("`filter.{name}`: {why}"));
    let conditions = [
        ("path", Key::Path, path),
        ("tag", Key::Tag, tag),
        ("after", Key::After, after),
        ("before", Key::Before, before),
        ("type", Key::Type, note_type),
    ];
    for (name, key, value) in conditions {
        if let Some(value) = value {
            parsed.counted.condition(value)?;
            parsed.filter.add(key, value, now.date()).map_err(|why| of(name, why))?;
        }
    }
    for (name, value) in properties {
        let value = property(name, value)?;
        parsed.counted.property(&value)?;
        let typed = format!("prop.{name}:{value}");
        let added = parsed.filter.add_property(&typed, (name, &value), true, now.date());
        added.map_err(|why| of(&format!("properties.{name}"), why))?;
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
