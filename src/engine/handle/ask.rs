//! Answers to questions: passages are searched for, a model is shown them, and its citations are made places again.

use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;

use super::super::questions::OnText;
use super::access::in_range;
use super::{CallError, Cancel, Handle, SearchRequest, permission};
use context::cost::Usage;
use context::models::Price;
use index::search::question;
use index::search::question::{Citations, MOST_QUESTION};
use protocol::ask::{AskAnswer, AskPassage, AskRequest, Citation};
use protocol::hit::Hit;
use protocol::search::{Expand, MAX_HITS};
use provider::ledger::Purpose;
use provider::{Account, Completion, Finish};

/// Passages of one question at most.
const MOST_PASSAGES: usize = 50;

/// Hits that are looked through for each passage: windows that say the same are left out.
const HITS_PER_PASSAGE: usize = 2;

/// See [`Handle::ask`].
pub(super) fn ask(
    engine: &Handle,
    request: AskRequest,
    cancel: &Cancel,
    on_text: OnText,
) -> Result<AskAnswer, CallError> {
    let began = Instant::now();
    let config = engine.0.config.load_full();
    let asked = request.question.trim();
    if asked.is_empty() {
        return Err(CallError::Invalid("`question` is empty".to_owned()));
    }
    if asked.chars().count() > MOST_QUESTION {
        return Err(CallError::Invalid(format!("`question` is longer than {MOST_QUESTION} characters")));
    }
    let most = in_range("passages", request.passages.unwrap_or(config.ask.passages), MOST_PASSAGES)?;
    // Before the search: there is no use in one if the model cannot be asked.
    let questioner = engine.0.questions.questioner(&config, &engine.0.provider)?;
    permission::may_spend(engine, request.audience, questioner.model.price != Price::Free, "an answer of the model")?;
    // The yes to who writes contexts is also one to `ask.model`, which has the same provider.
    permission::may_ask(engine, request.audience, "", &engine.choose(request.vault.as_deref())?)?;
    let leaves = questioner.leaves_to();
    let hide = leaves.is_some() || request.audience.is_assistant();
    let (hits, mut answer) = passages(engine, &request, most, hide, cancel)?;
    if let Some(host) = leaves.filter(|_| !request.audience.is_assistant() && permission::has_private(engine)) {
        for warning in &mut answer.warnings {
            if let Some(conditions) = warning.strip_prefix("no note meets ") {
                *warning = format!("no note that the model may be shown meets {conditions}");
            }
        }
        answer.warnings.push(format!("private notes were left out, for the model is at {host}"));
    }
    answer.provider = questioner.model.provider.name().to_owned();
    answer.model.clone_from(&questioner.model.id);
    answer.micro_dollars = Some(0);
    if hits.is_empty() {
        // There is nothing to answer from, and no model need be paid to say so.
        answer.took_ms = began.elapsed().as_secs_f64() * 1e3;
        return Ok(answer);
    }
    let (prompt, shown) = question::prompt(asked, &request.history, &hits, config.ask.max_tokens, &questioner.model);
    answer.passages.truncate(shown);
    if shown < hits.len() {
        answer.warnings.push(format!("only {shown} of {} passages fit into what the model takes", hits.len()));
    }
    let citations = Arc::new(Mutex::new((Citations::new(shown), String::new())));
    let show: OnText = {
        let (citations, on_text) = (citations.clone(), on_text.clone());
        Arc::new(move |piece: &str| {
            let mut read = citations.lock();
            let text = read.0.take(piece);
            if !text.is_empty() {
                read.1.push_str(&text);
                on_text(&text);
            }
        })
    };
    let account = Account::of(&engine.0.spender, Purpose::Ask);
    let (streamed, micro_dollars) = questioner.stream(&prompt, account, cancel, show.clone())?;
    let (cited, found, dropped) = {
        let mut read = citations.lock();
        let left = read.0.end();
        if !left.is_empty() {
            read.1.push_str(&left);
            on_text(&left);
        }
        answer.answer.clone_from(&read.1);
        (read.0.cited(), read.0.found(), read.0.dropped())
    };
    let usage = streamed.completion.usage;
    let is_silent = found && answer.answer.trim().is_empty();
    answer.unfinished = streamed.broken.or_else(|| unfinished(&streamed.completion, config.ask.max_tokens, is_silent));
    answer.found = found && !is_silent;
    let cited = cited.into_iter().filter_map(|n| answer.passages.get(n.checked_sub(1)?));
    answer.citations = cited.map(Citation::of).collect();
    if dropped > 0 {
        answer.warnings.push("the model cited passages that it was not shown; these numbers are removed".to_owned());
    }
    if answer.found && answer.citations.is_empty() {
        answer.warnings.push("the answer cites no passage: check it before you rely on it".to_owned());
    }
    answer.tokens_in = usage.tokens_in();
    (answer.tokens_cached, answer.tokens_out) = (usage.cache_read, usage.output);
    (answer.tokens_estimated, answer.micro_dollars) = (usage.estimated, micro_dollars);
    answer.took_ms = began.elapsed().as_secs_f64() * 1e3;
    Ok(answer)
}

