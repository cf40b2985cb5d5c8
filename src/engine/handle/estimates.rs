//! What writing contexts would take, estimated from the records of notes.

use std::sync::Arc;

use super::{CallError, Handle};
use crate::VaultShared;
use crate::decide::NotePipeline;
use crate::indexer::rebuild::{Covered, is_stale};
use context::ContextRecord;
use context::cost::{self, Asking, NoteSize, dollars};
use context::plan::Reason;
use context::settings::Provider;
use index::{Row, Snapshot};
use note::fingerprint::context_key;
use protocol::contexts::{Estimate, Offer, OfferedWork};
use protocol::jobs::{Job, JobKind, Scope};
use provider::settings::BudgetConfig;
use store::record::{ChunkRecord, NoteRecord};

/// Chunks of a vault that are sampled for the number of tokens per byte.
const SAMPLE: usize = 256;

/// Tokens of a context before a chunk, as it is embedded: a long one of the template, a usual one of a model.
const TEMPLATE_TOKENS: f64 = 40.0;
const CONTEXT_TOKENS: f64 = 70.0;

/// Which contexts an estimate is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// All that a model may write.
    All,
    /// Of those, the ones that are not as they should be.
    Stale,
    /// Of all, the ones that no generation of the vault has of this model.
    Unbought,
    /// Those that another generation wrote.
    Old,
    /// Of those, the ones that were paid for.
    OldPaid,
    /// What is asked for once the user has agreed: what is due or stale, and what has a free context.
    AtFirst,
}

/// What writing the contexts of these notes by a generation's model would take; `None` if they are free.
pub(super) fn estimate(
    engine: &Handle,
    generation: &str,
    pipelines: &[Arc<NotePipeline>],
    covered: &Covered,
    wanted: Wanted,
    batch: bool,
) -> Result<Option<Estimate>, CallError> {
    let config = engine.0.config.load();
    let Some(context) = config.context_of(generation) else { return Ok(None) };
    let generations = engine.0.generations.load();
    let Some(writer) = generations.get(generation).and_then(|runtime| runtime.writer.as_ref()) else {
        return Ok(None);
    };
    let leaves = writer.author.client.leaves_to().is_some();
    let mut sizes = Vec::new();
    for pipeline in pipelines {
        let covers = |record: &NoteRecord| {
            covered.has(pipeline, &record.path, &record.tags) && !pipeline.leaves_out_for(record, leaves)
        };
        let all = engine.0.all_indexers().into_iter().filter(|_| wanted == Wanted::Unbought);
        let archives: Vec<_> =
            all.filter_map(|vault| vault.pipeline()).filter(|other| other.root == pipeline.root).collect();
        for note in pipeline.store.notes()?.iter().filter(|record| covers(record)) {
            let asks = matches!(wanted, Wanted::OldPaid | Wanted::AtFirst) && note.chunks.iter().any(is_old);
            let contexts = if asks { pipeline.store.contexts(&note.path)? } else { Vec::new() };
            let mut open = Vec::new();
            if !archives.is_empty() {
                let by = writer.author.prompter.generation(note.kind.as_deref());
                for chunk in &note.chunks {
                    open.push(!is_bought(&archives, note, chunk, &by)?);
                }
            }
            sizes.extend(size(note, &contexts, &open, wanted));
        }
    }
    let asking = Asking {
        model: &writer.author.model,
        config: context,
        tokens_per_byte: tokens_per_byte(snapshots(engine).iter()),
        batch,
    };
    Ok(Some(cost::estimate(sizes, &asking)))
}

/// The vectors of a generation that is built of a vault, if an embedder that takes time or money makes them: of all texts
/// if it is new, and of those that get a model's context, which are so many `chunks`, once more.
pub(super) fn vectors(
    engine: &Handle,
    generation: &str,
    (vault, pipeline): (&VaultShared, &NotePipeline),
    is_new: bool,
    chunks: u64,
) -> Result<Option<Offer>, CallError> {
    let service = &pipeline.service;
    if service.worker.is_none() {
        return Ok(None);
    }
    let notes: Vec<NoteRecord> =
        pipeline.store.notes()?.into_iter().filter(|note| !pipeline.withholds_vectors(note)).collect();
    let all = || notes.iter().flat_map(|note| &note.chunks);
    let (count, bytes) = (all().count() as f64, all().map(bytes).sum::<u64>() as f64);
    let twice = if service.makes_text_vectors() { 2.0 } else { 1.0 };
    let text = twice * bytes * tokens_per_byte(snapshots(engine).iter()) / count.max(1.0);
    let config = engine.0.config.load();
    let is_off = config.context_of(generation).is_some_and(|context| context.provider == Provider::None);
    let first = if is_new { count * (text + if is_off { 0.0 } else { TEMPLATE_TOKENS }) } else { 0.0 };
    let tokens = (first + chunks as f64 * (text + CONTEXT_TOKENS)).ceil() as u64;
    let embed = service.config();
    Ok((tokens > 0).then(|| Offer {
        vault: vault.name.clone(),
        what: OfferedWork::Vectors,
        provider: embed.provider.name().to_owned(),
        model: embed.model().to_owned(),
        leaves_to: service.embedder.leaves_to(),
        agreed: true,
        estimate: service.estimate(notes.len() as u64, tokens),
        ..Offer::default()
    }))
}

