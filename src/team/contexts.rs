//! Contexts that somebody of the team has paid for, found by what they were written for.

use context::Expansion;
use serde_json::json;

use crate::collection::WHAT;
use crate::failure::Failure;
use crate::point::Payload;
use crate::server::{Collection, is};

/// A context that was paid for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offered {
    /// What it was written for.
    pub key: String,
    /// Its text, in one line.
    pub text: String,
    /// What stands beside it.
    pub expansion: Expansion,
    /// Who wrote it: contextualizer, model and prompt.
    pub by: String,
}

impl Collection {
    /// What was paid for under these keys, of all vaults. Several may have the same key, and a key none.
    ///
    /// # Errors
    /// See [`Failure`].
    pub async fn contexts(&self, keys: &[String]) -> Result<Vec<Offered>, Failure> {
        let paid = json!([is(WHAT, "chunk"), {"key": "key", "match": {"any": keys}}]);
        let filter = json!({"must": paid, "must_not": [{"is_empty": {"key": "by"}}]});
        let found = self.look_through(&filter, json!(true)).await?;
        let read = found.into_iter().filter_map(|found| serde_json::from_value::<Payload>(found.payload).ok());
        let mut offered: Vec<Offered> = read.filter_map(offered).collect();
        offered.sort_by(|a, b| (&a.key, &a.by, &a.text).cmp(&(&b.key, &b.by, &b.text)));
        offered.dedup();
        Ok(offered)
    }
}

/// The context of a chunk, if it was paid for. What the template adds stands before it: the context itself is one line.
fn offered(Payload { context, about, .. }: Payload) -> Option<Offered> {
    let text = context.lines().last()?.to_owned();
    Some(Offered { key: about.key, text, expansion: about.expansion, by: about.by? })
}
