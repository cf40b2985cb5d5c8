//! What each tool does: arguments in, calls of the daemon, a cleaned and sized result out.

pub(super) mod grep;
pub(super) mod names;
pub(super) mod reindex;
pub(super) mod search;

use std::pin::Pin;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::caller::Caller;
use super::daemon::Trouble;
use super::params;
use super::resources::{self, Named};
use super::results::{
    Answered, Cited, ContextStats, DaemonState, Generated, NamedNote, NoteLines, Omitted, RecentNotes, TRUST,
    VaultState,
};
use super::{clean, show, size};
use protocol::ask::{AskRequest, Citation};
use protocol::contexts::{GenerateRequest, StatsRequest};
use protocol::daemon::HelloRequest;
use protocol::note::{GetRequest, RecentNote, RecentRequest};
use protocol::params::read_arguments;
use protocol::status::{StatusRequest, VaultStatus};

/// The result of a tool.
pub(super) struct ToolResult {
    /// For clients that show text.
    pub(super) text: String,
    /// As its schema says; `None` if the tool's result is only text.
    pub(super) structured: Option<Value>,
}

impl ToolResult {
    fn new(text: String, structured: &impl Serialize) -> Result<Self, Trouble> {
        let structured =
            serde_json::to_value(structured).map_err(|_| Trouble::internal("a result has no JSON form"))?;
        Ok(ToolResult { text, structured: Some(structured) })
    }
}

/// Runs a tool with its arguments as they came.
pub(super) type Run = for<'a> fn(Map<String, Value>, &'a Caller) -> BoxFuture<'a>;

/// A running tool.
pub(super) type BoxFuture<'a> = Pin<Box<dyn Future<Output = Result<ToolResult, Trouble>> + Send + 'a>>;

/// Reads the arguments of a tool. An unknown one is an error: it would have no effect, and the caller would not know.
pub(super) fn read<T: DeserializeOwned + JsonSchema>(arguments: Map<String, Value>) -> Result<T, Trouble> {
    read_arguments(arguments).map_err(Trouble::invalid)
}

/// The number as the daemon writes it: 33.3, and not 33.299999…, which is the exact value of the `f32`.
fn decimal(number: f32) -> f64 {
    number.to_string().parse().unwrap_or_else(|_| f64::from(number))
}

fn lines(texts: &[String]) -> Vec<String> {
    texts.iter().map(|text| clean::line(text)).collect()
}

/// The name of a vault as the daemon knows it.
fn vault(named: Option<&String>) -> Option<String> {
    named.map(|name| clean::named(name))
}

/// `read_note`. It gives text only: with a structured form of the note, the same text would appear twice.
pub(super) async fn read_note(asked: params::Read, caller: &Caller) -> Result<ToolResult, Trouble> {
    let note = note(asked, caller).await?;
    Ok(ToolResult { text: show::note(&note), structured: None })
}

/// Those lines of a note that fit into the result.
pub(super) async fn note(asked: params::Read, caller: &Caller) -> Result<NoteLines, Trouble> {
    let params::Read { path, vault: of, line: from, lines, links, max_chars } = asked;
    if from == Some(0) || lines == Some(0) {
        return Err(Trouble::invalid("`line` counts from 1, and `lines` is 1 or more"));
    }
    let limit = size::limit(max_chars)?;
    let Named { vault, path, lines: of_hit } = resources::named_now(&path, of.as_ref(), caller).await?;
    let (from, lines) = match (from, of_hit) {
        (None, Some((first, last))) => (Some(first), lines.or(last.map(|last| last - first + 1))),
        _ => (from, lines),
    };
    let note = caller.call(GetRequest { path, vault, line: from, lines, links, ..GetRequest::default() }).await?;
    let sent = clean::text(&note.text);
    let (first, total) = (note.line, note.lines);
    if first > total.max(1) {
        let why = format!("`line` is {first}, and the note has {total} lines: leave `line` out, or give a smaller one");
        return Err(Trouble::invalid(why));
    }
    let mut shown = NoteLines {
        vault: clean::name(&note.vault),
        path: clean::name(&note.path),
        title: size::cut(&clean::line(&note.title), 300),
        text: String::new(),
        line: first,
        end_line: first,
        lines: total,
        linked: None,
        omitted: None,
    };
    // The remark about what was left out takes room, too.
    let room = |shown: &NoteLines| limit.saturating_sub(show::note(shown).chars().count() + 300);
    let for_links = room(&shown) / 3;
    shown.linked = note.links.as_ref().zip(note.backlinks.as_ref()).map(|both| names::linked(both, for_links));
    let room = room(&shown);
    let cost = |line: &str| line.chars().count() + show::NUMBERED;
    let (kept, count) = size::lines(&sent, room, &cost);
    let (whole, is_cut) = (kept.len() == sent.len(), !sent.starts_with(&kept));
    shown.end_line = first + (count as u32).saturating_sub(1);
    let rest = shown.end_line + 1;
    if !whole || (lines.is_none() && note.truncated && rest <= total) {
        let (what, how) = if is_cut && rest > total {
            (format!("the rest of line {first}"), "`max_chars` takes more of it".to_owned())
        } else if is_cut {
            (
                format!("the rest of line {first}, and what follows"),
                format!("`max_chars` takes more of it; `line: {rest}` goes on"),
            )
        } else {
            (format!("lines {rest} to {total}"), format!("`read_note` with `line: {rest}` goes on"))
        };
        shown.omitted = Some(Omitted { what, how });
    }
    shown.text = kept;
    Ok(shown)
}

