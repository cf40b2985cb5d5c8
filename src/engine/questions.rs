//! Questions that somebody waits for, to the model of `[context]`: about the notes, or for other words for a query.
//!
//! They have a client and a thread of their own, so that a batch of contexts under way does not stand before them; the
//! budget and the ledger are the same. What is made is made when it is first needed, and anew when the configuration
//! has changed.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use super::report::{CallError, Cancel};
use crate::config::{BudgetConfig, Config};
use crate::context::cost::{self, Usage, dollars};
use crate::context::models::Model;
use crate::context::prompt::Prompt;
use crate::context::settings::ContextConfig;
use crate::llm::{self, Client, Completion, Failure, FailureKind, Streamed};
use crate::plan::Reason;
use crate::search::question::Expand;
use crate::store::ledger::{Ask, Ledger, Limits, Purpose, Refused, Settled};

/// How often it is looked whether whoever asked has gone.
const LOOK: Duration = Duration::from_millis(20);

/// Queries whose phrasings are remembered.
const REMEMBERED: usize = 256;

/// Is given the text of an answer as it comes.
pub type OnText = Arc<dyn Fn(&str) + Send + Sync>;

type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A query as it was expanded: by which model, in which way.
type Known = (String, Expand, String);

/// Who answers questions, once somebody has asked one.
#[derive(Default)]
pub(super) struct Questions {
    made: Mutex<Option<Arc<Questioner>>>,
    /// Phrasings, the latest last. In memory alone: nobody's queries are on the disk.
    known: Mutex<VecDeque<(Known, Vec<String>)>>,
}

impl Questions {
    /// Who answers under a configuration.
    ///
    /// # Errors
    /// No model is configured, or it cannot be asked.
    pub(super) fn questioner(&self, config: &Config) -> Result<Arc<Questioner>, CallError> {
        let answerer = config.answerer();
        if !answerer.costs() {
            return Err(CallError::NotConfigured(
                "no model is configured that could answer: set `context.provider` to \"ollama\", \"anthropic\", \
                 \"openai\" or \"bedrock\" (with `context.automatic = false` it only answers, and writes no contexts)"
                    .to_owned(),
            ));
        }
        let mut made = locked(&self.made);
        if let Some(questioner) = made.as_ref().filter(|questioner| questioner.config == answerer) {
            return Ok(questioner.clone());
        }
        let questioner = Questioner::start(answerer).map_err(CallError::NotConfigured)?;
        Ok(made.insert(Arc::new(questioner)).clone())
    }

    /// Host that questions go to, `None` for an address of this machine.
    pub(super) fn leaves_to(&self, config: &Config) -> Option<String> {
        self.questioner(config).ok()?.leaves_to()
    }

    /// Forgets what keeps the provider from being asked.
    pub(super) fn resume(&self) {
        if let Some(questioner) = locked(&self.made).as_ref() {
            questioner.client.resume();
        }
    }

    /// What a query was expanded to before.
    pub(super) fn known(&self, model: &str, expand: Expand, query: &str) -> Option<Vec<String>> {
        let known = locked(&self.known);
        let found = known.iter().rev().find(|((m, e, q), _)| (m.as_str(), *e, q.as_str()) == (model, expand, query));
        found.map(|(_, phrasings)| phrasings.clone())
    }

    /// Remembers what a query was expanded to.
    pub(super) fn remember(&self, model: &str, expand: Expand, query: &str, phrasings: Vec<String>) {
        let mut known = locked(&self.known);
        if known.len() >= REMEMBERED {
            known.pop_front();
        }
        known.push_back(((model.to_owned(), expand, query.to_owned()), phrasings));
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A model that is asked, and what pays for it.
pub(super) struct Questioner {
    /// What it was made for.
    config: ContextConfig,
    pub(super) model: Model,
    client: Client,
    /// Its thread, which ends with this.
    work: mpsc::UnboundedSender<Work>,
}

/// Out of what a question is paid.
pub(super) struct Purse<'a> {
    pub(super) ledger: &'a Ledger,
    pub(super) budget: &'a BudgetConfig,
    pub(super) purpose: Purpose,
}

impl Questioner {
    /// Host that questions go to; `None` for an address of this machine.
    pub(super) fn leaves_to(&self) -> Option<String> {
        self.client.leaves_to()
    }

    fn start(config: ContextConfig) -> Result<Self, String> {
        let model = llm::model(&config)?;
        let client = Client::new(&config, &model)?;
        let (work, mut inbox) = mpsc::unbounded_channel::<Work>();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| format!("no runtime for asking models: {error}"))?;
        let serve = async move {
            let mut running = JoinSet::new();
            loop {
                tokio::select! {
                    work = inbox.recv() => match work {
                        Some(work) => drop(running.spawn(work)),
                        None => return,
                    },
                    Some(_) = running.join_next(), if !running.is_empty() => {}
                }
            }
        };
        std::thread::Builder::new()
            .name("questions".to_owned())
            .spawn(move || runtime.block_on(serve))
            .map_err(|error| format!("no thread for asking models: {error}"))?;
        Ok(Questioner { config, model, client, work })
    }

