//! Neural embedders and rerankers from folders in the format of sentence-transformers.
//!
//! A [`Transformer`] gives texts their vectors; a [`CrossEncoder`] says how well passages answer a query. Both run on
//! the CPU in f32, except for what a reranker may round, on their own threads, and many threads can use them at once.
//! `folder` reads files, `settings` what they say, `weights` the weights; `tokens` cuts texts into tokens, and `batch`
//! puts them together. `network` knows the kinds: `bert` (with RoBERTa, XLM-RoBERTa, DistilBERT and MPNet),
//! `modernbert` and `qwen3`, which are built from `matrix`, `functions` and `attention`; `pooling` and `head` turn
//! their output into a vector or a score.

mod attention;
mod batch;
mod bert;
mod cross;
mod folder;
mod functions;
mod head;
mod matrix;
mod modernbert;
mod network;
mod pooling;
mod qwen3;
mod settings;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
mod tokens;
mod weights;

use std::path::{Path, PathBuf};

use rayon::prelude::*;

use batch::{Tokens, in_batches};
pub use cross::CrossEncoder;
use folder::Folder;
pub(super) use folder::MUST_HAVE;
use network::Network;
use pooling::Pooling;
pub(super) use settings::SENTENCE_CONFIGS;
use settings::Settings;
use tokens::Pieces;
use weights::Weights;

/// A folder holds no model that can be used, or the model could not compute.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TransformerError {
    /// A file that a model must have is not there.
    #[error("{} is not there; {hint}", file.display())]
    Missing {
        /// Which.
        file: PathBuf,
        /// What to do.
        hint: &'static str,
    },
    /// A file cannot be read, or is not what its name says.
    #[error("{}: {problem}; mend it, or download the model again", file.display())]
    Damaged {
        /// Which.
        file: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// Two files of the folder contradict each other.
    #[error("{}: {problem}; the files seem to be of different models: download the model again", file.display())]
    Mismatch {
        /// The one that was read later.
        file: PathBuf,
        /// What does not fit.
        problem: String,
    },
    /// The model is of a kind that is not known here.
    #[error("{}: {problem}; {hint}", file.display())]
    Unsupported {
        /// The file that says so.
        file: PathBuf,
        /// What is not known.
        problem: String,
        /// What to do.
        hint: &'static str,
    },
    /// The model could not compute. The texts are not repeated.
    #[error("the model in {} failed: {problem}; if it does so again, choose another model", folder.display())]
    Compute {
        /// Of the model.
        folder: PathBuf,
        /// In the words of whatever failed.
        problem: String,
    },
}

/// What a text is: some models were trained with another prefix for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextRole {
    /// What is searched for.
    Query,
    /// What is found.
    Document,
}

/// What embedders and rerankers have in common.
struct Model {
    folder: PathBuf,
    name: String,
    /// The hash of everything that results depend on, except the prefixes of texts.
    hash: blake3::Hash,
    network: Network,
    /// Values of a token's state.
    width: usize,
    pieces: Pieces,
    /// Most tokens of what is read at once, with those that begin, separate and end it.
    max_tokens: usize,
    threads: Threads,
}

impl Model {
    /// Reads the model in `folder`; `rounds` says whether its layers are rounded, as only a reranker's are. The weights
    /// come last, so that a fault of the small files is known before a large one is read, or downloaded. `first` reads
    /// of them what a model of its kind must have: others are refused before the network is read.
    fn read<T>(
        folder: &Folder,
        settings: &Settings,
        rounds: bool,
        first: impl FnOnce(&Weights<'_>, &Pieces) -> Result<T, TransformerError>,
    ) -> Result<(Self, T), TransformerError> {
        let pieces = Pieces::read(folder, settings)?;
        let weights = Weights::read(folder)?;
        let first = first(&weights, &pieces)?;
        let weights = if rounds { weights.rounding() } else { weights };
        let network = Network::read(&weights, &settings.network)?;
        pieces.must_fit(folder, network.vocabulary())?;
        let model = Model {
            name: folder.name(),
            hash: settings.hash(weights.hash(), pieces.hash()),
            network,
            width: settings.network.width(),
            pieces,
            max_tokens: settings.max_tokens,
            threads: Threads::build(folder.path(), None)?,
            folder: folder.path().to_owned(),
        };
        Ok((model, first))
    }

    fn with_threads(self, most: usize) -> Result<Self, TransformerError> {
        let threads = Threads::build(&self.folder, Some(most))?;
        Ok(Model { threads, ..self })
    }

    fn failed(&self, problem: &str) -> TransformerError {
        TransformerError::Compute { folder: self.folder.clone(), problem: problem.to_owned() }
    }
}

/// A model that turns texts into vectors.
pub struct Transformer {
    model: Model,
    pooling: Pooling,
    query_prefix: String,
    document_prefix: String,
}

impl std::fmt::Debug for Transformer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Transformer").field("identity", &self.identity()).finish_non_exhaustive()
    }
}

