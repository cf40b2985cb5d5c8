//! Makes vectors: with the model compiled in, one in this process, or one behind HTTP.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::transformer::{TextRole, Transformer};
use index::embed::input::InputLimits;
use index::embed::settings::{EmbedConfig, EmbedProvider};
use index::embed::{Input, TextKind, Vector, builtin};
use tokio::runtime::Handle;

use crate::ledger::{OverBudget, Purpose};
use crate::models::{ModelKind, Shelf};
use crate::static_model::StaticModel;
use crate::{
    Account, Embeddings, Failure, FailureKind, Health, PerCall, ProviderRuntime, Spender, Unanswered, tokens_of,
};

/// The query timeout of embedders that answer at once.
const PATIENCE: Duration = Duration::from_mins(10);

/// Longest wait for a model that was on this machine before, and for one that has to be downloaded.
const KNOWN_MODEL: Duration = Duration::from_secs(5);
const DOWNLOAD: Duration = Duration::from_hours(6);

/// What makes vectors. Cheap to clone; clones share connections and threads.
#[derive(Clone, Debug)]
pub enum Embedder {
    /// [`builtin`].
    Builtin,
    /// A table that the user brought.
    Static(Arc<StaticModel>),
    /// It takes time: asked over HTTP, or a transformer in this process.
    Slow(Arc<SlowEmbedder>),
    /// It made vectors once, and cannot be opened any more.
    Gone(Arc<LostEmbedder>),
}

/// What is left of an embedder that cannot be opened any more.
#[derive(Debug)]
pub struct LostEmbedder {
    identity: String,
    dimensions: usize,
    why: String,
}

/// An embedder that takes time, and the threads that wait for it.
pub struct SlowEmbedder {
    identity: String,
    dimensions: usize,
    limits: InputLimits,
    query_timeout: Duration,
    /// Where the vectors of notes are made (`background`), and where those of queries (`urgent`).
    background: Handle,
    urgent: Handle,
    maker: Maker,
}

/// Who makes the vectors.
enum Maker {
    /// A model behind HTTP; `spender` pays for queries.
    Remote { client: Embeddings, prefixes: (String, String), spender: Arc<Spender> },
    /// A transformer in this process.
    Local(Arc<Transformer>),
}

impl fmt::Debug for SlowEmbedder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SlowEmbedder").field("identity", &self.identity).finish_non_exhaustive()
    }
}

/// Why there is no vector.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EmbedError {
    /// The vector did not come in time; it may still come.
    #[error("the embedder gave no vector within {:.1} s", .0.as_secs_f32())]
    Late(Duration),
    /// The provider did not answer.
    #[error("{0}")]
    Provider(Failure),
    /// The budget does not allow it.
    #[error("{0}")]
    Budget(OverBudget),
    /// The model in this process failed, or there is no thread for it.
    #[error("{0}")]
    Local(String),
}

impl EmbedError {
    /// Whether these texts will never be embedded, alone or with others.
    pub fn is_refusal(&self) -> bool {
        match self {
            EmbedError::Provider(failure) => matches!(failure.kind, FailureKind::TooLong | FailureKind::Rejected),
            EmbedError::Late(_) | EmbedError::Budget(_) | EmbedError::Local(_) => false,
        }
    }
}

impl From<Unanswered> for EmbedError {
    fn from(why: Unanswered) -> Self {
        match why {
            Unanswered::Budget(refused) => EmbedError::Budget(refused),
            Unanswered::Provider(failure) => EmbedError::Provider(failure),
        }
    }
}

/// What was made.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Made {
    /// One per input, in their order.
    pub vectors: Vec<Vector>,
}

impl Embedder {
    /// The embedder that a configuration asks for. If neither `dimensions` nor the configuration says the dimensions, a
    /// remote provider is asked for them. A transformer that is missing is downloaded to `models`: without `dimensions`
    /// this may take as long as `DOWNLOAD`.
    ///
    /// # Errors
    /// What is wrong with the configuration, or why the provider does not answer.
    pub fn open(
        config: &EmbedConfig,
        dimensions: Option<usize>,
        models: &Shelf,
        runtime: &ProviderRuntime,
        spender: &Arc<Spender>,
    ) -> Result<Self, EmbedError> {
        match config.provider {
            EmbedProvider::Builtin => Ok(Embedder::Builtin),
            EmbedProvider::Static => open_static(config).map(|model| Embedder::Static(Arc::new(model))),
            EmbedProvider::Transformer => {
                let wait = if dimensions.is_some() { KNOWN_MODEL } else { DOWNLOAD };
                SlowEmbedder::local(config, models, wait, runtime).map(|local| Embedder::Slow(Arc::new(local)))
            }
            EmbedProvider::Ollama | EmbedProvider::OpenAi | EmbedProvider::Voyage | EmbedProvider::Cohere => {
                SlowEmbedder::remote(config, dimensions, runtime, spender)
                    .map(|remote| Embedder::Slow(Arc::new(remote)))
            }
        }
    }

