//! Contexts that teams have paid for: teams are asked for them before a model is.

use std::time::Duration;

use super::{Team, Teams};
use crate::context_job::TeamContext;
use ::team::{Failure, Kind, Offered};
use note::fingerprint::ContextKey;

/// How long a note waits for a team's answer. No search waits for it, and buying takes seconds, too.
const WITHIN: Duration = Duration::from_secs(2);

/// How long a team that did not answer is left alone.
const LEAVE_ALONE: Duration = Duration::from_secs(60);

impl Teams {
    /// What teams have under these keys; those that do not answer soon are left out.
    pub(in super::super) async fn offered(&self, keys: &[ContextKey]) -> Vec<TeamContext> {
        let mut all = Vec::new();
        if keys.is_empty() {
            return all;
        }
        for team in self.open.load_full().values() {
            all.extend(team.offered(keys).await);
        }
        all
    }
}

impl Team {
    async fn offered(&self, keys: &[ContextKey]) -> Vec<TeamContext> {
        let now = machine::now();
        let Ok(collection) = &self.collection else { return Vec::new() };
        if self.away_until.lock().is_some_and(|until| until > now) {
            return Vec::new();
        }
        let names: Vec<String> = keys.iter().map(ContextKey::to_string).collect();
        let asked = tokio::time::timeout(WITHIN, collection.contexts(&names)).await;
        let late = || {
            let message = format!("{} did not answer within {} s", collection.host(), WITHIN.as_secs());
            Err(Failure::new(Kind::Unavailable, message))
        };
        match asked.unwrap_or_else(|_| late()) {
            Ok(offered) => {
                *self.away_until.lock() = None;
                offered.into_iter().filter_map(|offered| of_team(&self.name, keys, offered)).collect()
            }
            Err(failure) => {
                // Logged once, and not with every note that is asked about meanwhile.
                if self.away_until.lock().replace(now + LEAVE_ALONE).is_none() {
                    tracing::warn!(team = self.name, "contexts are bought that the team may have: {failure}");
                }
                Vec::new()
            }
        }
    }
}

fn of_team(team: &str, keys: &[ContextKey], offered: Offered) -> Option<TeamContext> {
    let Offered { key, text, expansion, by } = offered;
    let key = *keys.iter().find(|known| known.to_string() == key)?;
    Some(TeamContext { team: team.to_owned(), key, text, expansion, by })
}
