//! tantivy's writer: one for saves, one for a bulk, and one for a bulk where memory is tight.

use tantivy::IndexWriter;
use tantivy::indexer::{IndexWriterOptions, LogMergePolicy};

/// Memory of a writer that follows saves, and of one that must not take more: the least that tantivy allows.
const SMALL_HEAP: usize = 15_000_000;
/// Memory of a thread of a writer that builds a vault's first index: each time it is full a segment ends.
const BULK_HEAP: usize = 48_000_000;
/// Segments of about one size that a bulk leaves unmerged.
const MOST_OF_BULK: usize = 40;
/// Processors from which on a bulk has two threads. Each thread writes segments of its own, so that two of them write and
/// merge every word twice; one takes a third of what a first index costs, and keeps up with the others of three.
const MANY_PROCESSORS: usize = 4;

/// How a bulk is written.
#[derive(Clone, Copy)]
pub(crate) struct Bulk {
    /// What is run on the thread that starts those of the bulk.
    pub(crate) prepare: fn(),
    /// Whether it takes no more memory than saves do.
    pub(crate) lean: bool,
}

impl Bulk {
    fn threads(self) -> usize {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        if self.lean || processors < MANY_PROCESSORS { 1 } else { 2 }
    }

    /// Memory of each.
    fn heap(self) -> usize {
        if self.lean { SMALL_HEAP } else { BULK_HEAP }
    }
}

/// A writer for a bulk, or for single saves.
pub(super) fn writer(index: &tantivy::Index, bulk: Option<Bulk>) -> tantivy::Result<IndexWriter> {
    let (threads, heap) = bulk.map_or((1, SMALL_HEAP), |bulk| (bulk.threads(), bulk.heap()));
    let options = IndexWriterOptions::builder()
        .num_worker_threads(threads)
        .memory_budget_per_thread(heap)
        .num_merge_threads(1)
        .build();
    let start = || {
        if let Some(bulk) = bulk {
            (bulk.prepare)();
        }
        index.writer_with_options(options)
    };
    // Threads have the priority of whoever starts them: those of a bulk give way to everything else.
    let writer = if bulk.is_some() {
        let started = std::thread::scope(|scope| scope.spawn(start).join());
        started.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?
    } else {
        start()?
    };
    // What a writer leaves behind that died, or failed, within a commit has names that this one would give again.
    writer.garbage_collect_files().wait()?;
    if bulk.is_some() {
        // While a vault is built both cores are wanted for building; its segments are merged once, afterwards. A first
        // index has fewer of them than this, but where saves come faster than they can be indexed a bulk has no end.
        let mut policy = LogMergePolicy::default();
        policy.set_min_num_segments(MOST_OF_BULK);
        policy.set_min_layer_size(256);
        policy.set_level_log_size(3.0);
        writer.set_merge_policy(Box::new(policy));
        return Ok(writer);
    }
    // Segments of a size within 8 times each other are merged by six, and all below 64 documents count as of one size: every
    // fifth save of one note starts a merge of some hundred documents, and 100,000 chunks lie in about five to ten segments. With
    // 256 they were up to 2,000 documents, which took most of a save's processor time.
    let mut policy = LogMergePolicy::default();
    policy.set_min_num_segments(6);
    policy.set_min_layer_size(64);
    policy.set_level_log_size(3.0);
    policy.set_del_docs_ratio_before_merge(0.3);
    writer.set_merge_policy(Box::new(policy));
    Ok(writer)
}
