//! Answers to questions: passages are searched for, a model is shown them, and its citations are made places again.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::super::questions::OnText;
use super::search::Served;
use super::vectors::QueryVectors;
use super::{Audience, CallError, Cancel, Handle, SearchRequest};
use context::models::Price;
use index::search;
use index::search::question;
use index::search::question::{Citations, MOST_QUESTION};
use index::search::{Parsed, Part, Ranking};
use protocol::ask::{AskAnswer, AskPassage, AskRequest, Citation};
use protocol::hit::Hit;
use protocol::search::{Expand, MAX_HITS, Mode};
use provider::ledger::Purpose;
use provider::{Account, Finish};

/// Passages of one question at most.
const MOST_PASSAGES: usize = 50;

/// Hits that are looked through for each passage: windows that say the same are left out.
const HITS_PER_PASSAGE: usize = 2;

/// How long a search waits for other words. Who searches would rather have the plain answer than a late one.
const EXPAND_WITHIN: Duration = Duration::from_secs(3);

impl Handle {
    /// Answers a question from the notes by the model of `[context]`; what of the answer can be shown goes to
    /// `on_text` as it comes, and all pieces together are the answer. Blocks for as long as the model takes.
    ///
    /// # Errors
    /// No model is configured, the budget does not allow it, the model fails before it has said anything, or `cancel`.
    pub fn ask(&self, request: AskRequest, cancel: &Cancel, on_text: OnText) -> Result<AskAnswer, CallError> {
        let began = Instant::now();
        let config = self.0.config.load_full();
        let asked = request.question.trim();
        if asked.is_empty() {
            return Err(CallError::Invalid("`question` is empty".to_owned()));
        }
        if asked.chars().count() > MOST_QUESTION {
            return Err(CallError::Invalid(format!("`question` is longer than {MOST_QUESTION} characters")));
        }
        let most = request.passages.unwrap_or(config.ask.passages);
        if most == 0 || most > MOST_PASSAGES {
            return Err(CallError::Invalid(format!("`passages` must be 1 to {MOST_PASSAGES}, not {most}")));
        }
        // Before the search: who cannot be asked need not be searched for.
        let questioner = self.0.questions.questioner(&config, &self.0.provider)?;
        self.may_spend(request.audience, questioner.model.price != Price::Free, "an answer of the model")?;
        let leaves = questioner.leaves_to();
        let hide = leaves.is_some() || request.audience.is_assistant();
        let (hits, mut answer) = self.passages(&request, most, hide, cancel)?;
        if let Some(host) = leaves.filter(|_| !request.audience.is_assistant() && self.has_private()) {
            answer.warnings.push(format!("private notes were left out, for the model is at {host}"));
        }
        answer.provider = questioner.model.provider.name().to_owned();
        answer.model.clone_from(&questioner.model.id);
        answer.micro_dollars = Some(0);
        if hits.is_empty() {
            // There is nothing to answer from: nobody need be paid to say so.
            answer.took_ms = began.elapsed().as_secs_f64() * 1e3;
            return Ok(answer);
        }
        let (prompt, shown) =
            question::prompt(asked, &request.history, &hits, config.ask.max_tokens, &questioner.model);
        answer.passages.truncate(shown);
        if shown < hits.len() {
            answer.warnings.push(format!("only {shown} of {} passages fit into what the model takes", hits.len()));
        }
        let citations = Arc::new(Mutex::new((Citations::new(shown), String::new())));
        let show: OnText = {
            let citations = citations.clone();
            Arc::new(move |piece: &str| {
                let mut read = citations.lock();
                let text = read.0.take(piece);
                if !text.is_empty() {
                    read.1.push_str(&text);
                    on_text(&text);
                }
            })
        };
        let account = Account::of(&self.0.spender, Purpose::Ask);
        let (streamed, micro_dollars) = questioner.stream(&prompt, account, cancel, show.clone())?;
        let (cited, found, dropped) = {
            let mut read = citations.lock();
            let left = read.0.end();
            read.1.push_str(&left);
            answer.answer.clone_from(&read.1);
            (read.0.cited(), read.0.found(), read.0.dropped())
        };
        let usage = streamed.completion.usage;
        answer.unfinished = streamed.broken.or_else(|| match streamed.completion.finish {
            Finish::Length => Some(format!(
                "the answer reached its limit of {} tokens; `ask.max_tokens` raises it",
                config.ask.max_tokens
            )),
            Finish::Refusal => Some("the model declined to answer".to_owned()),
            Finish::Stop | Finish::Other => None,
        });
        // A model that says nothing at all has found nothing.
        answer.found = found && !answer.answer.is_empty();
        let cited = cited.into_iter().filter_map(|n| answer.passages.get(n.checked_sub(1)?));
        answer.citations = cited.map(Citation::of).collect();
        if dropped > 0 {
            answer
                .warnings
                .push("the model cited passages that it was not shown; these numbers are removed".to_owned());
        }
        if answer.found && answer.citations.is_empty() {
            answer.warnings.push("the answer cites no passage: check it before you rely on it".to_owned());
        }
        answer.tokens_in = usage.input + usage.cache_read + usage.cache_write;
        (answer.tokens_cached, answer.tokens_out) = (usage.cache_read, usage.output);
        (answer.tokens_estimated, answer.micro_dollars) = (usage.estimated, micro_dollars);
        answer.took_ms = began.elapsed().as_secs_f64() * 1e3;
        Ok(answer)
    }