    /// An embedder that cannot be opened any more, and why. Vectors that it made can still be compared with each other.
    pub fn gone(identity: String, dimensions: usize, why: String) -> Self {
        Embedder::Gone(Arc::new(LostEmbedder { identity, dimensions, why }))
    }

    /// Why it cannot be used any more.
    pub fn gone_because(&self) -> Option<&str> {
        match self {
            Embedder::Gone(gone) => Some(&gone.why),
            _ => None,
        }
    }

    /// Names provider, model, dimensions and prefixes: vectors of different identities are never compared.
    pub fn identity(&self) -> &str {
        match self {
            Embedder::Builtin => builtin::IDENTITY,
            Embedder::Static(model) => model.identity(),
            Embedder::Slow(slow) => &slow.identity,
            Embedder::Gone(gone) => &gone.identity,
        }
    }

    /// Components of a vector.
    pub fn dimensions(&self) -> usize {
        match self {
            Embedder::Builtin => builtin::DIMENSIONS,
            Embedder::Static(model) => model.dimensions(),
            Embedder::Slow(slow) => slow.dimensions,
            Embedder::Gone(gone) => gone.dimensions,
        }
    }

    /// How much one input may hold.
    pub fn limits(&self) -> InputLimits {
        match self {
            // In static tables, too, the mean of many tokens blurs.
            Embedder::Builtin | Embedder::Static(_) | Embedder::Gone(_) => InputLimits::BUILTIN,
            Embedder::Slow(slow) => slow.limits,
        }
    }

    /// The client, if a provider is asked.
    fn client(&self) -> Option<&Embeddings> {
        match self {
            Embedder::Slow(slow) => slow.client(),
            Embedder::Builtin | Embedder::Static(_) | Embedder::Gone(_) => None,
        }
    }

    /// What a million tokens cost, in micro-dollars; `None` if nobody knows, 0 if it is free.
    pub fn price(&self) -> Option<u64> {
        self.client().map_or(Some(0), Embeddings::price)
    }

    /// How much one call may ask for.
    pub fn per_call(&self) -> PerCall {
        match self {
            Embedder::Builtin | Embedder::Static(_) | Embedder::Gone(_) => {
                PerCall { texts: usize::MAX, tokens: u64::MAX }
            }
            Embedder::Slow(slow) => slow.client().map_or(PerCall { texts: 32, tokens: 8000 }, Embeddings::per_call),
        }
    }

    /// Whether a vector takes microseconds and nothing outside this process, so that a save may wait for it.
    pub fn is_local_and_fast(&self) -> bool {
        matches!(self, Embedder::Builtin | Embedder::Static(_))
    }

    /// The vector of a query, from an embedder that [is local and fast](Embedder::is_local_and_fast).
    pub fn at_once(&self, text: &str) -> Option<Vector> {
        match self {
            Embedder::Builtin => Some(builtin::model().embed(text)),
            Embedder::Static(model) => Some(model.embed(text)),
            _ => None,
        }
    }

    /// The vector of an input of a document, from such an embedder.
    pub fn input_at_once(&self, input: &Input) -> Option<Vector> {
        self.inputs_at_once(&[input])?.pop()
    }

    /// The vectors of the inputs of a chunk, from such an embedder.
    pub fn inputs_at_once(&self, inputs: &[&Input]) -> Option<Vec<Vector>> {
        match self {
            Embedder::Builtin => Some(builtin::model().embed_inputs(inputs)),
            Embedder::Static(model) => Some(model.embed_inputs(inputs)),
            _ => None,
        }
    }

    /// How well the model knows the language of a query, 0..=1: see [`builtin::BuiltinModel::familiarity`] and
    /// [`StaticModel::familiarity`]. Other models cannot tell, so they are trusted with 1.
    pub fn familiarity(&self, text: &str) -> f32 {
        match self {
            Embedder::Builtin => builtin::model().familiarity(text),
            Embedder::Static(model) => model.familiarity(text),
            _ => 1.0,
        }
    }

