//! Queries: answered from the published snapshots, on the caller's thread.

mod attachments;
mod expect;
mod expansion;
pub(super) mod freshness;
pub(super) mod include;
mod request;
mod texts_alone;
pub(super) mod vaults;
mod time;

use std::sync::Arc;
use std::time::{Duration, Instant};

use self::freshness::Look;
pub(super) use self::request::{Requested, narrow, options};
use self::request::{Reranking, Wanted};
use self::time::time_asked;
use super::super::indexer::Event;
use super::access::Served;
use super::vectors::QueryVectors;
use super::{Audience, CallError, Cancel, Handle, Scope, SearchAnswer, SearchRequest, VaultShared, vectors, work};
use index::search;
use index::search::{Answer, FoundOutside, Options, Parsed, Part, Ranking};
use protocol::jobs::JobState;
use protocol::search::Mode;

/// How long a fresh answer waits for the disk.
const FRESH_WITHIN: Duration = Duration::from_secs(30);

impl Served {
    /// The hits of this vault's ranking, each marked if its note has changed on disk; without notes that have become
    /// hidden from the asker by that.
    fn answer(&self, ranking: Ranking, options: &Options) -> Result<Answer, CallError> {
        let look = Look::begin(&self.vault, ranking.notes(&self.snapshot, options.limit));
        let found = search::finish(&self.snapshot, &self.vault.name, ranking, options)?;
        Ok(freshness::marked(found, self, look))
    }

    /// What to say if this vault's vectors were cut short. The indexer, which is woken, then opens the store anew.
    fn cut_short(&self, engine: &Handle) -> Option<String> {
        let Served { vault, pipeline, .. } = self;
        pipeline.vectors.is_cut().then(|| {
            engine.0.indexers.send(vault.id, Event::Wake);
            format!(
                "`{}`: its vectors were cut short on the disk by another program; chunks are found by words alone until \
                 they are made again, which has begun",
                vault.name
            )
        })
    }

    /// This vault's part of the search. `query` and `options` are those of the request; what this vault adds goes into
    /// its part only, so that it does not affect other vaults.
    fn part(&self, query: &Parsed, options: &Options, vectors: &mut QueryVectors<'_>) -> Part<'_> {
        let mut part = Part { snapshot: &self.snapshot, query: query.clone(), vector: None, options: options.clone() };
        part.query.of_vault(&self.vault.name);
        part.query.filter.hidden.clone_from(&self.hidden);
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
    let hide = audience.is_assistant();
    let mut answer = search_hiding(engine, request, hide, cancel)?;
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
    // Before the disk is looked at: a request that is refused must not wait for it.
    let mut wanted = Wanted::read(engine, &request, hide, cancel)?;
    let unseen = if request.fresh { freshen(engine, &wanted.vaults, cancel)? } else { None };
    let (expand, waits) = expansion::expands_for(engine, &request, &wanted.vaults);
    let (expansion, warning) = expansion::expansion(engine, expand, &wanted.parsed, wanted.options.mode, cancel);
    wanted.parsed.warnings.extend(waits.or(warning));
    let mut vectors = vectors::vectors(engine);
    let served = serve(&mut wanted, hide, cancel)?;
    let Wanted { parsed, options, .. } = &wanted;
    let parts: Vec<Part<'_>> = served.iter().map(|served| served.part(parsed, options, &mut vectors)).collect();

    let (outside, unasked) = match asks_teams(engine, &request) {
        AsksTeams::Yes => ask_teams(engine, &wanted, &served, &mut vectors, cancel)?,
        AsksTeams::No => Default::default(),
        AsksTeams::NotAbout(note) => {
            let say =
                |team: String| format!("`{team}` was not asked: where `{note}` stands is computed of the vaults here");
            let teams = vaults::admitted_teams(engine, &wanted.parsed);
            (FoundOutside { teams: teams.clone(), ..FoundOutside::default() }, teams.into_iter().map(say).collect())
        }
    };
    let (rankings, outside) = search::rank_beside(&parts, outside)?;
    let mut rankings = expansion.blend(rankings, (&served, &parts), &mut vectors)?;
    let unjudged = rerank(&wanted, &served, &mut rankings, cancel)?;

    let mut answers = Vec::with_capacity(served.len());
    for ((served, part), ranking) in served.iter().zip(&parts).zip(rankings) {
        cancel.check()?;
        answers.push(served.answer(ranking, &part.options)?);
    }
    answers.push(outside.finish(options));
    let mut answer = search_answer(answers, options.limit, began);
    keep_above(wanted.min_score, &mut answer);
    if hide {
        include::leave_unseen_out(&mut answer.hits);
    }
    let cut = served.iter().filter_map(|served| served.cut_short(engine));
    let incomplete = served.iter().filter_map(|served| served.incomplete.clone());
    let empty = served.iter().filter(|_| answer.hits.is_empty() && !hide).filter_map(|s| s.vault.without_notes());
    answer.warnings.splice(0..0, incomplete.chain(empty));
    answer.warnings.extend(wanted.left_out.iter().cloned().chain(cut).chain(unasked).chain(unjudged).chain(unseen));
    say_more(engine, &request, &wanted, (&served, &parts), &mut answer, cancel)?;
    Ok(vectors.warn(answer))
}

/// Whether teams are asked beside the vaults.
enum AsksTeams<'a> {
    Yes,
    No,
    /// No, because the ranks of this note's chunks are asked for, and those of a team's are not known here.
    NotAbout(&'a str),
}

/// If a vault is named, only that one is asked. Of a team, only the generation that answers is published.
fn asks_teams<'a>(engine: &Handle, request: &'a SearchRequest) -> AsksTeams<'a> {
    match (request.vault.as_deref(), request.expect.as_deref()) {
        (Some(name), _) if !engine.names_team(name) => AsksTeams::No,
        (_, Some(note)) if engine.0.teams.note_named(note).is_none() => AsksTeams::NotAbout(note),
        _ => AsksTeams::Yes,
    }
}