/// What is lacking of an answer that came to an end.
fn unfinished(completion: &Completion, max_tokens: u32, is_silent: bool) -> Option<String> {
    let Usage { output, estimated, .. } = completion.usage;
    match completion.finish {
        // Counts differ a little between servers.
        Finish::Length if !estimated && output < u64::from(max_tokens) / 10 * 9 => Some(format!(
            "the model's window was full after {output} tokens: fewer `ask.passages` leave more of it, or a larger window \
             of the server"
        )),
        Finish::Length => {
            Some(format!("the answer reached its limit of {max_tokens} tokens; `ask.max_tokens` raises it"))
        }
        Finish::Refusal => Some("the model declined to answer".to_owned()),
        Finish::Broken => Some("the model ended without an answer, by an error or because it wanted a tool".to_owned()),
        Finish::Stop | Finish::Other => is_silent.then(|| "the model wrote no answer; ask again".to_owned()),
    }
}

/// The passages for a question, and an answer that lists them and says nothing yet.
fn passages(
    engine: &Handle,
    request: &AskRequest,
    most: usize,
    hide: bool,
    cancel: &Cancel,
) -> Result<(Vec<Hit>, AskAnswer), CallError> {
    // Whoever asks the model has it asked for other words too, if the configuration says so.
    let expand = request.expand.unwrap_or(engine.0.config.load().search.expand);
    let find = |query: &str, fresh: bool, again: bool| {
        let search = SearchRequest {
            query: query.to_owned(),
            vault: request.vault.clone(),
            limit: Some((most * HITS_PER_PASSAGE).min(MAX_HITS)),
            mode: request.mode,
            filter: request.filter.clone(),
            fresh,
            explain: request.explain,
            // Passages for the question before are not worth another call of a model.
            expand: Some(if again { Expand::Off } else { expand }),
            rerank: again.then_some(false),
            audience: request.audience,
            ..SearchRequest::default()
        };
        super::search::search_hiding(engine, search, hide, cancel)
    };
    let found = find(&request.question, request.fresh, false)?;
    let before = match request.history.last() {
        Some(turn) if !turn.question.trim().is_empty() => find(&turn.question, false, true)?.hits,
        _ => Vec::new(),
    };
    let hits = question::passages(found.hits, before, most);
    let passages = (1..).zip(&hits).map(|(n, hit)| AskPassage::of(n, hit)).collect();
    Ok((hits, AskAnswer { passages, seq: found.seq, warnings: found.warnings, ..AskAnswer::default() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_is_none_or_not_whole_says_so() {
        let cases = [
            (Finish::Stop, 4, false, ""),
            (Finish::Other, 4, false, ""),
            (Finish::Stop, 0, true, "wrote no answer"),
            (Finish::Other, 0, true, "wrote no answer"),
            (Finish::Broken, 4, false, "wanted a tool"),
            (Finish::Refusal, 4, false, "declined"),
            (Finish::Length, 1000, false, "`ask.max_tokens`"),
            (Finish::Length, 998, true, "`ask.max_tokens`"),
            (Finish::Length, 4, false, "window was full after 4 tokens"),
        ];
        for (finish, output, is_silent, said) in cases {
            let usage = Usage { output, ..Usage::default() };
            let (text, took) = (String::new(), std::time::Duration::ZERO);
            let completion = Completion { text, finish, usage, took, attempts: 1 };
            let told = unfinished(&completion, 1000, is_silent).unwrap_or_default();
            assert!(told.contains(said) && told.is_empty() == said.is_empty(), "{finish:?} {output}: {told}");
        }
    }
}
