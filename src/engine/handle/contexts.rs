//! What the handle tells of contexts that a model writes, and what they cost.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tokio::sync::oneshot::{self, error::TryRecvError};

use super::access::{in_range, read, ready};
use super::estimates::{Wanted, estimate};
use super::{CallError, Cancel, Handle, VaultShared, offers, permission, vectors};
use crate::counters::Counts;
use crate::decide::NotePipeline;
use crate::indexer::rebuild::Covered;
use crate::now_s;
use crate::own_text::{AdHocContext, OwnChunk, capped};
use crate::patience::LOOK;
use crate::writer::Writer;
use context::models::Price;
use context::plan::{DRIFT_BELOW, Reason};
use context::settings::ContextConfig;
use context::{ContextRecord, Spent, Template};
use note::chunk::compared;
use protocol::audience::Audience;
use protocol::contexts::{Estimate, GenerateRequest, GeneratedContext, ReviewRequest, Reviewed, Stats};
use protocol::jobs::{Job, JobKind};
use protocol::status::{ContextStatus, RunState};
use store::record::NoteRecord;

/// Contexts that are reviewed at most.
const MOST_REVIEWED: usize = 1000;

/// Who wrote a context that a team had.
const OF_TEAM: &str = "a model of the team";

/// The generation that answers.
pub(super) fn answering(engine: &Handle) -> String {
    engine.0.vaults.load().first().map_or_else(String::new, |vault| vault.generation.clone())
}

/// The settings of the generation that answers.
fn settings(engine: &Handle) -> ContextConfig {
    let config = engine.0.config.load();
    config.context_of(&answering(engine)).unwrap_or(&config.context).clone()
}

/// The writer of its contexts, if a model writes them.
fn writer(engine: &Handle) -> Option<Writer> {
    engine.0.generations.load().get(&answering(engine)).and_then(|runtime| runtime.writer.clone())
}

/// State of contexts in `vaults`, for `status`.
pub(super) fn context_status(engine: &Handle, vaults: &[Arc<VaultShared>]) -> ContextStatus {
    let context = settings(engine);
    let counts = vaults.iter().map(|vault| *vault.counts.lock());
    let sum = counts.fold(Counts::default(), |sum, counts| sum.plus(counts));
    let renewal = if sum.old > 0 { renewal(engine, vaults, sum.old) } else { None };
    ContextStatus {
        provider: context.provider.name().to_owned(),
        model: if context.costs() { context.model().to_owned() } else { String::new() },
        wanted: if context.costs() { sum.wanted } else { 0 },
        waiting: sum.due,
        old_generation: sum.old,
        drifted: sum.drifted,
        failed: sum.failed,
        held: engine.0.model_problem(),
        offers: offers::waiting(engine, vaults),
        renewal,
        synced_at: vaults.iter().filter_map(|vault| *vault.synced_at.lock()).min(),
    }
}

/// What making old contexts of `vaults` anew would take; estimated once for each state of the index, since it reads the
/// store.
fn renewal(engine: &Handle, vaults: &[Arc<VaultShared>], old: u64) -> Option<Estimate> {
    let seqs: Vec<(u64, u64)> = vaults.iter().map(|vault| (vault.id, vault.status.lock().seq)).collect();
    let state = (old, seqs);
    let mut known = engine.0.reckoned.renewal.lock();
    if let Some((of, estimate)) = &*known
        && *of == state
    {
        return Some(estimate.clone());
    }
    let pipelines: Vec<_> = vaults.iter().filter_map(|vault| vault.pipeline()).collect();
    let estimate =
        estimate(engine, &answering(engine), &pipelines, &Covered::default(), Wanted::Old, false).ok().flatten()?;
    *known = Some((state, estimate.clone()));
    Some(estimate)
}