/// `recent_notes`.
pub(super) async fn recent(asked: params::Recent, caller: &Caller) -> Result<ToolResult, Trouble> {
    let (vault, limit, after) = (vault(asked.vault.as_ref()), asked.limit, asked.after);
    let found = caller.call(RecentRequest { vault, limit, after, ..RecentRequest::default() }).await?;
    let named = |note: &RecentNote| NamedNote {
        vault: clean::name(&note.vault),
        path: clean::name(&note.path),
        title: size::cut(&clean::line(&note.title), 200),
        tags: note.tags.iter().take(20).map(|tag| clean::line(tag)).collect(),
        modified: note.mtime,
        bytes: note.bytes,
    };
    let notes = found.notes.iter().map(named).collect();
    let recent = RecentNotes { trust: TRUST.to_owned(), notes, total: found.total, next: found.next };
    ToolResult::new(show::recent(&recent), &recent)
}

/// `ask`.
pub(super) async fn ask(asked: params::Ask, caller: &Caller) -> Result<ToolResult, Trouble> {
    let limit = size::limit(asked.max_chars)?;
    let request = AskRequest {
        question: asked.question,
        vault: vault(asked.vault.as_ref()),
        filter: search::filter(asked.filters.as_ref()),
        passages: asked.passages,
        ..AskRequest::default()
    };
    let answer = caller.call_told(request).await?;
    let cite = |citation: &Citation| Cited {
        n: citation.n as u64,
        vault: clean::name(&citation.vault),
        path: clean::name(&citation.path),
        title: size::cut(&clean::line(&citation.title), 200),
        line: citation.line,
        end_line: citation.end_line,
        match_line: citation.best_line(),
        quote: clean::text(&citation.quote),
    };
    let citations = if answer.found {
        answer.citations.iter().map(cite).collect()
    } else {
        answer.passages.iter().map(|passage| cite(&Citation::of(passage))).collect()
    };
    let mut answered = Answered {
        trust: TRUST.to_owned(),
        answer: clean::text(&answer.answer),
        found: answer.found,
        citations,
        unfinished: answer.unfinished.as_deref().map(clean::line),
        model: format!("{} {}", clean::line(&answer.provider), clean::line(&answer.model)),
        tokens: answer.tokens_in + answer.tokens_out,
        micro_dollars: answer.micro_dollars,
        warnings: lines(&answer.warnings),
        omitted: None,
    };
    let with = |answered: &Answered, most: usize| {
        let mut shorter = answered.clone();
        for cited in &mut shorter.citations {
            cited.quote = size::cut(&cited.quote, most);
        }
        let cut = shorter.citations.iter().zip(&answered.citations).any(|(a, b)| a.quote != b.quote);
        let how = "`read_note` with path and line reads them";
        shorter.omitted = cut.then(|| Omitted::new("parts of the quotes", how));
        shorter
    };
    let fits = |answered: &Answered| size::of(&show::answer(answered), answered) <= limit;
    let most = size::longest(4_000, &|most| fits(&with(&answered, most)));
    answered = with(&answered, most.unwrap_or(100));
    while !fits(&answered) && answered.citations.pop().is_some() {
        let how = "a larger `max_chars`, or fewer `passages`, shows them";
        answered.omitted = Some(Omitted::new("some citations", how));
    }
    ToolResult::new(show::answer(&answered), &answered)
}

