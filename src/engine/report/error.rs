//! How a failed call is told on the socket.

use protocol::envelope::{ErrorKind, RpcError};

use super::CallError;

impl From<CallError> for RpcError {
    fn from(error: CallError) -> Self {
        let message = error.to_string();
        match error {
            CallError::NotFound { what, name, hint } => {
                RpcError::new(ErrorKind::NotFound, message).hint(hint).with("what", what).with("name", name)
            }
            CallError::Invalid(_) => RpcError::new(ErrorKind::InvalidParams, message),
            CallError::TooMuch(over) => {
                let (what, given, limit) = over.parts();
                RpcError::new(ErrorKind::InvalidParams, message)
                    .hint("`related` with `text` takes a longer text, of which no word has to occur")
                    .with("what", what)
                    .with("given", given)
                    .with("limit", limit)
            }
            CallError::NotReady => RpcError::new(ErrorKind::NotReady, message).retry_after_ms(200),
            CallError::Conflict { job, .. } => RpcError::new(ErrorKind::Conflict, message)
                .hint("wait for that job, or cancel it with `cancel`")
                .with("job", job),
            CallError::Cancelled => RpcError::new(ErrorKind::Cancelled, message),
            CallError::Timeout(_) => RpcError::new(ErrorKind::Timeout, message),
            CallError::NotConfigured(_) => RpcError::new(ErrorKind::NotConfigured, message)
                .hint("`situated config show --origin` says what is in force; `situated doctor` tries the provider"),
            CallError::Forbidden(_) => RpcError::new(ErrorKind::Forbidden, message).hint(
                "the user's configuration says so: `[mcp] allow_spending` and `[budget]`, then `situated call reload`",
            ),
            CallError::Provider(_) => {
                RpcError::new(ErrorKind::Provider, message).hint("`situated status` says how the provider is doing")
            }
            CallError::Paused => RpcError::new(ErrorKind::Paused, message),
            CallError::Storage(_) => {
                RpcError::new(ErrorKind::Storage, message).hint("`situated status` says more; `situated rebuild` mends")
            }
            CallError::Stopping => RpcError::new(ErrorKind::NotReady, message).retry_after_ms(1000),
        }
    }
}