    /// Asks, and gives the text to `on_text` as it comes; with what it cost. Blocks.
    ///
    /// # Errors
    /// The budget, the provider, or `cancel`, which closes the connection.
    pub(super) fn stream(
        &self,
        prompt: &Prompt,
        purse: &Purse<'_>,
        cancel: &Cancel,
        on_text: OnText,
    ) -> Result<(Streamed, Option<u64>), CallError> {
        let (client, asked, cancel) = (self.client.clone(), prompt.clone(), cancel.clone());
        let call = async move {
            tokio::select! {
                biased;
                () = cancelled(&cancel) => Err(given_up(FailureKind::Cancelled, "cancelled")),
                answer = client.stream(&asked, &*on_text) => answer,
            }
        };
        self.paid(prompt, purse, call, |streamed| streamed.completion.usage)
    }

    /// Asks for a short answer, which is worth nothing later than `within`. Blocks.
    ///
    /// # Errors
    /// As [`Questioner::stream`].
    pub(super) fn complete(
        &self,
        prompt: &Prompt,
        purse: &Purse<'_>,
        cancel: &Cancel,
        within: Duration,
    ) -> Result<Completion, CallError> {
        let (client, asked, cancel) = (self.client.clone(), prompt.clone(), cancel.clone());
        let call = async move {
            tokio::select! {
                biased;
                () = cancelled(&cancel) => Err(given_up(FailureKind::Cancelled, "cancelled")),
                answer = client.complete(&asked) => answer,
                () = tokio::time::sleep(within) => {
                    let message = format!("the model did not answer within {:.0} s", within.as_secs_f32());
                    Err(given_up(FailureKind::Unavailable, &message))
                }
            }
        };
        self.paid(prompt, purse, call, |completion| completion.usage).map(|(completion, _)| completion)
    }

    /// Reserves what a call may take, makes it, and settles what it took; with its price, if that is known.
    fn paid<T: Send + 'static>(
        &self,
        prompt: &Prompt,
        purse: &Purse<'_>,
        call: impl Future<Output = Result<T, Failure>> + Send + 'static,
        usage: impl Fn(&T) -> Usage,
    ) -> Result<(T, Option<u64>), CallError> {
        let price = |usage: &Usage| cost::cost(&self.model.price, usage, false);
        let most = Usage::upper(prompt);
        let ask = Ask {
            vault: "",
            path: "",
            // The purpose says it all: this is no decision about a note.
            reason: Reason::Rebuild,
            provider: self.model.provider.name(),
            model: &self.model.id,
            purpose: purse.purpose,
            micro_dollars: price(&most),
            tokens: most.input + most.output,
        };
        let limits = Limits { day: purse.budget.day, day_tokens: purse.budget.day_tokens };
        let reservation = purse
            .ledger
            .reserve(ask, &limits, None, jiff::Zoned::now())
            .map_err(|refused| CallError::Provider(refusal(&refused)))?;
        let (reply, answer) = oneshot::channel();
        let work = async move {
            // Whoever asked may have gone.
            let _ = reply.send(call.await);
        };
        let sent = self.work.send(Box::pin(work)).is_ok();
        let answer = if sent { answer.blocking_recv().ok() } else { None };
        let answer = answer.unwrap_or_else(|| Err(given_up(FailureKind::Unavailable, "the daemon is stopping")));
        let settled = match &answer {
            Ok(value) => Some((usage(value), false)),
            // Nobody knows whether it was counted: the estimate stands.
            Err(failure) if failure.maybe_billed => Some((most, true)),
            Err(_) => None,
        };
        let micro_dollars = settled.as_ref().and_then(|(usage, _)| price(usage));
        let written = match settled {
            Some((usage, failed)) => {
                let settled = Settled { usage, micro_dollars, contexts: 0, failed };
                purse.ledger.settle(reservation, settled, jiff::Zoned::now())
            }
            None => purse.ledger.release(reservation, jiff::Zoned::now()),
        };
        if let Err(error) = written {
            // The reservation stands in the ledger and counts as spent.
            tracing::warn!(%error, "what a question cost could not be written down");
        }
        match answer {
            Ok(value) => Ok((value, micro_dollars)),
            Err(Failure { kind: FailureKind::Cancelled, .. }) => Err(CallError::Cancelled),
            Err(failure) => Err(CallError::Provider(failure.message)),
        }
    }
}

/// A call that is given up while it is under way.
fn given_up(kind: FailureKind, message: &str) -> Failure {
    Failure { kind, message: message.to_owned(), maybe_billed: true }
}

async fn cancelled(cancel: &Cancel) {
    while !cancel.is_cancelled() {
        tokio::time::sleep(LOOK).await;
    }
}

/// What a limit of the budget means for somebody who asks.
fn refusal(refused: &Refused) -> String {
    match refused {
        Refused::Day { limit, spent, needed } => format!(
            "today's budget ({}, {} spent or reserved) leaves too little for this, which may take {}: ask again \
             tomorrow, or raise `budget.day`",
            dollars(*limit),
            dollars(*spent),
            dollars(*needed)
        ),
        Refused::DayTokens { limit, spent, .. } => format!(
            "today's tokens for models of unknown price ({limit}, {spent} used) leave too few for this: ask again \
             tomorrow, raise `budget.day_tokens`, or give the model's price in `[context.models]`"
        ),
        other => other.to_string(),
    }
}