/// What a rebuild of so many vaults would take, and whether its budget, which each of them has, covers that.
pub(super) fn dry_run(
    engine: &Handle,
    kind: JobKind,
    scope: Scope,
    notes: Option<u64>,
    (estimate, vaults): (Option<Estimate>, usize),
) -> Job {
    let budget = &engine.0.config.load().budget;
    let problem = estimate.as_ref().and_then(|estimate| over_budget(estimate, budget, vaults as u64));
    Job { problem, ..Job::dry_run(kind, scope, notes, estimate) }
}

fn over_budget(estimate: &Estimate, budget: &BudgetConfig, vaults: u64) -> Option<String> {
    let tokens = estimate.tokens_in + estimate.tokens_out;
    let (key, takes, may) = match estimate.micro_dollars {
        Some(micro) if micro > budget.rebuild.saturating_mul(vaults) => {
            ("budget.rebuild", dollars(micro), dollars(budget.rebuild))
        }
        None if tokens > budget.rebuild_tokens.saturating_mul(vaults) => {
            ("budget.rebuild_tokens", format!("{tokens} tokens"), budget.rebuild_tokens.to_string())
        }
        _ => return None,
    };
    let each = if vaults > 1 { " for each vault" } else { "" };
    Some(format!(
        "it may take about {takes}, and `{key}` is {may}{each}: it ends unfinished when that is spent; raise it and reload, \
         or rebuild a folder at a time"
    ))
}

/// The indexes that answer.
fn snapshots(engine: &Handle) -> Vec<Arc<Snapshot>> {
    let vaults = engine.0.vaults.load();
    vaults.iter().filter_map(|vault| vault.snapshot()).collect()
}

/// Tokens per byte of the notes, by a sample of their chunks: the number depends on the script.
fn tokens_per_byte<'a>(snapshots: impl Iterator<Item = &'a Arc<Snapshot>>) -> f64 {
    let (mut tokens, mut bytes) = (0, 0);
    for snapshot in snapshots {
        for row in (0..snapshot.rows()).step_by(snapshot.rows().div_ceil(SAMPLE).max(1)) {
            // A row may be free, and the lexical index may lag.
            let Ok(text) = snapshot.text(row as Row) else { continue };
            tokens += u64::from(cost::estimate_tokens(&text.text, 1.0));
            bytes += text.text.len() as u64;
        }
    }
    if bytes == 0 { cost::LATIN } else { tokens as f64 / bytes as f64 }
}

fn bytes(chunk: &ChunkRecord) -> u64 {
    u64::from(chunk.span.1.saturating_sub(chunk.span.0))
}

fn is_old(chunk: &ChunkRecord) -> bool {
    chunk.later == Some(Reason::ContextualizerChanged)
}

/// Whether one of these has a context that a model of this generation wrote for a chunk.
fn is_bought(
    archives: &[Arc<NotePipeline>],
    note: &NoteRecord,
    chunk: &ChunkRecord,
    by: &str,
) -> Result<bool, CallError> {
    let key = context_key(&chunk.keys, chunk.hash);
    for archive in archives {
        if archive.written_by(archive.claimant(note), key, by)?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A note as far as an estimate needs it; `None` if nothing in it is to be written. `open`: its chunks without a context
/// that was bought.
fn size(note: &NoteRecord, contexts: &[ContextRecord], open: &[bool], wanted: Wanted) -> Option<NoteSize> {
    let paid = |i: usize| contexts.get(i).is_some_and(ContextRecord::is_paid);
    let is_wanted = |(i, chunk): &(usize, &ChunkRecord)| match wanted {
        Wanted::All => true,
        Wanted::Stale => is_stale(chunk),
        Wanted::Unbought => open.get(*i).is_none_or(|open| *open),
        Wanted::Old => is_old(chunk),
        Wanted::OldPaid => is_old(chunk) && paid(*i),
        Wanted::AtFirst => {
            let stale = matches!(chunk.later, Some(Reason::Drifted | Reason::ContextFailed));
            chunk.due.is_some() || stale || (is_old(chunk) && !paid(*i))
        }
    };
    let chunks = note.chunks.iter().enumerate().filter(|(_, chunk)| chunk.wanted);
    let wanted: Vec<u64> = chunks.filter(is_wanted).map(|(_, chunk)| bytes(chunk)).collect();
    let size = NoteSize { bytes: note.stat.size, chunks_in_note: note.chunks.len() as u32, wanted };
    (!size.wanted.is_empty()).then_some(size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_beyond_the_budget_of_a_rebuild_says_so() {
        let budget = BudgetConfig { rebuild: 1000, rebuild_tokens: 100, ..BudgetConfig::default() };
        let over = |micro_dollars, tokens_in, vaults| {
            over_budget(&Estimate { micro_dollars, tokens_in, ..Estimate::default() }, &budget, vaults)
        };
        assert_eq!((over(Some(1000), 500, 1), over(None, 100, 1), over(Some(2000), 0, 2)), (None, None, None));
        assert!(over(Some(1001), 0, 1).is_some_and(|said| said.contains("`budget.rebuild` is $0.001:")));
        assert!(over(None, 101, 1).is_some_and(|said| said.contains("`budget.rebuild_tokens` is 100:")));
        assert!(over(Some(2001), 0, 2).is_some_and(|said| said.contains("for each vault")));
    }
}
