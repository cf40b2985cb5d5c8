//! `situated doctor --provider`: asks the configured model one tiny question and says what came of it. No daemon
//! is needed; what is asked about is a note of our own, so nothing of the user's is sent.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::json;

use super::super::money::{dated, price, tokens};
use super::super::print::{Out, bold, dim, green, millis, printable_lines, red, yellow};
use super::super::session::{CliFailure, Session, safe};
use super::exit;
use crate::daemon::config::{Config, ConfigErrors};
use crate::daemon::serve::bind::{BindError, DataLock};
use context::cost::{cost, dollars};
use context::document::Document;
use context::models::{Model, Price};
use context::prompt::{Prompt, Prompter, captions};
use context::quality::{Ending, Flaw, Scores, Verdict, judge};
use context::settings::ContextConfig;
use note::chunk::{ChunkConfig, Strategy};
use note::{NoteRules, VaultPath};
use provider::ledger::{self, BudgetLimits, Ledger, Purpose};
use provider::{
    Account, Completion, CompletionClient, Failure, FailureKind, Finish, KeyPlace, ProviderRuntime, Spender,
    Unanswered, key_place,
};

/// The longest wait for an answer at a terminal; the daemon may wait longer.
const PATIENCE: Duration = Duration::from_mins(1);

/// The note that is asked about. Its second sentence cannot be understood without the first.
const NOTE: &str = "# Harbour lantern\n\nMira repairs the green lantern of the Sandholm harbour on 14 May 2026.\n\n\
    ## Spare parts\n\nShe ordered two lenses for it from the workshop in Veddel, because the old ones are cracked.\n";

/// Cuts the note at its headings, so that there is something around the passage.
const CUT: ChunkConfig = ChunkConfig { strategy: Strategy::Obsidian, target: 30, min: 1, max: 200, overlap_percent: 0 };

/// What was found.
#[derive(Debug, Serialize)]
struct Report {
    /// Whether the model answered and its text may be used.
    ok: bool,
    provider: &'static str,
    model: String,
    /// Whether the table of models or the configuration knows it.
    known: bool,
    /// Micro-dollars per million tokens read and written; absent if free or not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    rates: Option<[u64; 2]>,
    free: bool,
    price_as_of: Option<String>,
    /// The address that is asked.
    address: String,
    /// Whether what is asked leaves this machine.
    leaves_machine: bool,
    key: KeyPlace,
    /// Why the call is not in the ledger, if it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_in_ledger: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<ModelAnswer>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<Failed>,
}

/// What came back.
#[derive(Debug, Serialize)]
struct ModelAnswer {
    took_ms: f64,
    attempts: u32,
    tokens_in: u64,
    tokens_cached: u64,
    tokens_out: u64,
    /// Whether the tokens are estimated, because the provider did not report them.
    estimated: bool,
    /// Absent if the price is not known.
    micro_dollars: Option<u64>,
    /// As the model wrote it.
    text: String,
    taken: bool,
    quality: f32,
    #[serde(skip_serializing_if = "Option::is_none")]
    scores: Option<Scores>,
    #[serde(skip_serializing_if = "Option::is_none")]
    flaw: Option<Flaw>,
}

/// Why nothing came back.
#[derive(Debug, Serialize)]
struct Failed {
    kind: &'static str,
    message: String,
    hint: &'static str,
}

/// `situated doctor --provider`.
pub(super) fn run(session: &mut Session) -> Result<u8, CliFailure> {
    let config = session.config()?.config;
    if !config.engine.context.costs() {
        let json = json!({ "ok": true, "provider": config.engine.context.provider.name() });
        let why = "no provider is configured (`context.provider`), so nobody was asked and nothing leaves this machine";
        session.print(json, |out| {
            out.line(format!("{} contexts are the free template's", green("●")))?;
            out.wrapped("  ", why)
        })?;
        return Ok(exit::OK);
    }
    let report = examine(&config)?;
    session.print(json!(report), |out| print(&report, out))?;
    Ok(match (&report.failure, report.ok) {
        (Some(_), _) => exit::UNREACHABLE,
        (None, true) => exit::OK,
        (None, false) => exit::NOTHING,
    })
}

