//! The settings that say who writes contexts, and how. Pure.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use strum::{IntoStaticStr, VariantArray};

use super::own_prompt::OwnPrompt;

/// Who writes contexts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum Provider {
    /// No contexts: chunks are searched as they are.
    None,
    /// The free template; nothing leaves the machine.
    #[default]
    Template,
    /// Anthropic's Messages interface, or a server that speaks it.
    Anthropic,
    /// Anthropic's models on AWS Bedrock.
    Bedrock,
    /// OpenAI's chat completions, or a server that speaks them.
    OpenAi,
    /// Ollama's native interface.
    Ollama,
}

impl Provider {
    /// Its name in the configuration, in `status` and in generations.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// The message that says how to get Bedrock.
pub const NO_BEDROCK: &str =
    "this program was built without Bedrock (cargo feature `bedrock`); `cargo install situated` builds it with it";

/// How an OpenAI-compatible server expects its requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum Dialect {
    /// As api.openai.com: `max_completion_tokens`, `developer` messages allowed.
    OpenAi,
    /// What every compatible server understands: `max_tokens`, `system` messages.
    #[default]
    Compat,
}

/// Whether a model may be shown a vault, and paid, without the user being asked first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum Consent {
    /// The user is told what it costs and what leaves the machine, and says yes first.
    #[default]
    Ask,
    /// The author of the configuration has agreed.
    Given,
}

/// What stands before a passage besides the context that a model wrote for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, IntoStaticStr, VariantArray)]
pub enum Levels {
    /// Nothing.
    #[default]
    #[strum(to_string = "chunk")]
    Chunk,
    /// The headings above it.
    #[strum(to_string = "section+chunk")]
    SectionChunk,
    /// What the note says of itself.
    #[strum(to_string = "document+chunk")]
    DocumentChunk,
    /// Both, as the template has them.
    #[strum(to_string = "document+section+chunk")]
    DocumentSectionChunk,
}

/// How long contexts are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum Length {
    /// All alike.
    #[default]
    Fixed,
    /// Shorter where the passage is short, or says little that is new.
    Dynamic,
}

/// What is asked of a model beside the context of a passage, in the same answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum ExpansionChoice {
    /// Nothing.
    #[default]
    Off,
    /// Questions that the passage answers, and key terms ([`crate::Expansion`]).
    Questions,
}

/// How many calls a note takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum FormChoice {
    /// The whole note in one call, or, of a long one, in a few.
    #[default]
    Auto,
    /// Like `Auto`, but one call for as many passages as an answer can hold, however long the note is.
    Note,
    /// One call per chunk, the note as a prefix that the provider may cache.
    Chunk,
}

/// Who writes contexts, and how. Also one of several generations that are compared.
#[derive(Clone, Debug, PartialEq)]
pub struct ContextConfig {
    /// Who.
    pub provider: Provider,
    /// Which model; the provider's default (see [`ContextConfig::model`]) if absent.
    pub model: Option<String>,
    /// Where, if not at the provider's own address.
    pub base_url: Option<String>,
    /// Whether the server there, though on this machine, passes texts on to other machines: a gateway, a tunnel.
    pub passes_on: bool,
    /// `anthropic-version`.
    pub api_version: String,
    /// Of an OpenAI-compatible server; decided by the address if absent.
    pub dialect: Option<Dialect>,
    /// AWS region of Bedrock.
    pub region: String,
    /// Where the key is.
    pub key: KeyConfig,
    /// Whether the user is asked before a model that costs money, or is elsewhere, writes the first context.
    pub consent: Consent,
    /// Whether structural changes are sent to the model automatically.
    pub automatic: bool,
    /// Whether a new model or prompt renews contexts automatically, in the background and within the budget.
    pub renew: bool,
    /// How long a note must be quiet before its structural changes are sent.
    pub settle: Duration,
    /// Notes with fewer chunks never get a model's context.
    pub llm_min_chunks: u32,
    /// Calls per note.
    pub form: FormChoice,
    /// The fewest words of a context; the model is then asked for [`ContextConfig::max_words`] at most. If absent, it
    /// is asked for well below `max_words`, since models overshoot.
    pub min_words: Option<u32>,
    /// The most words of a context.
    pub max_words: u32,
    /// Whether simple passages get fewer words.
    pub length: Length,
    /// What stands before a model's context.
    pub levels: Levels,
    /// What is asked for beside a context, and used in searches.
    pub expansion: ExpansionChoice,
    /// The most calls at once.
    pub concurrency: usize,
    /// Timeout of one attempt at a call.
    pub timeout: Duration,
    /// Deadline of a call with all its attempts.
    pub deadline: Duration,
    /// Sampling temperature, sent only to models that take one.
    pub temperature: f32,
    /// The most tokens of a note that a model sees; what the model reads if absent. Of a longer note it sees lead,
    /// outline and the surroundings of a passage.
    pub max_document_tokens: Option<u32>,
    /// How long Ollama keeps the model loaded, in its own notation.
    pub keep_alive: String,
    /// Further instructions, by kind of note.
    pub prompts: Vec<KindPrompt>,
    /// What the compiled-in table does not know, or knows wrongly, about models.
    pub models: Vec<ModelOverride>,
}