impl Transformer {
    /// Reads the model in `folder`: weights and tokenizer are in memory from then on. Takes a second or so per GB.
    pub fn open(folder: &Path) -> Result<Self, TransformerError> {
        Self::read(folder, false)
    }

    fn read(folder: &Path, rounds: bool) -> Result<Self, TransformerError> {
        let folder = Folder::open(folder)?;
        let settings = Settings::read(&folder)?;
        let (model, ()) = Model::read(&folder, &settings, rounds, |_, _| Ok(()))?;
        let Settings { pooling, query_prefix, document_prefix, .. } = settings;
        Ok(Transformer { model, pooling, query_prefix, document_prefix })
    }

    /// The same, on this many threads at most (0 is 1). They take their priority from the thread that calls this.
    /// Without this call there is one thread per core, or `RAYON_NUM_THREADS`.
    pub fn with_threads(self, most: usize) -> Result<Self, TransformerError> {
        Ok(Transformer { model: self.model.with_threads(most)?, ..self })
    }

    /// The same, with these prefixes. One that is not given stays as the folder names it (or empty).
    #[must_use]
    pub fn with_prefixes(self, query: Option<String>, document: Option<String>) -> Self {
        let query_prefix = query.unwrap_or(self.query_prefix);
        let document_prefix = document.unwrap_or(self.document_prefix);
        Transformer { query_prefix, document_prefix, ..self }
    }

    /// Names the model, and everything else that the vectors of documents depend on: weights, tokenizer, pooling,
    /// length, prefix. Vectors of different identities are never compared.
    pub fn identity(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        let hash = hasher.update(self.model.hash.as_bytes()).update(self.document_prefix.as_bytes()).finalize();
        format!("transformer {} {}", self.model.name, &hash.to_hex()[..16])
    }

    /// Components of a vector.
    pub fn dimensions(&self) -> usize {
        self.model.width
    }

    /// Tokens of a text that the model reads, with its prefix and those that begin and end it; what is beyond is
    /// cut off.
    pub fn max_tokens(&self) -> usize {
        self.model.max_tokens
    }

    /// How many tokens `text` has, without prefix and without those that begin and end it.
    pub fn count(&self, text: &str) -> usize {
        self.model.pieces.count(text)
    }

    /// The vectors of `texts`, in their order: [`dimensions`](Self::dimensions) values each, of length 1 (or 0, if
    /// the model says nothing at all about a text). A text too long is cut off at its end.
    pub fn embed(&self, texts: &[&str], kind: TextRole) -> Result<Vec<Vec<f32>>, TransformerError> {
        let prefix = match kind {
            TextRole::Query => &self.query_prefix,
            TextRole::Document => &self.document_prefix,
        };
        let Model { network, pieces, threads, width, .. } = &self.model;
        threads.run(|| {
            let tokens: Vec<Tokens> = texts.par_iter().map(|text| pieces.single(prefix, text)).collect();
            in_batches(&tokens, |batch| {
                let pool = |states: &[f32]| normalised(self.pooling.pool(states, *width));
                let vectors = network.read_states(batch, self.pooling, *width, pool);
                vectors.into_iter().map(|vector| vector.ok_or_else(|| self.model.failed(NOT_FINITE))).collect()
            })
        })
    }
}

/// Its weights are damaged, or it overflowed.
const NOT_FINITE: &str = "it gave a value that is not a number";

/// A vector of length 1 in the direction of `vector`; `None` if a value is not finite.
fn normalised(mut vector: Vec<f32>) -> Option<Vec<f32>> {
    let norm = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    if norm > 0.0 {
        vector.iter_mut().for_each(|x| *x /= norm);
    }
    vector.iter().all(|x| x.is_finite()).then_some(vector)
}

/// The threads that a model computes on.
struct Threads(rayon::ThreadPool);

impl Threads {
    fn build(folder: &Path, most: Option<usize>) -> Result<Self, TransformerError> {
        // 0 leaves the number to rayon.
        let count = most.map_or(0, |most| most.max(1));
        let pool =
            rayon::ThreadPoolBuilder::new().num_threads(count).thread_name(|i| format!("transformer-{i}")).build();
        let pool = pool.map_err(|error| TransformerError::Compute {
            folder: folder.to_owned(),
            problem: format!("its threads cannot be started: {error}"),
        })?;
        Ok(Threads(pool))
    }

    fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        self.0.install(work)
    }
}
