//! What is not published from here any more, such as a vault under the name that it had, is taken away.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::runtime::Handle as Runtime;
use tokio::sync::Notify;

use super::turns::Turns;
use ::team::{Collection, Failure};

/// How long is waited after a failure, at first and at most.
const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(300);

/// The vaults of a collection that only an earlier configuration published. Their withdrawal ends with the present one.
pub(super) struct Former {
    team: String,
    collection: Collection,
    /// The word that they were published with.
    word: String,
    /// The vaults that are published now.
    kept: Vec<String>,
    turns: Arc<Turns>,
    end: Notify,
    problem: Mutex<Option<String>>,
}

impl Former {
    /// Begins to take them away.
    pub(super) fn start(
        team: &str,
        (collection, turns): (Collection, Arc<Turns>),
        word: String,
        kept: Vec<String>,
        at: &Runtime,
    ) -> Arc<Self> {
        let (team, end, problem) = (team.to_owned(), Notify::new(), Mutex::default());
        let former = Arc::new(Former { team, collection, word, kept, turns, end, problem });
        at.spawn(follow(former.clone()));
        former
    }

    /// Ends the task: there is another configuration.
    pub(super) fn end(&self) {
        self.end.notify_one();
    }

    /// Takes them away now.
    pub(super) async fn withdraw(&self) -> Result<(), Failure> {
        let _turn = self.turns.begin().await?;
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

    /// What is still there, and why.
    pub(super) fn problem(&self) -> Option<String> {
        self.problem.lock().clone()
    }
}

async fn follow(former: Arc<Former>) {
    let (mut wait, mut before) = (FIRST, None);
    while let Err(failure) = former.withdraw().await {
        if former.turns.are_over() {
            return;
        }
        if before.as_ref() != Some(&failure) {
            tracing::warn!(team = former.team, "what is not published any more is not withdrawn: {failure}");
        }
        before = Some(failure);
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = former.end.notified() => return,
        }
        wait = (wait * 2).min(LONGEST);
    }
}