    /// Makes the vector of a query and passes it to `done`, however late.
    pub fn embed_query_then(&self, text: &str, done: impl FnOnce(Result<Vector, EmbedError>) + Send + 'static) {
        match self {
            Embedder::Builtin => done(Ok(builtin::model().embed(text))),
            Embedder::Static(model) => done(Ok(model.embed(text))),
            Embedder::Slow(slow) => slow.query(text, done),
            Embedder::Gone(gone) => done(Err(gone.error())),
        }
    }

    /// How long a query waits for its vector.
    pub fn query_timeout(&self) -> Duration {
        match self {
            Embedder::Builtin | Embedder::Static(_) | Embedder::Gone(_) => PATIENCE,
            Embedder::Slow(slow) => slow.query_timeout,
        }
    }

    /// Makes the vectors of the inputs of documents on somebody's account and passes them to `done`: on another thread
    /// if the embedder is remote or a transformer.
    pub fn embed_then(
        &self,
        documents: &[Vec<Input>],
        account: Account,
        done: impl FnOnce(Result<Made, EmbedError>) + Send + 'static,
    ) {
        match self {
            Embedder::Builtin | Embedder::Static(_) => {
                let vectors = documents.iter().flatten().filter_map(|input| self.input_at_once(input)).collect();
                done(Ok(Made { vectors }));
            }
            Embedder::Slow(slow) => slow.embed(documents, account, done),
            Embedder::Gone(gone) => done(Err(gone.error())),
        }
    }

    /// How the provider is doing, if one is asked.
    pub fn health(&self) -> Health {
        self.client().map_or(Health::Good, Embeddings::health)
    }

    /// Forgets what stopped the provider: the user says that it works again.
    pub fn resume(&self) {
        self.client().into_iter().for_each(Embeddings::resume);
    }

    /// Where texts go, if they leave this machine.
    pub fn leaves_to(&self) -> Option<String> {
        self.client()?.leaves_to()
    }
}

/// The table that a configuration names.
fn open_static(config: &EmbedConfig) -> Result<StaticModel, EmbedError> {
    let missing = || EmbedError::Local("`embed.path` does not name the folder of the static table".to_owned());
    let folder = config.path.as_deref().ok_or_else(missing)?;
    let model = StaticModel::open(folder).map_err(|error| EmbedError::Local(error.to_string()))?;
    match config.dimensions.map(|wanted| wanted as usize) {
        Some(wanted) if wanted != model.dimensions() => Err(EmbedError::Local(format!(
            "the table in {} has vectors of {} dimensions, and `embed.dimensions` is {wanted}; leave that out",
            folder.display(),
            model.dimensions()
        ))),
        _ => Ok(model),
    }
}

impl LostEmbedder {
    fn error(&self) -> EmbedError {
        EmbedError::Local(self.why.clone())
    }
}

impl SlowEmbedder {
    fn local(
        config: &EmbedConfig,
        models: &Shelf,
        wait: Duration,
        provider: &ProviderRuntime,
    ) -> Result<Self, EmbedError> {
        let failed = |error: String| EmbedError::Local(error);
        let (background, urgent) = (provider.background().map_err(failed)?, provider.urgent().map_err(failed)?);
        // On this thread, because the download also writes files.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| failed(format!("no runtime for downloads: {error}")))?;
        let fetch = models.fetch(config.model(), ModelKind::Embedder);
        let fetched = runtime.block_on(async { tokio::time::timeout(wait, fetch).await });
        let folder = fetched.map_err(|_| EmbedError::Late(wait))?.map_err(|error| failed(error.to_string()))?;
        let model = Transformer::open(&folder).map_err(|error| failed(error.to_string()))?;
        let model = model.with_prefixes(config.query_prefix.clone(), config.document_prefix.clone());
        let prefix = config.document_prefix.as_deref().map_or(0, |prefix| model.count(prefix));
        let most = config.max_tokens.map_or(model.max_tokens(), |said| (said as usize).min(model.max_tokens()));
        Ok(SlowEmbedder {
            identity: model.identity(),
            dimensions: model.dimensions(),
            limits: InputLimits::of_model(most, prefix, false),
            query_timeout: config.query_timeout,
            background,
            urgent,
            maker: Maker::Local(Arc::new(model)),
        })
    }