/// Builds the client that the daemon would build, and asks the model.
fn examine(config: &Config) -> Result<Report, CliFailure> {
    let wrong = |message: String| CliFailure::new(ConfigErrors::EXIT_CODE, message);
    let context = ContextConfig {
        deadline: config.engine.context.deadline.min(PATIENCE),
        timeout: config.engine.context.timeout.min(PATIENCE),
        ..config.engine.context.clone()
    };
    let model = provider::model(&context).map_err(wrong)?;
    let client = CompletionClient::new(&context, &model).map_err(wrong)?;
    let mut report = introduced(&context, &model, client.leaves_to());
    let document = document()?;
    // The last passage is the one that needs the note to be understood.
    let passage = document.passages.last().ok_or_else(|| CliFailure::new(exit::INTERNAL, "the note has no passage"))?;
    let prompt = Prompter::new(&context, &model).ask_simply(&document, passage.n);
    let (ledger, _lock) = match books(config) {
        Ok((ledger, lock)) => (ledger, Some(lock)),
        Err(why) => {
            report.not_in_ledger = Some(why);
            // What the budget has left is known even so, unless nobody can read it.
            let beside = Ledger::beside(&ledger::folder(&config.engine.data_dir));
            (beside.unwrap_or_else(|_| Ledger::in_memory()), None)
        }
    };
    let limits = BudgetLimits { day: config.engine.budget.day, day_tokens: config.engine.budget.day_tokens };
    match ask(client, prompt.clone(), &Spender::new(ledger, limits))? {
        Ok(completion) => {
            let text =
                captions(&prompt, &completion.text).into_iter().find_map(|(_, caption)| Some(caption.ok()?.text));
            let verdict = text.as_deref().map_or(Verdict::Rejected { flaw: Flaw::Missing, score: 0.0 }, |text| {
                judge(text, ending(completion.finish), &document, passage)
            });
            report.ok = matches!(verdict, Verdict::Taken { .. });
            report.answer = Some(answer(&completion, verdict, &model));
        }
        Err(failure) => report.failure = Some(failed(failure)),
    }
    Ok(report)
}

/// What is known before anything is asked.
fn introduced(context: &ContextConfig, model: &Model, leaves_to: Option<String>) -> Report {
    let rates = match &model.price {
        Price::Tokens(rates) => Some(rates),
        Price::Unknown | Price::Free => None,
    };
    let here = || context.base_url.clone().unwrap_or_else(|| "this machine".to_owned());
    Report {
        ok: false,
        provider: model.provider.name(),
        model: model.id.clone(),
        known: model.known,
        rates: rates.map(|rates| [rates.input, rates.output]),
        free: model.price == Price::Free,
        price_as_of: rates.map(|rates| rates.as_of.clone()),
        leaves_machine: leaves_to.is_some(),
        address: leaves_to.unwrap_or_else(here),
        key: key_place(context.provider.into(), &context.key)
            .unwrap_or_else(|| KeyPlace { place: "none is needed".to_owned(), found: None }),
        not_in_ledger: None,
        answer: None,
        failure: None,
    }
}

/// The built-in note as the model sees it.
fn document() -> Result<Document, CliFailure> {
    let path = VaultPath::parse("Harbour lantern.md").ok_or_else(|| CliFailure::new(exit::INTERNAL, "no such path"))?;
    let note = note::parse(&path, NOTE.as_bytes(), &NoteRules::default());
    let chunks = index::chunk::cut(&note, &CUT);
    Ok(Document::new(&note, &chunks))
}

/// The daemon's ledger, with the lock that keeps a daemon from writing to it at the same time; or why it cannot be
/// opened.
fn books(config: &Config) -> Result<(Ledger, DataLock), String> {
    let lock = DataLock::acquire(&config.engine.data_dir).map_err(|error| match error {
        BindError::AlreadyRunning { .. } => "a daemon keeps it, so `situated cost` will not show this call".to_owned(),
        error => format!("it cannot be had ({error}), so `situated cost` will not show this call"),
    })?;
    let ledger = Ledger::open(&ledger::folder(&config.engine.data_dir))
        .map_err(|error| format!("it cannot be read ({error}), so `situated cost` will not show this call"))?;
    Ok((ledger, lock))
}

/// One call, within the day's budget. The outer error is not the provider's.
fn ask(
    client: CompletionClient,
    prompt: Prompt,
    spender: &Arc<Spender>,
) -> Result<Result<Completion, Failure>, CliFailure> {
    let account = Account::of(spender, Purpose::Probe);
    let runtime = ProviderRuntime::new(|| {});
    let handle = runtime.urgent().map_err(|why| CliFailure::new(exit::INTERNAL, why))?;
    match handle.block_on(async move { client.complete(&prompt, &account).await }) {
        Ok(completion) => Ok(Ok(completion)),
        Err(Unanswered::Provider(failure)) => Ok(Err(failure)),
        Err(Unanswered::Budget(refused)) => {
            Err(CliFailure::new(exit::TEMPORARY, format!("nobody was asked: {refused}")))
        }
    }
}

fn ending(finish: Finish) -> Ending {
    match finish {
        Finish::Length | Finish::Broken => Ending::Cut,
        Finish::Refusal => Ending::Refused,
        Finish::Stop | Finish::Other => Ending::Whole,
    }
}

