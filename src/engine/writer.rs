//! The task that talks to the model: it takes jobs and reports their outcome. It holds no state that matters: the store
//! has what is to be written until it is written, and every answer is in the journal before an event says so.

mod job;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use super::ask::Author;
use super::batch::{self, BatchJob};
use super::context_job::{ContextEvent, ContextJob};
use super::decide::NotePipeline;
use super::own_text::AdHocContext;
use crate::settings::Settings;
use crate::team::Teams;
use crate::unkept::Unkept;
use context::plan::PendingContext;
use note::VaultPath;
use note::fingerprint::ContextKey;
use provider as llm;
use provider::{CompletionClient, ProviderRuntime, Spender};

enum Command {
    Note(Box<ContextJob>, Arc<NotePipeline>, Arc<Asking>),
    Batch(Box<BatchJob>),
    AdHoc(Box<AdHocContext>),
}

/// Access to that task.
#[derive(Clone)]
pub(super) struct Writer {
    commands: mpsc::UnboundedSender<Command>,
    pub(super) author: Author,
    under_way: Arc<Mutex<Vec<Weak<Asking>>>>,
    room: usize,
}

/// Of which vault a job is, and which contexts it asks for. The job is under way as long as it holds this.
type Asking = (PathBuf, HashSet<ContextKey>);

impl Writer {
    /// Starts the task, or says why not; `None` if no model is configured. The task ends when the last handle is
    /// dropped.
    pub(super) fn start(
        config: &Settings,
        runtime: &ProviderRuntime,
        (spender, unkept, teams): (&Arc<Spender>, &Arc<Unkept>, &Arc<Teams>),
        tell: impl Fn(u64, VaultPath, ContextEvent) + Send + Sync + 'static,
    ) -> Result<Option<Writer>, String> {
        let context = &config.context;
        if !context.costs() {
            return Ok(None);
        }
        let model = llm::model(context)?;
        let client = CompletionClient::new(context, &model)?;
        let author = Author::new(client, model, (spender.clone(), unkept.clone(), teams.clone()), config);
        let (commands, inbox) = mpsc::unbounded_channel();
        let (worker, tell) = (author.clone(), Arc::new(tell));
        runtime.background()?.spawn(serve(inbox, worker, tell));
        let under_way = Arc::default();
        Ok(Some(Writer { commands, author, under_way, room: context.concurrency.max(1) }))
    }

    pub(super) fn write(&self, job: ContextJob, pipeline: Arc<NotePipeline>) {
        let keys = job.pending.iter().map(|(key, _)| *key).collect();
        let asking = Arc::new((pipeline.root.clone(), keys));
        let mut under_way = self.under_way.lock();
        under_way.retain(|job| job.strong_count() > 0);
        under_way.push(Arc::downgrade(&asking));
        // The task ends only with the last handle, so it still takes this job.
        let _ = self.commands.send(Command::Note(Box::new(job), pipeline, asking));
    }

    /// Whether a job under way asks for one of these contexts of a vault. It may be one of an indexer that has ended and
    /// does not hear of the answer.
    pub(super) fn has(&self, root: &Path, pending: &[(ContextKey, PendingContext)]) -> bool {
        let has = |(of, keys): &Asking| of == root && pending.iter().any(|(key, _)| keys.contains(key));
        self.under_way.lock().iter().filter_map(Weak::upgrade).any(|job| has(&job))
    }

    pub(super) fn batch(&self, order: BatchJob) {
        let _ = self.commands.send(Command::Batch(Box::new(order)));
    }

    pub(super) fn write_for(&self, wanted: AdHocContext) {
        let _ = self.commands.send(Command::AdHoc(Box::new(wanted)));
    }

    /// How many jobs run at once: one while a model that was of no use is being tried.
    pub(super) fn room(&self) -> usize {
        if self.author.outcomes.is_on_trial() { 1 } else { self.room }
    }

    /// Whether both are access to the same task.
    pub(super) fn is(&self, other: &Writer) -> bool {
        self.commands.same_channel(&other.commands)
    }
}

type Tell = dyn Fn(u64, VaultPath, ContextEvent) + Send + Sync;

async fn serve(mut inbox: mpsc::UnboundedReceiver<Command>, author: Author, tell: Arc<Tell>) {
    let mut notes = JoinSet::new();
    let mut others = JoinSet::new();
    let draining = watch::Sender::new(false);
    loop {
        tokio::select! {
            biased;
            command = inbox.recv() => match command {
                Some(Command::Note(job, pipeline, asking)) => {
                    let (author, tell, draining) = (author.clone(), tell.clone(), draining.subscribe());
                    notes.spawn(async move {
                        let (vault, path) = (job.vault, job.path.clone());
                        let end = job::carry_out(&author, *job, pipeline, draining, &*tell).await;
                        tell(vault, path, ContextEvent::End(end));
                        drop(asking);
                    });
                }
                Some(Command::Batch(order)) => drop(others.spawn(batch::carry_out(author.clone(), *order))),
                Some(Command::AdHoc(wanted)) => {
                    let author = author.clone();
                    others.spawn(async move {
                        let made = wanted.write(&author).await;
                        // The caller may have gone.
                        let _ = wanted.reply.send(made);
                    });
                }
                // Calls that are under way are awaited for a short time: what is paid for is kept.
                None => {
                    draining.send_replace(true);
                    let drained = async {
                        while notes.join_next().await.is_some() {}
                        while others.join_next().await.is_some() {}
                    };
                    // What has not come by then is asked for again.
                    let _ = tokio::time::timeout(author.drain(), drained).await;
                    return;
                }
            },
            Some(_) = notes.join_next(), if !notes.is_empty() => {}
            Some(_) = others.join_next(), if !others.is_empty() => {}
        }
    }
}