/// The vaults that answer, each with one snapshot; what the words of the query stand for in them is looked up.
fn serve(wanted: &mut Wanted, hide: bool, cancel: &Cancel) -> Result<Vec<Served>, CallError> {
    let Wanted { vaults, options, parsed, .. } = wanted;
    let mut served = vaults.iter().map(|vault| Served::new(vault, hide)).collect::<Result<Vec<_>, _>>()?;
    if !options.contextual && options.mode != Mode::Lexical {
        for served in &mut served {
            parsed.warnings.extend(texts_alone::leave_contexts_out(served, cancel)?);
        }
    }
    if options.mode == Mode::Hybrid {
        let shown = served.iter().map(|served| (&*served.snapshot, served.hidden.as_deref()));
        parsed.understand(shown, options)?;
    }
    Ok(served)
}

/// What the teams find that are asked what the vaults are asked, and what is to be said of those that do not answer.
fn ask_teams(
    engine: &Handle,
    wanted: &Wanted,
    served: &[Served],
    vectors: &mut QueryVectors<'_>,
    cancel: &Cancel,
) -> Result<(FoundOutside, Vec<String>), CallError> {
    let Wanted { parsed, options, .. } = wanted;
    // The vector of the query as it was typed: a word may have been read as the name of a private note.
    let mut vector = |served: &Served| {
        let pipeline = &served.pipeline;
        Some((pipeline.service.embedder.identity().to_owned(), vectors.of(pipeline, &parsed.text())?))
    };
    let asked = engine.asks_teams() && options.mode != Mode::Lexical && parsed.has_text();
    let vector = served.iter().filter(|_| asked).find_map(&mut vector);
    engine.0.teams.ask(parsed, options, vector).wait(cancel)
}

/// Has the reranker judge the best of all vaults, if it is to. Returns why it does not, if it should.
fn rerank(
    wanted: &Wanted,
    served: &[Served],
    rankings: &mut [Ranking],
    cancel: &Cancel,
) -> Result<Option<String>, CallError> {
    let reranker = match &wanted.reranking {
        Reranking::Waits(why) => return Ok(Some(why.clone())),
        Reranking::Asked(reranker) if wanted.parsed.has_text() => reranker,
        Reranking::Asked(_) | Reranking::Nobody => return Ok(None),
    };
    let snapshots: Vec<_> = served.iter().map(|s| (s.snapshot.clone(), s.pipeline.private.clone())).collect();
    reranker.rerank(&wanted.parsed.text(), wanted.options.contextual, &snapshots, rankings, cancel)
}

/// Adds what an answer says beside its hits, and what the request would have its hits say besides.
fn say_more(
    engine: &Handle,
    request: &SearchRequest,
    wanted: &Wanted,
    (served, parts): (&[Served], &[Part<'_>]),
    answer: &mut SearchAnswer,
    cancel: &Cancel,
) -> Result<(), CallError> {
    include::add(&request.include, &mut answer.hits, served, cancel)?;
    for (served, _) in served.iter().zip(parts).filter(|(_, part)| part.query.filter.asks_nothing()) {
        answer.attachments.extend(attachments::named(served, &wanted.parsed.text()));
    }
    answer.time = wanted.time.as_ref().map(time_asked);
    if let Some(path) = request.expect.as_ref().filter(|_| request.audience == Audience::Owner) {
        answer.expected = Some(match engine.0.teams.note_named(path) {
            Some(named) => expect::of_team(named, &answer.hits),
            None => expect::expected(path, (served, parts), wanted, &answer.hits)?,
        });
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

/// Waits until everything that was saved before now is in these snapshots. Returns a warning if some of it may not be,
/// because work is paused or a vault could not be looked at.
pub(super) fn freshen(
    engine: &Handle,
    vaults: &[Arc<VaultShared>],
    cancel: &Cancel,
) -> Result<Option<String>, CallError> {
    let unless = |why: &str| Some(format!("not all of this is fresh: {why}"));
    if let Err(paused) = engine.check_pause() {
        return Ok(unless(&paused.to_string()));
    }
    let until = Instant::now() + FRESH_WITHIN;
    let only = vaults.first().filter(|_| vaults.len() == 1).map(|vault| vault.name.clone());
    let job = work::look_at(engine, Scope { vault: only, path: None }, vaults, false);
    while engine.wait_job(job, Duration::from_millis(100))?.is_running() {
        cancel.check()?;
        if engine.0.jobs.waits_for_emptied(job) {
            return Ok(unless("a note is empty that was not, and is perhaps being written"));
        }
        if Instant::now() > until {
            return Err(CallError::Timeout(FRESH_WITHIN.as_millis() as u64));
        }
    }
    let job = engine.job(job)?;
    let why = job.problem.unwrap_or_else(|| "some notes could not be indexed".to_owned());
    let fresh = job.state == JobState::Done && job.failed.is_empty();
    // What says that an answer is incomplete says why.
    let is_told = vaults.iter().any(|vault| vault.incomplete().is_some());
    Ok(if fresh || is_told { None } else { unless(&why) })
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
