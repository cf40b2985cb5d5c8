//! What each tool does: arguments in, calls of the daemon, a cleaned and sized result out.

mod reindex;
mod search;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::daemon::Trouble;
use super::params;
use super::results::{
    Answered, Cited, ContextStats, DaemonState, Generated, NamedNote, NoteLines, Omitted, RecentNotes, TRUST,
    VaultState,
};
use super::server::Caller;
use super::tools::Kind;
use super::{clean, show, size};

/// The result of a tool.
pub(super) struct Answer {
    /// For clients that show text alone.
    pub(super) text: String,
    /// As its schema says.
    pub(super) structured: Value,
}

impl Answer {
    fn new(text: String, structured: &impl Serialize) -> Result<Self, Trouble> {
        let structured =
            serde_json::to_value(structured).map_err(|_| Trouble::internal("a result has no JSON form"))?;
        Ok(Answer { text, structured })
    }
}

/// Carries a tool out.
pub(super) async fn answer(kind: Kind, arguments: Map<String, Value>, caller: &Caller) -> Result<Answer, Trouble> {
    match kind {
        Kind::SearchNotes => search::notes(read(arguments)?, caller).await,
        Kind::ContextualSearch => search::contextual(read(arguments)?, caller).await,
        Kind::RelatedNotes => search::related(read(arguments)?, caller).await,
        Kind::ReadNote => {
            let (note, text) = note(read(arguments)?, caller).await?;
            Answer::new(text, &note)
        }
        Kind::RecentNotes => recent(read(arguments)?, caller).await,
        Kind::Ask => ask(read(arguments)?, caller).await,
        Kind::VaultStatus => status(read(arguments)?, caller).await,
        Kind::GenerateContext => generate(read(arguments)?, caller).await,
        Kind::Reindex => reindex::start(read(arguments)?, caller).await,
        Kind::ReindexProgress => reindex::progress(&read(arguments)?, caller).await,
        Kind::ContextStats => stats(read(arguments)?, caller).await,
    }
}

fn read<T: DeserializeOwned>(arguments: Map<String, Value>) -> Result<T, Trouble> {
    serde_json::from_value(Value::Object(arguments)).map_err(|error| {
        // The message quotes what was sent, which may be a whole document.
        let why: String = error.to_string().chars().take(300).collect();
        Trouble::invalid(format!("the arguments do not fit: {why}"))
    })
}

fn text(value: &Value) -> String {
    clean::line(value.as_str().unwrap_or_default())
}

/// A path or a vault's name.
fn name(value: &Value) -> String {
    clean::name(value.as_str().unwrap_or_default())
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_default()
}

fn line(value: &Value) -> u32 {
    u32::try_from(number(value)).unwrap_or(u32::MAX)
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().map_or(&[][..], Vec::as_slice).iter().map(text).collect()
}

/// A vault as the daemon knows it.
fn vault(named: Option<&String>) -> Option<String> {
    named.map(|name| clean::named(name))
}

