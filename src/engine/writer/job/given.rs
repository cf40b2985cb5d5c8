//! Takes from teams the contexts of a note that they have, before a model is asked, and judges them as the model's
//! answers.

use std::collections::{BTreeMap, HashMap};

use super::Note;
use crate::context_job::{ContextEvent, TeamContext};
use context::cost;
use context::cost::{Usage, estimate_tokens};
use context::plan::Reason;
use context::prompt::Prompt;
use note::fingerprint::ContextKey;
use protocol::cost::TeamSaving;

impl Note<'_> {
    /// Takes the contexts that teams have. If there is no key to ask for, no team is asked.
    pub(super) async fn take_given(&mut self) {
        let own = self.author.prompter.generation(self.shown.0.kind.as_deref());
        let reasons: HashMap<ContextKey, Reason> =
            self.job.pending.iter().map(|(key, due)| (*key, due.reason)).collect();
        // A rebuild asks the model itself. What another contextualizer wrote is replaced only by a context of the one
        // in force.
        let reason = |key: &ContextKey| reasons.get(key).copied().unwrap_or(Reason::Rebuild);
        let keys: Vec<ContextKey> =
            self.left.values().map(|(key, _)| *key).filter(|key| reason(key) != Reason::Rebuild).collect();
        let offered = tokio::select! {
            biased;
            () = self.stop.said() => return,
            offered = self.author.teams.offered(&keys) => offered,
        };
        let mut teams: BTreeMap<String, HashMap<ContextKey, Vec<TeamContext>>> = BTreeMap::new();
        for context in offered {
            if context.by == own || reason(&context.key) != Reason::ContextualizerChanged {
                teams.entry(context.team.clone()).or_default().entry(context.key).or_default().push(context);
            }
        }
        for (team, mut contexts) in teams {
            contexts.values_mut().for_each(|of_key| of_key.sort_by_key(|context| context.by != own));
            self.take_of(team, &contexts).await;
        }
    }

    /// Takes the contexts that one team has, and books what that saves.
    async fn take_of(&mut self, team: String, contexts: &HashMap<ContextKey, Vec<TeamContext>>) {
        let before = self.prompts();
        let mut saving = TeamSaving { team, ..TeamSaving::default() };
        let mut output = 0;
        let mut numbers: Vec<u32> = self.left.keys().copied().collect();
        numbers.sort_unstable();
        for n in numbers {
            let Some((key, tries)) = self.left.get(&n).copied() else { continue };
            let shown = self.shown.clone();
            let mut of_key = contexts.get(&key).into_iter().flatten();
            let Some(record) = of_key.find_map(|context| self.author.judge_given(&shown.0, &shown.1, n, context))
            else {
                continue;
            };
            saving.contexts += 1;
            output += u64::from(estimate_tokens(&record.text, self.author.model.token_factor));
            if self.keep(n, key, tries, record).await {
                self.tell(ContextEvent::Given);
            }
        }
        if saving.contexts == 0 {
            return;
        }
        let after = self.prompts();
        let input = |prompts: &[Prompt]| prompts.iter().map(|prompt| u64::from(prompt.tokens)).sum::<u64>();
        let input = input(&before).saturating_sub(input(&after));
        saving.calls = before.len().saturating_sub(after.len()) as u64;
        let usage = Usage { input, output, estimated: true, ..Usage::default() };
        saving.micro_dollars = cost::cost(&self.author.model.price, &usage, false).unwrap_or(0);
        let account = self.account.clone();
        let booked = machine::blocking(move || {
            account.spender.ledger().spare(&account.vault, &account.path, saving, machine::zoned())
        });
        if let Ok(Err(error)) = booked.await {
            tracing::warn!(%error, "what a team saved is not written down");
        }
    }
}

#[cfg(all(test, feature = "team"))]
mod tests;