/// What leaves this machine: to where, and what.
pub(super) fn leaves_machine(engine: &Handle) -> Vec<String> {
    let generations = engine.0.generations.load();
    let writers = generations.values().filter_map(|runtime| runtime.writer.as_ref());
    let to: BTreeSet<String> = writers.filter_map(|writer| writer.author.client.leaves_to()).collect();
    let mut said: Vec<String> =
        to.into_iter().map(|host| format!("text of notes, to {host}, which writes contexts")).collect();
    said.extend(vectors::embedders_leave(engine));
    said.extend(engine.0.teams.leave());
    said.extend(engine.0.reranker.load().as_ref().and_then(|reranker| reranker.leaves()));
    if let Some(host) = engine.0.questions.leaves_to(&engine.0.config.load(), &engine.0.provider) {
        said.push(format!("what you `ask`, with the passages found for it, to {host}"));
        if engine.expands() {
            said.push(format!("queries, to {host}, for other words (`search.expand`)"));
        }
    }
    said
}

/// See [`Handle::stats`].
pub(super) fn stats(engine: &Handle, vault: Option<&str>, audience: Audience) -> Result<Stats, CallError> {
    let covered = Covered { audience, ..Covered::default() };
    let context = settings(engine);
    let mut stats = Stats {
        provider: context.provider.name().to_owned(),
        model: if context.costs() { context.model().to_owned() } else { String::new() },
        status: "idle".to_owned(),
        ..Stats::default()
    };
    let (mut chars, mut words, mut quality) = (0_usize, 0_usize, 0.0_f64);
    for vault in engine.choose(vault)? {
        let (_, pipeline) = ready(&vault)?;
        let notes = pipeline.store.notes()?.into_iter();
        for note in notes.filter(|note| covered.has(&pipeline, &note.path, &note.tags)) {
            stats.total += note.chunks.len() as u64;
            for (chunk, context) in note.chunks.iter().zip(pipeline.store.contexts(&note.path)?) {
                stats.processed += u64::from(chunk.due.is_none() && chunk.later.is_none());
                stats.failed += u64::from(chunk.later == Some(Reason::ContextFailed));
                if context.is_paid() {
                    stats.contextualized += 1;
                    chars += context.text.chars().count();
                    words += context.text.split_whitespace().count();
                    quality += f64::from(context.quality);
                    let Spent { tokens_in, tokens_out, micro_dollars, .. } = context.spent;
                    stats.tokens = stats.tokens.saturating_add(tokens_in).saturating_add(tokens_out);
                    stats.micro_dollars = stats.micro_dollars.saturating_add(micro_dollars.unwrap_or(0));
                    stats.unpriced += u64::from(micro_dollars.is_none());
                }
            }
        }
    }
    if stats.contextualized > 0 {
        stats.average_context_length = chars as f32 / stats.contextualized as f32;
        stats.average_context_words = words as f32 / stats.contextualized as f32;
        stats.average_quality = (quality / stats.contextualized as f64) as f32;
    }
    if stats.total > 0 {
        stats.percentage = stats.processed as f32 / stats.total as f32 * 100.0;
    }
    stats.outcomes = writer(engine).map_or_else(BTreeMap::new, |writer| writer.author.outcomes.all());
    running(engine, &mut stats);
    Ok(stats)
}

fn running(engine: &Handle, stats: &mut Stats) {
    let is_run = |job: &Job| job.kind == JobKind::Rebuild && job.is_running();
    let progress = engine.0.jobs.all().into_iter().find(is_run).and_then(|job| job.contexts);
    let vaults = engine.0.vaults.load();
    let waiting = vaults.iter().any(|vault| vault.counts.lock().due > 0);
    let unagreed = vaults.iter().any(|vault| vault.report().unagreed);
    if let Some(progress) = progress {
        (stats.elapsed_s, stats.remaining_s) = (Some(progress.elapsed_s), progress.remaining_s);
    }
    let state = engine.0.state().0;
    let status = match () {
        () if state == RunState::Paused => "paused",
        () if engine.0.model_problem().is_some() => "held",
        () if progress.is_some() => "running",
        () if waiting && unagreed => "held",
        () if waiting => "running",
        () => "idle",
    };
    status.clone_into(&mut stats.status);
}