/// Lines of a note that fit, and their text form.
pub(super) async fn note(asked: params::Read, caller: &Caller) -> Result<(NoteLines, String), Trouble> {
    let params::Read { path, vault: of, line: from, lines, max_chars } = asked;
    let params = json!({
        "path": clean::named(&path), "vault": vault(of.as_ref()), "line": from, "lines": lines,
    });
    let note = caller.call("get", params).await?;
    let sent = clean::text(note["text"].as_str().unwrap_or_default());
    let (first, total) = (line(&note["line"]), line(&note["lines"]));
    let mut shown = NoteLines {
        trust: TRUST.to_owned(),
        vault: name(&note["vault"]),
        path: name(&note["path"]),
        title: size::cut(&text(&note["title"]), 300),
        text: String::new(),
        line: first,
        end_line: first,
        lines: total,
        modified: note["mtime"].as_i64().unwrap_or_default(),
        omitted: None,
    };
    // Both forms hold the text, and what was left out takes its place too.
    let room = size::limit(max_chars).saturating_sub(size::of(&shown) + show::note(&shown).len() + 300);
    let cost = |line: &str| size::of(&line) + line.chars().count() + show::NUMBERED;
    let (kept, count) = size::lines(&sent, room, &cost);
    let whole = kept.len() == sent.len();
    shown.end_line = first + (count as u32).saturating_sub(1);
    let rest = shown.end_line + 1;
    if !whole || (lines.is_none() && note["truncated"] == true && rest <= total) {
        let (what, how) = if kept.ends_with('…') {
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
    let text = show::note(&shown);
    Ok((shown, text))
}

async fn recent(asked: params::Recent, caller: &Caller) -> Result<Answer, Trouble> {
    let params = json!({ "vault": vault(asked.vault.as_ref()), "limit": asked.limit, "after": asked.after });
    let found = caller.call("recent", params).await?;
    let named = |note: &Value| NamedNote {
        vault: name(&note["vault"]),
        path: name(&note["path"]),
        title: size::cut(&text(&note["title"]), 200),
        tags: texts(&note["tags"]).into_iter().take(20).collect(),
        modified: note["mtime"].as_i64().unwrap_or_default(),
        bytes: number(&note["bytes"]),
    };
    let notes = found["notes"].as_array().map_or(&[][..], Vec::as_slice).iter().map(named).collect();
    let next = found["next"].as_str().map(str::to_owned);
    let recent = RecentNotes { trust: TRUST.to_owned(), notes, total: number(&found["total"]), next };
    Answer::new(show::recent(&recent), &recent)
}

async fn ask(asked: params::Ask, caller: &Caller) -> Result<Answer, Trouble> {
    let params = json!({
        "question": asked.question,
        "vault": vault(asked.vault.as_ref()),
        "filter": search::filter(asked.filters.as_ref()),
        "passages": asked.passages,
    });
    let answer = caller.call_told("ask", params).await?;
    let found = answer["found"] == true;
    let cite = |passage: &Value, quote: &str| Cited {
        n: number(&passage["n"]),
        vault: name(&passage["vault"]),
        path: name(&passage["path"]),
        title: size::cut(&text(&passage["title"]), 200),
        line: line(&passage["line"]),
        end_line: line(&passage["end_line"]),
        quote: clean::text(passage[quote].as_str().unwrap_or_default()),
    };
    let (list, quote) = if found { ("citations", "quote") } else { ("passages", "snippet") };
    let passages = answer[list].as_array().map_or(&[][..], Vec::as_slice);
    let mut answered = Answered {
        trust: TRUST.to_owned(),
        answer: clean::text(answer["answer"].as_str().unwrap_or_default()),
        found,
        citations: passages.iter().map(|passage| cite(passage, quote)).collect(),
        unfinished: answer["unfinished"].as_str().map(clean::line),
        model: format!("{} {}", text(&answer["provider"]), text(&answer["model"])),
        tokens: number(&answer["tokens_in"]) + number(&answer["tokens_out"]),
        micro_dollars: answer["micro_dollars"].as_u64(),
        warnings: texts(&answer["warnings"]),
        omitted: None,
    };
    let limit = size::limit(asked.max_chars);
    let with = |answered: &Answered, most: usize| {
        let mut shorter = answered.clone();
        for cited in &mut shorter.citations {
            cited.quote = size::cut(&cited.quote, most);
        }
        let cut = shorter.citations.iter().zip(&answered.citations).any(|(a, b)| a.quote != b.quote);
        shorter.omitted = cut.then(|| Omitted {
            what: "parts of the quotes".to_owned(),
            how: "`read_note` with path and line reads them".to_owned(),
        });
        shorter
    };
    let fits = |answered: &Answered| size::of(answered) + show::answer(answered).chars().count() <= limit;
    let most = size::longest(4_000, &|most| fits(&with(&answered, most)));
    answered = with(&answered, most.unwrap_or(100));
    while !fits(&answered) && answered.citations.pop().is_some() {
        let (what, how) = ("some citations", "a larger `max_chars`, or fewer `passages`, shows them");
        answered.omitted = Some(Omitted { what: what.to_owned(), how: how.to_owned() });
    }
    Answer::new(show::answer(&answered), &answered)
}

async fn generate(asked: params::Generate, caller: &Caller) -> Result<Answer, Trouble> {
    let title = asked.metadata.as_ref().and_then(|known| known.get("title")).and_then(Value::as_str);
    let params = json!({
        "chunk": asked.chunk, "document": asked.document, "title": title, "max_words": asked.max_words,
    });
    let made = caller.call("generate_context", params).await?;
    let whole = clean::text(made["contextualized"].as_str().unwrap_or_default());
    let mut generated = Generated {
        trust: TRUST.to_owned(),
        context: size::cut(&clean::text(made["context"].as_str().unwrap_or_default()), 4_000),
        contextualized_text: size::cut(&whole, size::USUAL / 2),
        quality: made["quality"].as_f64().unwrap_or_default() as f32,
        tokens: number(&made["tokens"]),
        micro_dollars: made["micro_dollars"].as_u64(),
        generation: text(&made["generation"]),
        omitted: None,
    };
    if generated.contextualized_text.len() < whole.len() {
        let (what, how) =
            ("the end of the passage", "the context stands before the passage, a blank line between them");
        generated.omitted = Some(Omitted { what: what.to_owned(), how: how.to_owned() });
    }
    let what = format!("A context by {}, quality {:.2}.", generated.generation, generated.quality);
    Answer::new(show::made(&what, &generated.context, generated.omitted.as_ref()), &generated)
}

async fn stats(asked: params::OfVault, caller: &Caller) -> Result<Answer, Trouble> {
    let stats = caller.call("stats", json!({ "vault": vault(asked.vault.as_ref()) })).await?;
    let share = |key: &str| stats[key].as_f64().unwrap_or_default();
    let told = ContextStats {
        total_chunks: number(&stats["total"]),
        contextualized_chunks: number(&stats["contextualized"]),
        processed_chunks: number(&stats["processed"]),
        failed_chunks: number(&stats["failed"]),
        percentage: share("percentage"),
        average_context_length: share("average_context_length"),
        average_quality: share("average_quality"),
        provider: text(&stats["provider"]),
        model: text(&stats["model"]),
        tokens: number(&stats["tokens"]),
        estimated_cost_dollars: number(&stats["micro_dollars"]) as f64 / 1e6,
        unpriced_contexts: number(&stats["unpriced"]),
        status: text(&stats["status"]),
    };
    let text = format!(
        "{} chunks, {} with a context that a model wrote ({} {}), {} as they should be, {} failed. {} tokens, about ${:.4}; {} of unknown price. {}.",
        told.total_chunks,
        told.contextualized_chunks,
        told.provider,
        told.model,
        told.processed_chunks,
        told.failed_chunks,
        told.tokens,
        told.estimated_cost_dollars,
        told.unpriced_contexts,
        told.status
    );
    Answer::new(text, &told)
}

async fn status(asked: params::OfVault, caller: &Caller) -> Result<Answer, Trouble> {
    let status = caller.call("status", json!({ "vault": vault(asked.vault.as_ref()) })).await?;
    let state = |(i, vault): (usize, &Value)| VaultState {
        name: name(&vault["name"]),
        default: i == 0 && asked.vault.is_none(),
        notes: number(&vault["notes"]),
        chunks: number(&vault["chunks"]),
        pending: number(&vault["pending"]),
        skipped: number(&vault["skipped_total"]),
        last_change: vault["last_change"].as_i64(),
    };
    let vaults = status["vaults"].as_array().map_or(&[][..], Vec::as_slice);
    let told = DaemonState {
        state: text(&status["state"]),
        vaults: vaults.iter().enumerate().map(state).collect(),
        problems: status["problems"].as_array().map_or(0, Vec::len) as u64,
        contexts_by: text(&status["contextualizer"]),
        vectors_by: text(&status["embedder"]),
        leaves_machine: texts(&status["leaves_machine"]),
        may_spend: caller.call("hello", json!({})).await?["assistants_may_spend"] == true,
        version: text(&status["version"]),
    };
    let vaults = told.vaults.iter().map(|v| format!("{} ({} notes, {} pending)", v.name, v.notes, v.pending));
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
    let text = format!("The daemon is {}. Vaults: {}. {leaves}{problems}", told.state, vaults.join(", "));
    Answer::new(text, &told)
}