fn answer(completion: &Completion, verdict: Verdict, model: &Model) -> ModelAnswer {
    let usage = completion.usage;
    let (taken, quality, scores, flaw) = match verdict {
        Verdict::Taken { score, scores, .. } => (true, score, Some(scores), None),
        Verdict::Rejected { flaw, score } => (false, score, None, Some(flaw)),
    };
    ModelAnswer {
        took_ms: completion.took.as_secs_f64() * 1000.0,
        attempts: completion.attempts,
        tokens_in: usage.tokens_in(),
        tokens_cached: usage.cache_read,
        tokens_out: usage.output,
        estimated: usage.estimated,
        micro_dollars: cost(&model.price, &usage, false),
        text: completion.text.trim().to_owned(),
        taken,
        quality,
        scores,
        flaw,
    }
}

fn failed(failure: Failure) -> Failed {
    let (kind, hint) = match failure.kind {
        FailureKind::Unauthorized => (
            "unauthorized",
            "the key is missing, wrong or without the right: put one into a file with mode 0600 and name it in \
             `context.key_file`",
        ),
        FailureKind::UnknownModel => ("unknown_model", "the provider does not know the model: see `context.model`"),
        FailureKind::SpendLimit => {
            ("spend_limit", "the account's own limit or bill stops it: look at the provider's console")
        }
        FailureKind::TooLong => ("too_long", "the model takes only very short prompts: choose another"),
        FailureKind::Rejected => (
            "rejected",
            "the provider refuses the request: see `context.model`, `context.base_url` and `context.api_version`",
        ),
        FailureKind::Unavailable => (
            "unavailable",
            "it was not reached or did not answer: see `context.base_url`, the network, and whether it runs",
        ),
        FailureKind::Cancelled => ("cancelled", "try again"),
    };
    Failed { kind, message: failure.message, hint }
}

fn print(report: &Report, out: &mut Out) -> std::io::Result<()> {
    let (dot, health) = match (&report.failure, report.ok) {
        (Some(_), _) => (red("●"), "no answer"),
        (None, true) => (green("●"), "the model answers, and what it writes can be used"),
        (None, false) => (yellow("●"), "the model answers, but what it writes cannot be used"),
    };
    out.line(format!("{dot} {}", bold(health)))?;
    let mut row = |name: &str, value: String| out.row("  ", name, 10, &value);
    row("provider", report.provider.to_owned())?;
    let known = if report.known { "" } else { " (not in the table of models: careful guesses)" };
    row("model", format!("{}{known}", safe(&report.model)))?;
    row("price", prices(report))?;
    let leaves = if report.leaves_machine { "; what is asked leaves this machine" } else { " (this machine)" };
    row("address", format!("{}{leaves}", safe(&report.address)))?;
    let found = match report.key.found {
        Some(true) => ", found",
        Some(false) if report.leaves_machine => ", not there",
        Some(false) => ", not there (a server of this machine may need none)",
        None => "",
    };
    row("key", format!("{}{found}", safe(&report.key.place)))?;
    if let Some(why) = &report.not_in_ledger {
        row("ledger", safe(why))?;
    }
    if let Some(answer) = &report.answer {
        let attempts = if answer.attempts > 1 { format!(", {} attempts", answer.attempts) } else { String::new() };
        row("latency", format!("{}{attempts}", millis(answer.took_ms)))?;
        let estimated = if answer.estimated { " (estimated: the provider does not tell)" } else { "" };
        let used = tokens(answer.tokens_in, answer.tokens_cached, answer.tokens_out);
        row("tokens", format!("{used}{estimated}"))?;
        row("cost", price(answer.micro_dollars, answer.tokens_in.saturating_add(answer.tokens_out)))?;
        row("verdict", verdict(answer))?;
    }
    if let Some(failure) = &report.failure {
        row("problem", safe(&failure.message))?;
        row("to do", failure.hint.to_owned())?;
    }
    if let Some(answer) = &report.answer {
        out.line("")?;
        out.wrapped("  ", &printable_lines(&answer.text))?;
        out.line(dim("  (about a note of our own: nothing of yours was sent)"))?;
    }
    Ok(())
}

fn prices(report: &Report) -> String {
    match (report.rates, report.free, &report.price_as_of) {
        (Some([input, output]), _, as_of) => format!(
            "{} per million tokens read, {} written{}",
            dollars(input),
            dollars(output),
            as_of.as_deref().map_or(String::new(), |as_of| format!(" ({})", dated(as_of)))
        ),
        (None, true, _) => "free".to_owned(),
        (None, false, _) => {
            format!("unknown: calls count in tokens; give the price in `[context.models.\"{}\"]`", safe(&report.model))
        }
    }
}

fn verdict(answer: &ModelAnswer) -> String {
    match answer.flaw {
        None => format!("quality {:.2}", answer.quality),
        Some(flaw) => format!("rejected: {}", flaw.said()),
    }
}

#[cfg(test)]
mod tests;
