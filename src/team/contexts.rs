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
    /// The questions and terms beside it.
    pub expansion: Expansion,
    /// Who wrote it: contextualizer, model and prompt.
    pub by: String,
}

impl Collection {
    /// The contexts that were paid for under these keys, in all vaults. A key may have several, or none.
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

/// The context of a chunk, if it was paid for. Text that the template adds comes first: the context itself is the last
/// line.
fn offered(Payload { context, about, .. }: Payload) -> Option<Offered> {
    let text = context.lines().last()?.to_owned();
    Some(Offered { key: about.key, text, expansion: about.expansion, by: about.by? })
}
