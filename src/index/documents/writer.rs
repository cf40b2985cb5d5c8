//! tantivy's writer: one for saves, one for a bulk, and one for a bulk where memory is tight.

use tantivy::IndexWriter;
use tantivy::indexer::{IndexWriterOptions, LogMergePolicy};

/// Memory of a writer for saves, and of a lean bulk: the least that tantivy allows.
const SMALL_HEAP: usize = 15_000_000;
/// Memory of each thread of a writer that builds a vault's first index; when it is full, a segment ends.
const BULK_HEAP: usize = 48_000_000;
/// Segments of about one size that a bulk leaves unmerged.
const MOST_OF_BULK: usize = 40;
/// From this many processors on a bulk has two threads. Each thread writes its own segments, so two threads write and
/// merge every word twice. One thread takes a third of the cost of a first index, so with three processors it keeps up
/// with the other work.
const MANY_PROCESSORS: usize = 4;

/// How a bulk is written.
#[derive(Clone, Copy)]
pub(crate) struct Bulk {
    /// Runs on the thread that starts the threads of the bulk.
    pub(crate) prepare: fn(),
    /// Whether it takes no more memory than saves do.
    pub(crate) lean: bool,
}

impl Bulk {
    fn threads(self) -> usize {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        if self.lean || processors < MANY_PROCESSORS { 1 } else { 2 }
    }

    /// Memory of each thread.
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
    // A thread inherits the priority of the thread that starts it: those of a bulk give way to everything else.
    let writer = if bulk.is_some() {
        let started = std::thread::scope(|scope| scope.spawn(start).join());
        started.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?
    } else {
        start()?
    };
    // A writer that died or failed within a commit leaves files whose names this writer would use again.
    writer.garbage_collect_files().wait()?;
    let mut policy = LogMergePolicy::default();
    policy.set_level_log_size(3.0);
    if bulk.is_some() {
        // While a vault is built, both cores are needed for building; its segments are merged once, afterwards. A first
        // index has fewer segments than this limit, but if saves come faster than they can be indexed, a bulk never
        // ends.
        policy.set_min_num_segments(MOST_OF_BULK);
        policy.set_min_layer_size(256);
    } else {
        // Segments whose sizes are within a factor of 8 are merged by six, and all below 64 documents count as one size.
        // So every fifth save of one note starts a merge of some hundred documents, and 100,000 chunks are in about five
        // to ten segments. With 256 instead of 64 a merge had up to 2,000 documents, which took most of a save's
        // processor time.
        policy.set_min_num_segments(6);
        policy.set_min_layer_size(64);
        policy.set_del_docs_ratio_before_merge(0.3);
    }
    writer.set_merge_policy(Box::new(policy));
    Ok(writer)
}
