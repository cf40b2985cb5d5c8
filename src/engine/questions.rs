//! Questions that somebody waits for, to the model of `[context]`: about the notes, or for other words for a query.
//!
//! They have their own client, and a thread that writes no contexts, so that they do not queue behind a batch of
//! contexts; the budget is the same. The client is made when it is first needed, and anew when the configuration has
//! changed.

use std::future::Future;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use lru::LruCache;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::error::CallError;
use crate::patience::LOOK;
use crate::settings::Settings;
use context::cost;
use context::cost::dollars;
use context::models::Model;
use context::prompt::Prompt;
use context::settings::ContextConfig;
use index::Cancel;
use protocol::search::Expand;
use provider as llm;
use provider::ledger::OverBudget;
use provider::{Account, Completion, CompletionClient, Failure, FailureKind, ProviderRuntime, Streamed, Unanswered};

/// Queries whose phrasings are remembered.
const REMEMBERED: NonZeroUsize = NonZeroUsize::new(256).unwrap();

/// Receives the text of an answer as it comes.
pub type OnText = Arc<dyn Fn(&str) + Send + Sync>;

/// The key of a query that was expanded: by which model, in which way, and its text.
type Known = (String, Expand, String);

/// The questioner, once somebody has asked a question, and phrasings of earlier queries.
pub(super) struct Questions {
    made: Mutex<Option<Arc<Questioner>>>,
    /// Phrasings of queries. They are in memory only: no query is written to the disk.
    known: Mutex<LruCache<Known, Vec<String>>>,
}

impl Default for Questions {
    fn default() -> Self {
        Questions { made: Mutex::default(), known: Mutex::new(LruCache::new(REMEMBERED)) }
    }
}

impl Questions {
    /// The questioner for a configuration.
    ///
    /// # Errors
    /// No model is configured, or it cannot be asked.
    pub(super) fn questioner(
        &self,
        config: &Settings,
        runtime: &ProviderRuntime,
    ) -> Result<Arc<Questioner>, CallError> {
        let answerer = config.answerer();
        if !answerer.costs() {
            return Err(CallError::NotConfigured(
                "no model is configured that could answer: set `context.provider` to \"ollama\", \"anthropic\", \
                 \"openai\" or \"bedrock\" (with `context.automatic = false` it only answers, and writes no contexts)"
                    .to_owned(),
            ));
        }
        let mut made = self.made.lock();
        if let Some(questioner) = made.as_ref().filter(|questioner| questioner.config == answerer) {
            return Ok(questioner.clone());
        }
        let questioner = Questioner::new(answerer, runtime).map_err(CallError::NotConfigured)?;
        Ok(made.insert(Arc::new(questioner)).clone())
    }

    /// Host that questions go to, `None` for an address of this machine.
    pub(super) fn leaves_to(&self, config: &Settings, runtime: &ProviderRuntime) -> Option<String> {
        self.questioner(config, runtime).ok()?.leaves_to()
    }

    /// Why the model that a configuration asks is not asked at present.
    pub(super) fn problem(&self, config: &Settings) -> Option<String> {
        let made = self.made.lock();
        let questioner = made.as_ref().filter(|questioner| questioner.config == config.answerer())?;
        crate::unasked("the model", " questions", questioner.client.health())
    }

    /// Forgets what keeps the provider from being asked.
    pub(super) fn resume(&self) {
        if let Some(questioner) = self.made.lock().as_ref() {
            questioner.client.resume();
        }
    }

    /// What a query was expanded to before.
    pub(super) fn known(&self, model: &str, expand: Expand, query: &str) -> Option<Vec<String>> {
        self.known.lock().get(&(model.to_owned(), expand, query.to_owned())).cloned()
    }

    /// Remembers what a query was expanded to.
    pub(super) fn remember(&self, model: &str, expand: Expand, query: &str, phrasings: Vec<String>) {
        self.known.lock().put((model.to_owned(), expand, query.to_owned()), phrasings);
    }
}

/// A model that is asked.
pub(super) struct Questioner {
    /// What it was made for.
    config: ContextConfig,
    pub(super) model: Model,
    client: CompletionClient,
    runtime: Handle,
}

