//! What is not published from here any more, such as a vault under the name that it had, is taken away.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::runtime::Handle as Runtime;
use tokio::task::JoinHandle;

use ::team::{Collection, Failure};

/// How long is waited after a failure, at first and at most.
const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(300);

/// The vaults of a collection that only an earlier configuration published. Their withdrawal ends with it.
pub(super) struct Former {
    withdrawal: Arc<Withdrawal>,
    task: JoinHandle<()>,
}

struct Withdrawal {
    team: String,
    collection: Collection,
    /// The word that they were published with.
    word: String,
    /// The vaults that are published now.
    kept: Vec<String>,
    problem: Mutex<Option<String>>,
}

impl Former {
    /// Begins to take them away.
    pub(super) fn start(team: &str, collection: Collection, word: String, kept: Vec<String>, at: &Runtime) -> Self {
        let withdrawal =
            Arc::new(Withdrawal { team: team.to_owned(), collection, word, kept, problem: Mutex::default() });
        let task = at.spawn(follow(withdrawal.clone()));
        Former { withdrawal, task }
    }

    /// Takes them away now.
    pub(super) async fn withdraw(&self) -> Result<(), Failure> {
        self.withdrawal.carry_out().await
    }

    /// What is still there, and why.
    pub(super) fn problem(&self) -> Option<String> {
        self.withdrawal.problem.lock().clone()
    }
}

impl Drop for Former {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Withdrawal {
    async fn carry_out(&self) -> Result<(), Failure> {
        for state in self.collection.former(&self.word, &self.kept).await? {
            let vault = state.vault.clone();
            let done = self.collection.withdraw(state).await;
            *self.problem.lock() =
                done.as_ref().err().map(|why| format!("`{vault}` is not published any more, and still there: {why}"));
            done?;
            tracing::info!(team = self.team, vault, "it is not published any more, and withdrawn");
        }
        *self.problem.lock() = None;
        Ok(())
    }
}

async fn follow(withdrawal: Arc<Withdrawal>) {
    let (mut wait, mut before) = (FIRST, None);
    while let Err(failure) = withdrawal.carry_out().await {
        if before.as_ref() != Some(&failure) {
            tracing::warn!(team = withdrawal.team, "what is not published any more is not withdrawn: {failure}");
        }
        before = Some(failure);
        tokio::time::sleep(wait).await;
        wait = (wait * 2).min(LONGEST);
    }
}