/// Further instructions for notes of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KindPrompt {
    /// The kind; `*` for all others.
    pub kind: String,
    /// Added to the fixed instructions.
    pub instructions: String,
    /// Replaces our prompt; then each passage takes a call.
    pub own: Option<OwnPrompt>,
    /// Part of the generation: raise it to have contexts of this kind counted as old.
    pub version: u32,
}

/// Where the key is; the first that is set is taken, the environment last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyConfig {
    /// A file that only the user can read.
    pub file: Option<PathBuf>,
    /// A command that prints it, run by `sh -c`.
    pub command: Option<String>,
    /// Name of a systemd credential; `situated-key` if absent.
    pub credential: Option<String>,
}

/// What the user knows about a model. `None` leaves what the table says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelOverride {
    /// The model's id, which is also that of its dated versions; or the beginning of several, up to a `-`.
    pub model: String,
    /// Keys and values as in `src/context/models.toml`, as TOML.
    pub table: String,
}

impl ContextConfig {
    /// The model in force: the configured one, else the provider's cheapest known one.
    pub fn model(&self) -> &str {
        self.model.as_deref().unwrap_or(match self.provider {
            Provider::None | Provider::Template => "1",
            Provider::Anthropic => "claude-haiku-5-5",
            Provider::Bedrock => "global.anthropic.claude-haiku-5-5",
            Provider::OpenAi => "gpt-6-luna",
            Provider::Ollama => "llama3.2",
        })
    }

    /// What a generation that asks `provider` at `base_url` takes of these settings: elsewhere neither key nor consent,
    /// which are for one place only.
    #[must_use]
    pub fn lent_to(&self, provider: Provider, base_url: Option<&str>) -> Self {
        let mut lent = self.clone();
        if provider != self.provider {
            lent.base_url = None;
        }
        if provider != self.provider || base_url != self.base_url.as_deref() {
            (lent.key, lent.consent) = (KeyConfig::default(), Consent::default());
        }
        lent
    }

    /// Words that a context is asked to have.
    pub fn words(&self) -> RangeInclusive<u32> {
        match self.min_words {
            Some(least) => least..=self.max_words,
            // Models overshoot, so they are asked for less than the maximum.
            None => (self.max_words / 5).max(5)..=(self.max_words.saturating_mul(3) / 5).max(15),
        }
    }

    /// Whether contexts cost money or time.
    pub fn costs(&self) -> bool {
        !matches!(self.provider, Provider::None | Provider::Template)
    }
}

impl Default for ContextConfig {
    fn default() -> Self {
        ContextConfig {
            provider: Provider::Template,
            model: None,
            base_url: None,
            passes_on: false,
            api_version: "2023-06-01".to_owned(),
            dialect: None,
            region: "us-east-1".to_owned(),
            key: KeyConfig::default(),
            consent: Consent::Ask,
            automatic: true,
            renew: false,
            settle: Duration::from_secs(30),
            llm_min_chunks: 2,
            form: FormChoice::Auto,
            min_words: None,
            max_words: 100,
            length: Length::Fixed,
            levels: Levels::Chunk,
            expansion: ExpansionChoice::Off,
            concurrency: 10,
            timeout: Duration::from_mins(1),
            deadline: Duration::from_mins(5),
            temperature: 0.3,
            max_document_tokens: None,
            keep_alive: "10m".to_owned(),
            prompts: Vec::new(),
            models: Vec::new(),
        }
    }
}