/// See [`Handle::generate_context`].
pub(super) fn generate_context(
    engine: &Handle,
    request: GenerateRequest,
    cancel: &Cancel,
) -> Result<GeneratedContext, CallError> {
    if request.chunk.trim().is_empty() {
        return Err(CallError::Invalid("`chunk` is empty".to_owned()));
    }
    let Some(writer) = writer(engine) else {
        if settings(engine).costs() {
            return Err(CallError::Provider("the model cannot be asked: see `situated status`".to_owned()));
        }
        let pipeline = engine.0.vaults.load().iter().find_map(|vault| vault.pipeline());
        let rules = pipeline.map(|pipeline| pipeline.chunk.clone()).unwrap_or_default();
        let own = OwnChunk::find(&request, &rules)?;
        let context = capped(&Template::new(&own.note).context(&own.chunks[own.at]), request.max_words);
        return Ok(GeneratedContext {
            contextualized: format!("{context}\n\n{}", request.chunk.trim()),
            context,
            quality: 1.0,
            tokens: 0,
            micro_dollars: Some(0),
            generation: context::TEMPLATE.to_owned(),
        });
    };
    let costs = writer.author.model.price != Price::Free;
    permission::may_spend(engine, request.audience, costs, "a context that the model writes")?;
    permission::may_ask(engine, request.audience, &answering(engine), &engine.0.vaults.load())?;
    let (reply, mut answer) = oneshot::channel();
    writer.write_for(AdHocContext { asked: request, reply });
    loop {
        match answer.try_recv() {
            Ok(answer) => return answer,
            Err(TryRecvError::Closed) => return Err(CallError::Stopping),
            Err(TryRecvError::Empty) => cancel.check()?,
        }
        std::thread::sleep(LOOK);
    }
}

/// See [`Handle::review`].
pub(super) fn review(engine: &Handle, request: &ReviewRequest) -> Result<Vec<Reviewed>, CallError> {
    let sample = in_range("sample", request.sample.unwrap_or(50), MOST_REVIEWED)?;
    let mut found: Vec<(Arc<NotePipeline>, Arc<VaultShared>, NoteRecord, usize, ContextRecord)> = Vec::new();
    for vault in engine.choose(request.vault.as_deref())? {
        let (_, pipeline) = ready(&vault)?;
        for note in pipeline.store.notes()? {
            for (i, context) in pipeline.store.contexts(&note.path)?.into_iter().enumerate() {
                if context.is_paid() {
                    found.push((pipeline.clone(), vault.clone(), note.clone(), i, context));
                }
            }
        }
    }
    // By a hash of chunk and day: another sample tomorrow, the same one when asked twice.
    let day = now_s() / 86_400;
    found.sort_by_cached_key(|(_, _, note, i, _)| {
        note::fingerprint::text_hash(format!("{day} {} {i}", note.path).as_bytes())
    });
    found.truncate(sample);
    let review = |(pipeline, vault, note, i, context): &(
        Arc<NotePipeline>,
        Arc<VaultShared>,
        NoteRecord,
        usize,
        ContextRecord,
    )| {
        let chunk = note.chunks.get(*i)?;
        let text = read(vault, &note.path, pipeline.max_note_bytes).ok()?.ok()?;
        let parsed = note::parse(&note.path, &text.bytes, &pipeline.rules);
        let span = chunk.span.0 as usize..chunk.span.1 as usize;
        let text = parsed.text.get(span.clone())?;
        Some(Reviewed {
            vault: vault.name.clone(),
            path: note.path.to_string(),
            heading_path: chunk.heading_path.clone(),
            lines: chunk.lines,
            chunk: text.to_owned(),
            context: context.text.clone(),
            questions: context.expansion.questions.clone(),
            terms: context.expansion.terms.clone(),
            generation: if context.is_given() { OF_TEAM.to_owned() } else { context.generation.clone() },
            quality: context.quality,
            scores: context.making.map(|making| making.scores),
            drifted: context.sketch.left_in(&compared(&parsed, &span)) < DRIFT_BELOW,
        })
    };
    Ok(found.iter().filter_map(review).collect())
}