/// `generate_context_for_chunk`.
pub(super) async fn generate(asked: params::Generate, caller: &Caller) -> Result<ToolResult, Trouble> {
    let params::Metadata { title, note_type, tags } = asked.metadata.unwrap_or_default();
    let (chunk, document, max_words) = (asked.chunk, asked.document, asked.max_words);
    let request = GenerateRequest { chunk, document, title, note_type, tags, max_words, ..GenerateRequest::default() };
    let made = caller.call(request).await?;
    let whole = clean::text(&made.contextualized);
    let mut generated = Generated {
        trust: TRUST.to_owned(),
        context: size::cut(&clean::text(&made.context), 4_000),
        success: true,
        contextualized: size::cut(&whole, size::USUAL / 2),
        quality_score: decimal(made.quality),
        token_count: made.tokens,
        micro_dollars: made.micro_dollars,
        generation: clean::line(&made.generation),
        omitted: None,
    };
    if generated.contextualized.len() < whole.len() {
        let how = "the context stands before the passage, a blank line between them";
        generated.omitted = Some(Omitted::new("the end of the passage", how));
    }
    let what = format!("A context by {}, quality {:.2}.", generated.generation, generated.quality_score);
    ToolResult::new(show::made(&what, &generated.context, generated.omitted.as_ref()), &generated)
}

/// `get_contextual_retrieval_stats`.
pub(super) async fn stats(asked: params::OfVault, caller: &Caller) -> Result<ToolResult, Trouble> {
    let request = StatsRequest { vault: vault(asked.vault.as_ref()), ..StatsRequest::default() };
    let stats = caller.call(request).await?;
    let told = ContextStats {
        total_entities: stats.total,
        contextualized_entities: stats.contextualized,
        processed_chunks: stats.processed,
        failed_chunks: stats.failed,
        percentage: decimal(stats.percentage),
        average_context_length: decimal(stats.average_context_words),
        average_quality: decimal(stats.average_quality),
        llm_provider: clean::line(&stats.provider),
        model: clean::line(&stats.model),
        total_tokens_used: stats.tokens,
        // What has no known price is not said to cost nothing.
        estimated_cost: (stats.micro_dollars > 0 || stats.unpriced == 0).then_some(stats.micro_dollars as f64 / 1e6),
        unpriced_contexts: stats.unpriced,
        status: reindex::status(&stats.status).replace("idle", "ready"),
    };
    let by = if told.model.is_empty() { String::new() } else { format!(" ({} {})", told.llm_provider, told.model) };
    let cost = told.estimated_cost.map_or_else(String::new, |cost| format!(", about ${cost:.4}"));
    let text = format!(
        "{} chunks, {} with a context that a model wrote{by}, {} as they should be, {} failed. {} tokens{cost}; {} of unknown price. {}.",
        told.total_entities,
        told.contextualized_entities,
        told.processed_chunks,
        told.failed_chunks,
        told.total_tokens_used,
        told.unpriced_contexts,
        told.status
    );
    ToolResult::new(text, &told)
}

/// `vault_status`.
pub(super) async fn status(asked: params::OfVault, caller: &Caller) -> Result<ToolResult, Trouble> {
    let request = StatusRequest { vault: vault(asked.vault.as_ref()), ..StatusRequest::default() };
    let status = caller.call(request).await?;
    let welcome = caller.call(HelloRequest::default()).await?;
    let state = |vault: &VaultStatus| VaultState {
        name: clean::name(&vault.name),
        default: welcome.vaults.iter().any(|known| known.default && known.name == vault.name),
        notes: vault.notes,
        chunks: vault.chunks,
        pending: vault.pending,
        skipped: vault.skipped_total,
        last_change: vault.last_change,
    };
    let told = DaemonState {
        state: status.state.to_string(),
        vaults: status.vaults.iter().map(state).collect(),
        problems: status.problems.len() as u64,
        contexts_by: clean::line(&status.contextualizer),
        vectors_by: clean::line(&status.embedder),
        leaves_machine: lines(&status.leaves_machine),
        may_spend: welcome.assistants_may_spend,
        version: clean::line(&status.version),
    };
    let vaults = told
        .vaults
        .iter()
        .map(|v| format!("{} ({} notes, {} chunks, {} pending)", v.name, v.notes, v.chunks, v.pending));
    let leaves = if told.leaves_machine.is_empty() {
        "Nothing leaves the machine.".to_owned()
    } else {
        format!("Leaves the machine: {}.", told.leaves_machine.join("; "))
    };
    let vaults: Vec<String> = vaults.collect();
    let problems = match told.problems {
        0 => String::new(),
        n => format!(" Problems: {n}; the user sees them with `situated status`."),
    };
    let spend = if told.may_spend {
        "may spend money"
    } else {
        "may not spend money, except a search on the vector of its query, if the embedder costs"
    };
    let text = format!(
        "The daemon is {}. Vaults: {}. Contexts by {}, vectors by {}. {leaves} These tools {spend}.{problems}",
        told.state,
        vaults.join(", "),
        told.contexts_by,
        told.vectors_by
    );
    ToolResult::new(text, &told)
}
