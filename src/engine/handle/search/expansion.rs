//! Other words for a query, from a model, and the searches with them.

use std::sync::Arc;
use std::time::Duration;

use super::super::access::Served;
use super::super::vectors::QueryVectors;
use super::super::{CallError, Cancel, Handle, SearchRequest, VaultShared, permission};
use context::models::Price;
use index::search;
use index::search::question;
use index::search::{Parsed, Part, Ranking};
use protocol::search::{Expand, Mode};
use provider::Account;
use provider::ledger::Purpose;

/// How long a search waits for other words. Users would rather have the plain answer than a late one.
const EXPAND_WITHIN: Duration = Duration::from_secs(3);

/// What a model may add to a query: nothing before the user has agreed to the model, except by asking for it in the
/// request, and for an assistant nothing that costs unless it may spend. A search works without it, so that is no error;
/// the user is told. Nor is a model asked about each letter of a query that is being typed.
pub(super) fn expands_for(
    engine: &Handle,
    request: &SearchRequest,
    vaults: &[Arc<VaultShared>],
) -> (Expand, Option<String>) {
    let config = engine.0.config.load_full();
    let wanted = request.expand.unwrap_or(if request.prefix { Expand::Off } else { config.search.expand });
    if wanted == Expand::Off || (request.expand.is_some() && !request.audience.is_assistant()) {
        return (wanted, None);
    }
    if !request.audience.is_assistant() {
        let waits = permission::waits_for_yes(engine, "", vaults);
        let warning = |waits| format!("the query was not expanded: {waits}");
        return waits.map_or((wanted, None), |waits| (Expand::Off, Some(warning(waits))));
    }
    let costs = || {
        !engine.0.questions.questioner(&config, &engine.0.provider).is_ok_and(|asked| asked.model.price == Price::Free)
    };
    let barred =
        (!config.assistants_may_spend && costs()) || permission::may_ask(engine, request.audience, "", vaults).is_err();
    (if barred { Expand::Off } else { wanted }, None)
}

/// Other words for a query, if they are wanted and a model has some in time; else a warning why there are none.
pub(super) fn expansion(
    engine: &Handle,
    expand: Expand,
    query: &Parsed,
    mode: Mode,
    cancel: &Cancel,
) -> (Expansion, Option<String>) {
    let config = engine.0.config.load_full();
    // Conditions are not sent. A passage that the model makes up can only be compared by meaning.
    let text = query.text();
    if expand == Expand::Off || text.trim().is_empty() || (expand == Expand::Hyde && mode == Mode::Lexical) {
        return (Expansion::default(), None);
    }
    let found = engine.0.questions.questioner(&config, &engine.0.provider).and_then(|questioner| {
        let model = questioner.model.id.as_str();
        if let Some(known) = engine.0.questions.known(model, expand, &text) {
            return Ok(known);
        }
        let Some(prompt) = question::expansion_prompt(&text, expand, &questioner.model) else {
            return Ok(Vec::new());
        };
        let account = Account::of(&engine.0.spender, Purpose::Expand);
        // The search itself needs its time too.
        let within = EXPAND_WITHIN.min(config.search.query_timeout / 2);
        let completion = questioner.complete(&prompt, account, cancel, within)?;
        let phrasings = question::phrasings(&text, expand, &completion.text);
        if !phrasings.is_empty() {
            engine.0.questions.remember(model, expand, &text, phrasings.clone());
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

/// What a model added to a query.
#[derive(Debug, Default)]
pub(super) struct Expansion {
    expand: Expand,
    texts: Vec<String>,
}

impl Expansion {
    /// Searches for what was added too, in all parts and under the conditions of the query itself, and blends what is
    /// found into its rankings.
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

    /// The same part of the search, with other words.
    fn part<'a>(&self, text: &str, served: &Served, part: &Part<'a>, vectors: &mut QueryVectors<'_>) -> Part<'a> {
        let mut part = Part { query: part.query.rephrased(text), ..part.clone() };
        if self.expand == Expand::Hyde {
            part.options.mode = Mode::Dense;
        }
        part.vector = if part.options.mode == Mode::Lexical { None } else { vectors.of(&served.pipeline, text) };
        part
    }
}