    fn remote(
        config: &EmbedConfig,
        dimensions: Option<usize>,
        runtime: &ProviderRuntime,
        spender: &Arc<Spender>,
    ) -> Result<Self, EmbedError> {
        let client = Embeddings::new(config).map_err(EmbedError::Local)?;
        let background = runtime.background().map_err(EmbedError::Local)?;
        let urgent = runtime.urgent().map_err(EmbedError::Local)?;
        let said = config.dimensions.map(|dimensions| dimensions as usize);
        let dimensions = if let Some(dimensions) = said.or(dimensions) {
            dimensions
        } else {
            let (client, word) = (client.clone(), vec![vec!["dimensions".to_owned()]]);
            let account = Account::of(spender, Purpose::Probe);
            let (sender, receiver) = std::sync::mpsc::sync_channel(1);
            urgent.spawn(async move {
                // Whoever waited may have given up.
                let _ = sender.send(client.embed(&word, TextKind::Document, None, true, &account).await);
            });
            let wait = config.timeout * 6;
            let asked = receiver.recv_timeout(wait).map_err(|_| EmbedError::Late(wait))?;
            asked?.vectors.first().map_or(0, Vec::len)
        };
        let prefixes = config.prefixes();
        let prefix = tokens_of(&prefixes.1) as usize;
        Ok(SlowEmbedder {
            identity: config.identity(dimensions),
            dimensions,
            limits: InputLimits::of_model(config.max_tokens() as usize, prefix, config.is_contextual()),
            query_timeout: config.query_timeout,
            background,
            urgent,
            maker: Maker::Remote { client, prefixes, spender: spender.clone() },
        })
    }

    fn client(&self) -> Option<&Embeddings> {
        match &self.maker {
            Maker::Remote { client, .. } => Some(client),
            Maker::Local(_) => None,
        }
    }

    fn query(&self, text: &str, done: impl FnOnce(Result<Vector, EmbedError>) + Send + 'static) {
        let none = || EmbedError::Local("the embedder gave no vector".to_owned());
        let done = move |made: Result<Vec<Vector>, _>| done(made.and_then(|mut made| made.pop().ok_or_else(none)));
        match &self.maker {
            Maker::Remote { client, prefixes, spender } => {
                let texts = vec![vec![format!("{}{text}", prefixes.0)]];
                let account = Account::of(spender, Purpose::Query);
                let asked = ask(client.clone(), texts, TextKind::Query, self.dimensions, account);
                self.urgent.spawn(async move { done(asked.await) });
            }
            Maker::Local(model) => {
                let (model, text) = (model.clone(), text.to_owned());
                self.urgent.spawn_blocking(move || done(compute(&model, &[&text], TextRole::Query)));
            }
        }
    }

    fn embed(
        &self,
        documents: &[Vec<Input>],
        account: Account,
        done: impl FnOnce(Result<Made, EmbedError>) + Send + 'static,
    ) {
        let done = move |made: Result<Vec<Vector>, _>| done(made.map(|vectors| Made { vectors }));
        match &self.maker {
            Maker::Remote { client, prefixes, .. } => {
                let text = |input: &Input| format!("{}{}", prefixes.1, input.text);
                let texts = documents.iter().map(|document| document.iter().map(text).collect()).collect();
                let asked = ask(client.clone(), texts, TextKind::Document, self.dimensions, account);
                self.background.spawn(async move { done(asked.await) });
            }
            Maker::Local(model) => {
                let (model, inputs) = (model.clone(), documents.concat());
                self.background.spawn_blocking(move || {
                    let texts: Vec<&str> = inputs.iter().map(|input| input.text.as_str()).collect();
                    done(compute(&model, &texts, TextRole::Document));
                });
            }
        }
    }
}

async fn ask(
    client: Embeddings,
    texts: Vec<Vec<String>>,
    kind: TextKind,
    dimensions: usize,
    account: Account,
) -> Result<Vec<Vector>, EmbedError> {
    let is_urgent = kind == TextKind::Query;
    normalised(&client.embed(&texts, kind, Some(dimensions), is_urgent, &account).await?.vectors)
}

fn compute(model: &Transformer, texts: &[&str], role: TextRole) -> Result<Vec<Vector>, EmbedError> {
    normalised(&model.embed(texts, role).map_err(|error| EmbedError::Local(error.to_string()))?)
}

fn normalised(vectors: &[Vec<f32>]) -> Result<Vec<Vector>, EmbedError> {
    let vectors = vectors.iter().map(|vector| Vector::normalised(vector)).collect::<Option<Vec<_>>>();
    vectors.ok_or_else(|| EmbedError::Local("a vector holds what is no number".to_owned()))
}