impl Questioner {
    /// Host that questions go to; `None` for an address of this machine.
    pub(super) fn leaves_to(&self) -> Option<String> {
        self.client.leaves_to()
    }

    fn new(config: ContextConfig, runtime: &ProviderRuntime) -> Result<Self, String> {
        let model = llm::model(&config)?;
        let client = CompletionClient::new(&config, &model)?;
        Ok(Questioner { config, model, client, runtime: runtime.urgent()? })
    }

    /// Asks, and gives the text to `on_text` as it comes; also returns what it cost. Blocks.
    ///
    /// # Errors
    /// The budget, the provider, or `cancel`, which closes the connection.
    pub(super) fn stream(
        &self,
        prompt: &Prompt,
        account: Account,
        cancel: &Cancel,
        on_text: OnText,
    ) -> Result<(Streamed, Option<u64>), CallError> {
        let (client, asked) = (self.client.clone(), prompt.clone());
        let streamed = self.wait_for(cancel, async move { client.stream(&asked, &account, &*on_text).await })?;
        let micro_dollars = cost::cost(&self.model.price, &streamed.completion.usage, false);
        Ok((streamed, micro_dollars))
    }

    /// Asks for a short answer, which is of no use after `within`. Blocks.
    ///
    /// # Errors
    /// As [`Questioner::stream`].
    pub(super) fn complete(
        &self,
        prompt: &Prompt,
        account: Account,
        cancel: &Cancel,
        within: Duration,
    ) -> Result<Completion, CallError> {
        let (client, asked) = (self.client.clone(), prompt.clone());
        let call = async move {
            // A call that is dropped at the timeout counts as its estimate.
            let answer = tokio::time::timeout(within, client.complete(&asked, &account)).await;
            answer.unwrap_or_else(|_| {
                let message = format!("the model did not answer within {:.0} s", within.as_secs_f32());
                Err(Failure { kind: FailureKind::Unavailable, message, maybe_billed: true }.into())
            })
        };
        self.wait_for(cancel, call)
    }

    /// Waits for a call. `cancel` drops the call: then its estimate counts as spent.
    fn wait_for<T: Send + 'static>(
        &self,
        cancel: &Cancel,
        call: impl Future<Output = Result<T, Unanswered>> + Send + 'static,
    ) -> Result<T, CallError> {
        let (reply, answer) = oneshot::channel();
        let cancel = cancel.clone();
        self.runtime.spawn(async move {
            let answer = tokio::select! {
                biased;
                () = cancelled(&cancel) => Err(CallError::Cancelled),
                answer = call => answer.map_err(|why| match why {
                    Unanswered::Budget(refused) => CallError::OverBudget(refusal(&refused)),
                    Unanswered::Provider(failure) => CallError::Provider(failure.message),
                }),
            };
            // The caller may have gone.
            let _ = reply.send(answer);
        });
        answer.blocking_recv().unwrap_or_else(|_| Err(CallError::Provider("the daemon is stopping".to_owned())))
    }
}

async fn cancelled(cancel: &Cancel) {
    while !cancel.is_cancelled() {
        tokio::time::sleep(LOOK).await;
    }
}

/// What a limit of the budget means for a question.
fn refusal(refused: &OverBudget) -> String {
    let tomorrow = |limit: &u64, needed: &u64| if needed > limit { "" } else { "ask again tomorrow, or " };
    match refused {
        OverBudget::Day { limit, spent, needed } => format!(
            "today's budget ({}, {} spent or reserved) leaves too little for this, which may take {}: {}raise \
             `budget.day`",
            dollars(*limit),
            dollars(*spent),
            dollars(*needed),
            tomorrow(limit, needed)
        ),
        OverBudget::DayTokens { limit, spent, needed } => format!(
            "today's tokens for models of unknown price ({limit}, {spent} used) leave too few for this: {}raise \
             `budget.day_tokens`, or give the model's price in `[context.models]`",
            tomorrow(limit, needed)
        ),
        other => other.to_string(),
    }
}
