//! Takes away a vault that its keeper does not publish any more.

use serde_json::json;

use crate::collection::{VaultState, WHAT};
use crate::failure::{Failure, Kind};
use crate::ids;
use crate::server::{Collection, is};

impl Collection {
    /// The vaults that `keeper` has published, except `kept`.
    ///
    /// # Errors
    /// See [`Failure`].
    pub async fn former(&self, keeper: &str, kept: &[String]) -> Result<Vec<VaultState>, Failure> {
        let mut vaults = match self.vaults().await {
            Err(Failure { kind: Kind::Missing, .. }) => Vec::new(),
            vaults => vaults?,
        };
        vaults.retain(|state| state.keeper == keeper && !kept.contains(&state.vault));
        Ok(vaults)
    }

    /// Takes a vault away. Its own point goes last: by it the rest is found again after a failure.
    ///
    /// # Errors
    /// See [`Failure`].
    pub async fn withdraw(&self, state: VaultState) -> Result<(), Failure> {
        let vault = state.vault.clone();
        // From here on nobody sees its points.
        self.put_vault(&VaultState { revision: 0, ..state }).await?;
        self.delete(&json!({"must": [is("vault", &vault), is(WHAT, "chunk")]})).await?;
        self.delete_ids(&[ids::of_vault(&vault)]).await
    }
}
