//! A reply as it came.

use std::marker::PhantomData;

use serde::Deserialize as _;
use serde_json::Value;

use super::ClientError;
use crate::table::Call;

/// The reply to a call: as it came, for who prints it, and what it says, for who acts upon it.
#[derive(Clone, Debug)]
pub struct Reply<C> {
    json: Value,
    of: PhantomData<C>,
}

impl<C: Call> Reply<C> {
    pub(super) fn of(json: Value) -> Self {
        Reply { json, of: PhantomData }
    }

    /// What it says.
    ///
    /// # Errors
    /// It is not the result of this method: the daemon is of another version.
    pub fn read(&self) -> Result<C::Answer, ClientError> {
        C::Answer::deserialize(&self.json)
            .map_err(|error| ClientError::Protocol(format!("the result of `{}`: {error}", C::METHOD.name())))
    }

    /// As it came, with whatever a newer daemon says beyond what this client knows.
    pub fn into_json(self) -> Value {
        self.json
    }
}