    /// The passages for a question, and an answer that lists them and says nothing yet.
    fn passages(
        &self,
        request: &AskRequest,
        most: usize,
        hide: bool,
        cancel: &Cancel,
    ) -> Result<(Vec<Hit>, AskAnswer), CallError> {
        let find = |query: &str, fresh: bool, again: bool| {
            let search = SearchRequest {
                query: query.to_owned(),
                vault: request.vault.clone(),
                limit: Some((most * HITS_PER_PASSAGE).min(MAX_HITS)),
                mode: request.mode,
                filter: request.filter.clone(),
                fresh,
                explain: request.explain,
                // What only reminds of the question before is not worth another model.
                expand: if again { Some(Expand::Off) } else { request.expand },
                rerank: again.then_some(false),
                audience: request.audience,
                ..SearchRequest::default()
            };
            self.search_hiding(search, hide, cancel)
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

    /// Whether searches ask a model for other words unless they say otherwise.
    pub fn expands(&self) -> bool {
        let config = self.0.config.load();
        config.search.expand != Expand::Off && config.context.costs()
    }

    /// What a model may add to a query: nothing that costs, for an assistant that may not spend. A search that does
    /// without is one all the same, so that is no error.
    pub(super) fn expands_for(&self, audience: Audience, wanted: Option<Expand>) -> Option<Expand> {
        let config = self.0.config.load_full();
        let costs = || {
            !self.0.questions.questioner(&config, &self.0.provider).is_ok_and(|asked| asked.model.price == Price::Free)
        };
        let barred = audience.is_assistant() && !config.assistants_may_spend && costs();
        if barred { Some(Expand::Off) } else { wanted }
    }

    /// Other words for a query, if they are wanted and a model has some in time; else a warning why there are none.
    pub(super) fn expansion(
        &self,
        wanted: Option<Expand>,
        query: &Parsed,
        mode: Mode,
        cancel: &Cancel,
    ) -> (Expansion, Option<String>) {
        let config = self.0.config.load_full();
        let expand = wanted.unwrap_or(config.search.expand);
        // Conditions stay here; a passage of the model's own can only be compared by meaning.
        let text = query.text();
        if expand == Expand::Off || text.trim().is_empty() || (expand == Expand::Hyde && mode == Mode::Lexical) {
            return (Expansion::default(), None);
        }
        let found = self.0.questions.questioner(&config, &self.0.provider).and_then(|questioner| {
            let model = questioner.model.id.as_str();
            if let Some(known) = self.0.questions.known(model, expand, &text) {
                return Ok(known);
            }
            let Some(prompt) = question::expansion_prompt(&text, expand, &questioner.model) else {
                return Ok(Vec::new());
            };
            let account = Account::of(&self.0.spender, Purpose::Expand);
            // The search itself needs its time too.
            let within = EXPAND_WITHIN.min(config.query_timeout / 2);
            let completion = questioner.complete(&prompt, account, cancel, within)?;
            let phrasings = question::phrasings(&text, expand, &completion.text);
            if !phrasings.is_empty() {
                self.0.questions.remember(model, expand, &text, phrasings.clone());
            }
            Ok(phrasings)
        });
        match found {
            Ok(texts) if texts.is_empty() => {
                (Expansion::default(), Some("the query was not expanded: the model had no other words".to_owned()))
            }
            Ok(texts) => (Expansion { expand, texts }, None),
            Err(error) => (Expansion::default(), Some(format!("the query was not expanded: {error}"))),
        }
    }
}

/// What a model added to a query.
#[derive(Debug, Default)]
pub(super) struct Expansion {
    expand: Expand,
    texts: Vec<String>,
}

impl Expansion {
    /// Searches for what was added too, in all parts and under the conditions of the query itself, and blends what is found
    /// into its rankings.
    pub(super) fn blend(
        &self,
        rankings: Vec<Ranking>,
        (served, parts): (&[Served], &[Part<'_>]),
        vectors: &mut QueryVectors<'_>,
    ) -> Result<Vec<Ranking>, CallError> {
        let mut others: Vec<Vec<Ranking>> = parts.iter().map(|_| Vec::with_capacity(self.texts.len())).collect();
        for text in &self.texts {
            let again = served.iter().zip(parts).map(|(served, part)| self.part(text, served, part, vectors));
            let found = search::rank_together(&again.collect::<Vec<_>>())?;
            others.iter_mut().zip(found).for_each(|(others, found)| others.push(found));
        }
        let blended = rankings.into_iter().zip(parts).zip(others);
        Ok(blended.map(|((ranking, part), others)| ranking.blended(part.snapshot, others)).collect())
    }

    /// A part of the query that asks for other words.
    fn part<'a>(&self, text: &str, served: &Served, part: &Part<'a>, vectors: &mut QueryVectors<'_>) -> Part<'a> {
        let mut part = part.clone();
        text.clone_into(&mut part.query.words);
        part.query.warnings.clear();
        if self.expand == Expand::Hyde {
            part.options.mode = Mode::Dense;
        }
        part.vector = if part.options.mode == Mode::Lexical { None } else { vectors.of(&served.pipeline, text) };
        part
    }
}
