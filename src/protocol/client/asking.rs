//! Calls whose answer is told while it comes, and which can be stopped.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Client, ClientError, Reply, outcome};
use crate::envelope::Id;
use crate::jobs::CancelRequest;
use crate::notification::Text;
use crate::table::Call;

/// How often it is looked whether to go on.
const LOOK: Duration = Duration::from_millis(100);

/// How long a daemon that was told to stop may take to say that it has.
const STOP_PATIENCE: Duration = Duration::from_secs(3);

impl Client {
    /// As [`Client::ask`], with the text of the answer as it comes. The timeout holds from one piece to the next.
    /// Once `go_on` says no the request is cancelled: then the error is of kind `cancelled`, unless the answer was on
    /// its way already.
    pub fn ask_with_text<C: Call>(
        &mut self,
        call: &C,
        on_text: &mut dyn FnMut(&str),
        go_on: &dyn Fn() -> bool,
    ) -> Result<Reply<C>, ClientError> {
        self.exchange_with_text(C::METHOD.name(), &super::params(call)?, on_text, go_on).map(Reply::of)
    }

    fn exchange_with_text(
        &mut self,
        method: &str,
        params: &Value,
        on_text: &mut dyn FnMut(&str),
        go_on: &dyn Fn() -> bool,
    ) -> Result<Value, ClientError> {
        let id = self.next_id;
        self.next_id += 1;
        self.stream.set_write_timeout(self.timeout)?;
        self.write(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        let mut deadline = self.deadline();
        let mut stopped = false;
        loop {
            if !stopped && !go_on() {
                stopped = true;
                let cancel = CancelRequest { id: Some(Id::Number(id)), ..CancelRequest::default() };
                self.write(&json!({ "jsonrpc": "2.0", "method": CancelRequest::METHOD.name(), "params": cancel }))?;
                deadline = Some(Instant::now() + STOP_PATIENCE);
            }
            let look = Instant::now() + LOOK;
            let mut message = match self.receive(Some(deadline.map_or(look, |deadline| look.min(deadline)))) {
                Ok(message) => message,
                Err(ClientError::Timeout { .. }) if deadline.is_none_or(|deadline| Instant::now() < deadline) => {
                    continue;
                }
                Err(timeout @ ClientError::Timeout { .. }) => {
                    self.stale = id;
                    return Err(timeout);
                }
                Err(error) => return Err(error),
            };
            if message["method"] == "text"
                && !stopped
                && let Ok(Text { id: of, text }) = serde_json::from_value(message["params"].take())
                && of == Id::Number(id)
            {
                on_text(&text);
                deadline = self.deadline();
            }
            // Others are older requests' answers, which nobody waits for any more, and events.
            if message.get("id").is_some_and(|answered| answered.is_null() || *answered == json!(id)) {
                return outcome(message);
            }
        }
    }
}
