//! One call whose answer is shown while it comes.
//!
//! Until the first word is shown, it is a call like any other and is retried. After that it is not retried: what was
//! shown cannot be taken back, so an answer that breaks off is returned as far as it came, with the reason.

use std::time::{Duration, SystemTime};

use reqwest::Method;
use tokio::time::Instant;

use super::Completion;
use super::client::{CompletionClient, Rules, Shared, With};
use super::patience::timeout;
use super::retry::{Fault, Next};
use super::spender::{Account, Payment, Unanswered};
use super::transport::{Begun, MOST_BODY};
use super::wire::Answer;
use super::wire::stream::{Interrupted, Reader};
use context::prompt::Prompt;

/// Longest silence within an answer. Providers that think in between send signs of life.
const LONGEST_SILENCE: Duration = Duration::from_secs(30);

/// An answer that was shown as it came.
#[derive(Clone, Debug, PartialEq)]
pub struct Streamed {
    /// All of it.
    pub completion: Completion,
    /// What is wrong with it, if anything: it broke off, or the server cut the prompt. For the user; nothing of the
    /// question.
    pub broken: Option<String>,
}

/// Called with text as it comes.
pub type ShowText<'a> = &'a (dyn Fn(&str) + Send + Sync);

impl CompletionClient {
    /// Asks, and gives the text to `on_text` as it comes; all pieces together are the text of the answer. Dropping
    /// the future closes the connection; the provider may count what it has written by then, so the estimate counts
    /// as spent.
    ///
    /// # Errors
    /// See [`Unanswered`]; never after a piece was given.
    pub async fn stream(
        &self,
        prompt: &Prompt,
        account: &Account,
        on_text: ShowText<'_>,
    ) -> Result<Streamed, Unanswered> {
        let shared = &*self.shared;
        let rules = Rules { each: shared.deadline, whole: shared.deadline, unsure: true, urgent: false };
        let attempt = |with: With| shared.attempt_streaming(prompt, with, on_text);
        let (done, payment) = shared.paid_call(rules, Payment::of(self.purchase(prompt, account)), attempt).await?;
        let (answer, broken) = done.value;
        payment.settle(self.settled(answer.usage)).await;
        Ok(Streamed { completion: Completion::of(answer, done.took, done.attempts), broken })
    }
}

impl Shared {
    /// One attempt, which ends by itself when its time is over. An error only if nothing was shown.
    async fn attempt_streaming(
        &self,
        prompt: &Prompt,
        with: With,
        on_text: ShowText<'_>,
    ) -> Result<(Answer, Option<String>), Fault> {
        let until = Instant::now() + with.within;
        let request =
            self.wire.streaming(prompt, with.key.as_deref(), &with.without, SystemTime::now()).map_err(Fault::never)?;
        let begun = timeout(self.timeout, self.transport.begin(Method::POST, request)).await;
        let begun = begun.map_err(|_| self.named(Fault::late(self.timeout)))?;
        let mut begun = begun.map_err(|broken| self.named(broken.into()))?;
        let status = begun.status;
        let reader = self.wire.reader().filter(|_| is_stream(&begun));
        let Some(mut reader) = reader.filter(|_| begun.is_good()) else {
            let reply = timeout(self.timeout, self.transport.finish(begun)).await;
            let reply = reply.map_err(|_| self.named(Fault::late(self.timeout)))?;
            let reply = self.whole(reply.map_err(|broken| self.named(broken.into()))?)?;
            // This server, or the interface, has no streams.
            let answer = self.wire.read(&reply.body, prompt).map_err(|message| self.unread(&reply, message))?;
            on_text(&answer.text);
            return Ok((answer, None));
        };
        let (mut patience, mut bytes, mut shown) = (self.timeout, 0, 0);
        let mut show = |text: &str| {
            if text.len() > shown {
                on_text(&text[shown..]);
                shown = text.len();
            }
        };
        let outcome = loop {
            let left = until.saturating_duration_since(Instant::now());
            let outcome = match timeout(patience.min(left), begun.chunk()).await {
                Ok(Ok(Some(piece))) => {
                    bytes += piece.len();
                    reader.feed(&piece)
                }
                Ok(Ok(None)) => break reader.end(),
                Ok(Err(_)) => break Err(ended("the connection broke in the middle of the answer")),
                Err(_) if left < patience => {
                    let message = "the end of the answer did not come in time".to_owned();
                    break Err(Interrupted { message, busy: true });
                }
                Err(_) => break Err(ended(&format!("nothing came for {} s", patience.as_secs()))),
            };
            show(reader.text());
            match outcome {
                Err(_) => break outcome,
                Ok(()) if reader.has_ended() => break reader.end(),
                Ok(()) if bytes > MOST_BODY => break Err(ended("the answer is longer than any answer should be")),
                Ok(()) => patience = LONGEST_SILENCE.min(self.timeout),
            }
        };
        show(reader.text());
        self.end_of(reader, prompt, status, outcome.err())
    }

    /// The outcome of a streamed answer.
    fn end_of(
        &self,
        reader: Reader,
        prompt: &Prompt,
        status: u16,
        interrupted: Option<Interrupted>,
    ) -> Result<(Answer, Option<String>), Fault> {
        let factor = self.wire.model().token_factor;
        match interrupted {
            None => {
                let answer = reader.answer(prompt, factor, true);
                let cut = self.wire.prompt_was_cut(&answer, prompt);
                Ok((answer, cut))
            }
            Some(why) if reader.text().is_empty() => {
                let fault = Fault::broken(status, why.message);
                Err(self.named(Fault { next: Next::Again { after: None, busy: why.busy }, ..fault }))
            }
            Some(why) => Ok((reader.answer(prompt, factor, false), Some(why.message))),
        }
    }
}

/// Whether the answer is a stream: a whole one comes as plain JSON.
fn is_stream(begun: &Begun) -> bool {
    let kind = begun.headers.get("content-type").and_then(|value| value.to_str().ok()).unwrap_or_default();
    !kind.trim_start().starts_with("application/json")
}

fn ended(message: &str) -> Interrupted {
    Interrupted { message: message.to_owned(), busy: false }
}
