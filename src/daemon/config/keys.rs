//! The one table of scalar keys: how each is named, explained, read and shown.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::Config;
use super::units::{self, Value};
use context::cost::decimal_dollars;
use engine::settings::HostConfig;

/// A scalar key of the configuration.
pub(super) struct Key {
    /// Its section, `""` for keys above the first section.
    pub section: &'static str,
    /// Its name in the section.
    pub name: &'static str,
    /// One line for `situated init`.
    pub about: &'static str,
    /// A value for `situated init`, if there is no default: as TOML, or of a `key_file` its name.
    pub example: &'static str,
    /// Reads a value as typed; the error says what would be right.
    pub set: fn(&mut Config, &Value) -> Result<(), String>,
    /// The value as TOML; `None` if it is not set and has no default that could be written down.
    pub get: fn(&Config) -> Option<String>,
}

impl Key {
    /// `section.name`.
    pub(super) fn full(&self) -> String {
        if self.section.is_empty() { self.name.to_owned() } else { format!("{}.{}", self.section, self.name) }
    }

    /// Its variable in the environment: `SITUATED_SEARCH_LIMIT`.
    pub(super) fn variable(&self) -> String {
        format!("SITUATED_{}", self.full().replace('.', "_").to_uppercase())
    }
}

/// The sections of scalar keys, in the order in which they are shown.
pub(super) const SECTIONS: [(&str, &str); 12] = [
    ("watch", "When changes are looked at."),
    ("chunk", "How notes are cut into chunks; sizes in tokens."),
    ("context", "What is written about each chunk to situate it in its note."),
    ("embed", "What turns text into vectors."),
    ("search", "What answers look like unless a request says otherwise."),
    ("rerank", "Who judges the best of a search anew, if anybody. Costs count against `budget.day`."),
    ("ask", "How questions are answered: `situated ask`, by the provider of [context]."),
    ("mcp", "What assistants may do: `situated mcp`."),
    ("sync", "The daily look after contexts that serve and should be better."),
    ("budget", "What may be spent on models' contexts and vectors. Each call is reserved here before it is made."),
    ("serve", "The socket."),
    ("host", "What the daemon takes from its host: files, battery, memory."),
];

/// Shown in place of a value that is set but secret.
pub(super) const HIDDEN: &str = "(set)";

/// The sizes of `[chunk]`: what is not given depends on the strategy.
pub(super) const SIZES: [&str; 4] = ["target", "min", "max", "overlap"];

/// The keys of a `[[context.prompt]]`.
pub(super) const PROMPT_KEYS: [&str; 5] = ["kind", "instructions", "template", "preset", "version"];

/// The keys of a `[[vault]]`, each with a line for `situated init`.
pub(super) const VAULT_KEYS: [(&str, &str); 9] = [
    ("name", "What the vault is called in commands and answers; the folder's name if absent."),
    ("path", "The folder of notes: absolute, or below `~/`."),
    ("exclude", "What is left out, in the syntax of .gitignore: folders, or kinds of files (\"*.pdf\")."),
    (
        "private",
        "What no assistant is shown and no provider is sent, in the same syntax; `#private` in a note does the same.",
    ),
    ("max_note_bytes", "Larger files are skipped, and `situated status` says so."),
    ("poll", "true looks at the whole vault now and then instead of listening; chosen by file system if absent."),
    ("comments", "true searches %%comments%% and HTML comments, too."),
    ("publish", "The team, of a [team.NAME] below, that its notes are published for; private ones never are."),
    ("kinds", "Kinds of notes by folder, first match wins."),
];

/// The name of the tables of teams.
pub(super) const TEAM: &str = "team";

/// Their keys, with a line for `situated init` each.
pub(super) const TEAM_KEYS: [(&str, &str); 10] = [
    ("url", "The address of a Qdrant server."),
    ("replicas", "Other nodes of the same cluster: asked where `url` does not answer."),
    (
        "passes_on",
        "true if what answers at an address of this machine is not on it (a tunnel): then notes and queries leave it, and `status` says so.",
    ),
    ("collection", "What the team's collection is called there: one for each circle of readers."),
    ("key_file", "A file that only you can read, with the key of the collection."),
    ("key_command", "A command that prints the key."),
    ("key_credential", "The name of a systemd credential that holds the key."),
    (
        "ca_file",
        "Certificates (PEM) of who vouches for the server, if this machine does not trust it: nobody else is believed then.",
    ),
    ("timeout", "How long a search waits for it; then the vaults here answer alone, and the answer says so."),
    ("search", "false leaves it out of searches, for who only publishes."),
];

const DAY: Duration = Duration::from_hours(24);
const MS: Duration = Duration::from_millis(1);
const MINUTE: Duration = Duration::from_mins(1);
const TOKENS: u64 = 1_000_000_000_000;

fn quoted(text: impl AsRef<str>) -> Option<String> {
    Some(units::quoted(text.as_ref()))
}

fn time(duration: Duration) -> Option<String> {
    quoted(units::show_duration(duration))
}

fn table(shares: &BTreeMap<String, f32>) -> String {
    let items = shares.iter().map(|(name, share)| format!("{} = {share:?}", toml::Value::String(name.clone())));
    format!("{{ {} }}", items.collect::<Vec<_>>().join(", "))
}

/// The name of a [`units::variant`].
fn name(variant: impl Into<&'static str>) -> Option<String> {
    quoted(variant.into())
}

macro_rules! key {
    ($section:literal $name:literal, $about:literal $(=> $example:literal)?, |$c:ident, $v:ident| $set:expr, $get:expr) => {
        Key {
            section: $section,
            name: $name,
            about: $about,
            example: concat!($($example)?),
            set: |$c: &mut Config, $v: &Value| {
                $set;
                Ok(())
            },
            get: |$c: &Config| $get,
        }
    };
}

/// Every scalar key, in the order in which they are shown.
pub(super) static KEYS: &[Key] = &[
    key!("" "data_dir", "Where indexes live, one folder per vault. Never inside a vault.",
        |c, v| c.engine.data_dir = units::path(v)?, quoted(c.engine.data_dir.to_string_lossy())),
    key!("" "open", "What opens a note for you: \"editor\" ($VISUAL, $EDITOR), \"obsidian\", or \"command CMD {path} {line}\".",
        |c, v| c.open = units::opener(v)?, quoted(units::show_opener(&c.open))),
    key!("watch" "quiet", "Quiet after a lone change before it is read.",
        |c, v| c.engine.watch.lone = units::duration(v, MS..=MINUTE)?, time(c.engine.watch.lone)),
    key!("watch" "burst", "Quiet after several changes.",
        |c, v| c.engine.watch.burst = units::duration(v, MS..=MINUTE)?, time(c.engine.watch.burst)),
    key!("watch" "storm", "Quiet after a storm (a checkout, a sync), and while git works.",
        |c, v| c.engine.watch.storm = units::duration(v, MS..=10 * MINUTE)?, time(c.engine.watch.storm)),
    key!("watch" "storm_paths", "Changed paths that make a storm.",
        |c, v| c.engine.watch.storm_paths = units::count(v, 2..=1_000_000)? as usize, Some(c.engine.watch.storm_paths.to_string())),
    key!("watch" "walk_interval", "How often all of a vault is compared with the index, whatever was heard.",
        |c, v| c.engine.watch.walk_interval = units::duration(v, Duration::from_secs(1)..=7 * DAY)?, time(c.engine.watch.walk_interval)),
    key!("watch" "poll_interval", "The same for vaults that cannot be listened to.",
        |c, v| c.engine.watch.poll_interval = units::duration(v, 100 * MS..=DAY)?, time(c.engine.watch.poll_interval)),
    key!("watch" "doubt", "How long a vault that a walk finds gone or emptied is doubted before notes are dropped.",
        |c, v| c.engine.watch.doubt = units::duration(v, 100 * MS..=DAY)?, time(c.engine.watch.doubt)),
    key!("chunk" "strategy",
        "\"obsidian\" (sections, small ones merged), \"markdown\" (sections), \"semantic\" (long sections cut where the subject changes), \"sentence\" or \"fixed\". Each has sizes of its own if none are given.",
        |c, v| c.engine.chunk.plain.strategy = units::strategy(v)?, quoted(c.engine.chunk.plain.strategy.name())),
    key!("chunk" "target", "What a chunk should reach before the next one is begun.",
        |c, v| c.engine.chunk.plain.target = units::count(v, 20..=8000)? as u32, Some(c.engine.chunk.plain.target.to_string())),
    key!("chunk" "min", "Smaller chunks are merged with a neighbour.",
        |c, v| c.engine.chunk.plain.min = units::count(v, 0..=8000)? as u32, Some(c.engine.chunk.plain.min.to_string())),
    key!("chunk" "max", "No chunk is larger; a longer line is cut.",
        |c, v| c.engine.chunk.plain.max = units::count(v, 20..=8000)? as u32, Some(c.engine.chunk.plain.max.to_string())),
    key!("chunk" "overlap", "What is repeated where a section has to be split, in percent of the target.",
        |c, v| c.engine.chunk.plain.overlap_percent = units::percent(v, 0..=50)?, Some(c.engine.chunk.plain.overlap_percent.to_string())),
    key!("context" "provider",
        "\"template\": free, made from the note itself, nothing leaves the machine. \"none\": no contexts. Or a model of \"anthropic\", \"bedrock\", \"openai\" (or compatible), \"ollama\".",
        |c, v| c.engine.context.provider = units::variant(v)?,
        name(c.engine.context.provider)),
    key!("context" "model", "The model; the provider's cheapest known one if absent." => "\"claude-haiku-5-5\"",
        |c, v| c.engine.context.model = Some(units::plain(v, |c| !c.is_whitespace() && !c.is_control(), "the model's id as the provider spells it")?),
        c.engine.context.model.as_ref().and_then(quoted)),
    key!("context" "base_url", "Where the model is asked; the provider's own address if absent. Plain http only on this machine." => "\"http://127.0.0.1:11434\"",
        |c, v| c.engine.context.base_url = Some(units::address(v)?), c.engine.context.base_url.as_ref().and_then(quoted)),
    key!("context" "passes_on", "true if what answers at `base_url` on this machine hands texts on to other machines (a gateway, a tunnel): then private notes are kept from it, and it is not taken to be free.",
        |c, v| c.engine.context.passes_on = units::boolean(v)?, Some(c.engine.context.passes_on.to_string())),
    key!("context" "api_version", "Anthropic's `anthropic-version`.",
        |c, v| c.engine.context.api_version = units::plain(v, |c| c.is_ascii_alphanumeric() || c == '-', "a version such as \"2023-06-01\"")?,
        quoted(&c.engine.context.api_version)),
    key!("context" "dialect", "Of an OpenAI-compatible server: \"openai\" or \"compat\"; decided by the address if absent." => "\"compat\"",
        |c, v| c.engine.context.dialect = Some(units::variant(v)?), c.engine.context.dialect.and_then(name)),
    key!("context" "region", "AWS region of Bedrock.",
        |c, v| c.engine.context.region = units::plain(v, |c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-', "a region such as \"eu-central-1\"")?,
        quoted(&c.engine.context.region)),
    key!("context" "key_file", "A file with the provider's key, that only you can read." => "key",
        |c, v| c.engine.context.key.file = Some(units::key_file(v)?),
        c.engine.context.key.file.as_ref().and_then(|path| quoted(path.to_string_lossy()))),
    key!("context" "key_command", "Or a command that prints the key, run by `sh -c`. Never shown." => "\"pass show situated\"",
        |c, v| c.engine.context.key.command = Some(units::words(v)?), c.engine.context.key.command.as_ref().map(|_| HIDDEN.to_owned())),
    key!("context" "key_credential", "Or the name of a systemd credential; `situated-key` if absent." => "\"situated-key\"",
        |c, v| c.engine.context.key.credential = Some(units::credential(v)?), c.engine.context.key.credential.as_ref().and_then(quoted)),
    key!("context" "consent", "\"ask\": a model that costs money or is elsewhere writes nothing before you have said `situated contexts start`. \"given\": you agree here.",
        |c, v| c.engine.context.consent = units::variant(v)?, name(c.engine.context.consent)),
    key!("context" "automatic", "Whether sections that are new or renamed are sent to the model by themselves.",
        |c, v| c.engine.context.automatic = units::boolean(v)?, Some(c.engine.context.automatic.to_string())),
    key!("context" "renew", "Whether another model or prompt has old contexts written anew by itself, within the budget.",
        |c, v| c.engine.context.renew = units::boolean(v)?, Some(c.engine.context.renew.to_string())),
    key!("context" "settle", "Quiet of a note before its new sections are sent.",
        |c, v| c.engine.context.settle = units::duration(v, Duration::ZERO..=DAY)?, time(c.engine.context.settle)),
    key!("context" "llm_min_chunks", "Notes with fewer chunks never get a model's context.",
        |c, v| c.engine.context.llm_min_chunks = units::count(v, 1..=1_000_000)? as u32, Some(c.engine.context.llm_min_chunks.to_string())),
    key!("context" "form", "\"note\": few calls for a whole note, \"chunk\": one per chunk, \"auto\": few, with fewer passages in each for long notes.",
        |c, v| c.engine.context.form = units::variant(v)?, name(c.engine.context.form)),
    key!("context" "min_words", "Words of a context at least; then `max_words` are asked for at most, and shorter or longer ones count as poorer." => "50",
        |c, v| c.engine.context.min_words = Some(units::count(v, 5..=400)? as u32), c.engine.context.min_words.map(|n| n.to_string())),
    key!("context" "length", "\"fixed\", or \"dynamic\": fewer words for passages that are short or say little.",
        |c, v| c.engine.context.length = units::variant(v)?, name(c.engine.context.length)),
    key!("context" "levels", "What goes before what a model wrote: \"chunk\" (nothing), \"section+chunk\" (the headings), \"document+chunk\" (what the note says of itself), \"document+section+chunk\".",
        |c, v| c.engine.context.levels = units::variant(v)?, name(c.engine.context.levels)),
    key!("context" "expansion", "\"off\"; or \"questions\": the model also writes 3 to 5 questions that a passage answers, and key terms, in the same answer, which is two or three times as long. They are searched and never shown. Not measured yet.",
        |c, v| c.engine.context.expansion = units::variant(v)?, name(c.engine.context.expansion)),
    key!("context" "max_words", "Words of a context at most.",
        |c, v| c.engine.context.max_words = units::count(v, 20..=400)? as u32, Some(c.engine.context.max_words.to_string())),
    key!("context" "concurrency", "Calls at once at most.",
        |c, v| c.engine.context.concurrency = units::count(v, 1..=256)? as usize, Some(c.engine.context.concurrency.to_string())),
    key!("context" "timeout", "After this one attempt at a call is given up.",
        |c, v| c.engine.context.timeout = units::duration(v, Duration::from_secs(1)..=60 * MINUTE)?, time(c.engine.context.timeout)),
    key!("context" "deadline", "After this a call is given up with all its attempts.",
        |c, v| c.engine.context.deadline = units::duration(v, Duration::from_secs(1)..=DAY)?, time(c.engine.context.deadline)),
    key!("context" "temperature", "Sent only to models that take one.",
        |c, v| c.engine.context.temperature = units::number(v, 0.0..=2.0)?, Some(format!("{:?}", c.engine.context.temperature))),
    key!("context" "max_document_tokens", "Tokens of a note that the model is shown; all that it reads at its usual price if absent (12000 of one on this machine). Of longer ones it sees lead, outline and neighbourhood." => "12000",
        |c, v| c.engine.context.max_document_tokens = Some(units::count(v, 500..=1_000_000)? as u32), c.engine.context.max_document_tokens.map(|n| n.to_string())),
    key!("context" "keep_alive", "How long Ollama keeps the model loaded: \"10m\", \"0\", or \"-1\" for ever.",
        |c, v| c.engine.context.keep_alive = units::plain(v, |c| c.is_ascii_alphanumeric() || matches!(c, '-' | '.'), "a duration as Ollama takes it, such as \"10m\", \"0\" or \"-1\"")?,
        quoted(&c.engine.context.keep_alive)),
    key!("embed" "provider",
        "\"builtin\": the model compiled in; nothing is downloaded or sent. Or \"static\" (a table of yours: `path`), \"transformer\" (in this process), \"ollama\", \"openai\" (or compatible), \"voyage\", \"cohere\".",
        |c, v| c.engine.embed.provider = units::variant(v)?,
        name(c.engine.embed.provider)),
    key!("embed" "model", "The model; a cheap one of the provider if absent. Of \"transformer\": a folder or a hub's id." => "\"nomic-embed-text\"",
        |c, v| c.engine.embed.model = Some(units::plain(v, |c| !c.is_control(), "the model's id as the provider spells it")?),
        c.engine.embed.model.as_ref().and_then(quoted)),
    key!("embed" "path", "Of \"static\": the folder of the table, with model.safetensors and tokenizer.json as model2vec writes them. It is in memory: a byte for each of its numbers." => "\"~/models/potion-multilingual-128M\"",
        |c, v| c.engine.embed.path = Some(units::path(v)?), c.engine.embed.path.as_ref().and_then(|path| quoted(path.to_string_lossy()))),
    key!("embed" "base_url", "Where vectors are asked for; the provider's own address if absent. Plain http only on this machine." => "\"http://127.0.0.1:11434\"",
        |c, v| c.engine.embed.base_url = Some(units::address(v)?), c.engine.embed.base_url.as_ref().and_then(quoted)),
    key!("embed" "passes_on", "true if what answers at `base_url` on this machine hands texts on to other machines (a gateway, a tunnel): then private notes are kept from it, and it is not taken to be free.",
        |c, v| c.engine.embed.passes_on = units::boolean(v)?, Some(c.engine.embed.passes_on.to_string())),
    key!("embed" "key_file", "A file with the provider's key, that only you can read." => "embed-key",
        |c, v| c.engine.embed.key.file = Some(units::key_file(v)?),
        c.engine.embed.key.file.as_ref().and_then(|path| quoted(path.to_string_lossy()))),
    key!("embed" "key_command", "Or a command that prints the key, run by `sh -c`. Never shown." => "\"pass show situated-embed\"",
        |c, v| c.engine.embed.key.command = Some(units::words(v)?), c.engine.embed.key.command.as_ref().map(|_| HIDDEN.to_owned())),
    key!("embed" "key_credential", "Or the name of a systemd credential; `situated-key` if absent." => "\"situated-key\"",
        |c, v| c.engine.embed.key.credential = Some(units::credential(v)?), c.engine.embed.key.credential.as_ref().and_then(quoted)),
    key!("embed" "consent", "\"ask\": an embedder that costs money or is elsewhere is shown no note before you have said `situated contexts start`. \"given\": you agree here.",
        |c, v| c.engine.embed.consent = units::variant(v)?, name(c.engine.embed.consent)),
    key!("embed" "dimensions", "Components of a vector, for models that can give several numbers of them." => "512",
        |c, v| c.engine.embed.dimensions = Some(units::count(v, 2..=8192)? as u32), c.engine.embed.dimensions.map(|n| n.to_string())),
    key!("embed" "query_prefix", "Stands before queries; what the model is known to want if absent." => "\"search_query: \"",
        |c, v| c.engine.embed.query_prefix = Some(units::prefix(v)?), c.engine.embed.query_prefix.as_ref().and_then(quoted)),
    key!("embed" "document_prefix", "Stands before what is indexed; what the model is known to want if absent." => "\"search_document: \"",
        |c, v| c.engine.embed.document_prefix = Some(units::prefix(v)?), c.engine.embed.document_prefix.as_ref().and_then(quoted)),
    key!("embed" "text_vectors", "Also embed texts without their contexts, for `search --no-context`: costs as much again. The built-in model makes them when such a search asks.",
        |c, v| c.engine.embed.text_vectors = units::boolean(v)?, Some(c.engine.embed.text_vectors.to_string())),
    key!("embed" "max_tokens", "Tokens of one text that the model takes; what is known of it, or 512, if absent." => "2048",
        |c, v| c.engine.embed.max_tokens = Some(units::count(v, 64..=1_000_000)? as u32), c.engine.embed.max_tokens.map(|n| n.to_string())),
    key!("embed" "concurrency", "Calls at once at most.",
        |c, v| c.engine.embed.concurrency = units::count(v, 1..=256)? as usize, Some(c.engine.embed.concurrency.to_string())),
    key!("embed" "timeout", "After this one attempt at a call is given up.",
        |c, v| c.engine.embed.timeout = units::duration(v, 100 * MS..=60 * MINUTE)?, time(c.engine.embed.timeout)),
    key!("embed" "query_timeout", "After this a query is answered by words alone.",
        |c, v| c.engine.embed.query_timeout = units::duration(v, MS..=MINUTE)?, time(c.engine.embed.query_timeout)),
    key!("embed" "price_per_mtok", "Dollars per million tokens; what is known of the model if absent. An unknown price is never taken for none." => "0.02",
        |c, v| c.engine.embed.price_per_mtok = Some(units::dollars(v)?), c.engine.embed.price_per_mtok.map(decimal_dollars)),
    key!("search" "limit", "Hits at most.",
        |c, v| c.engine.search.limit = units::count(v, 1..=200)? as usize, Some(c.engine.search.limit.to_string())),
    key!("search" "per_note", "Hits of one note at most.",
        |c, v| c.engine.search.per_note = units::count(v, 1..=200)? as usize, Some(c.engine.search.per_note.to_string())),
    key!("search" "window_chars", "Characters of a hit with its neighbours; more than a chunk of the usual size has.",
        |c, v| c.engine.search.window_chars = units::count(v, 0..=100_000)? as usize, Some(c.engine.search.window_chars.to_string())),
    key!("search" "dense_weight", "Weight of meaning, from 0 (words alone) to 1 (meaning alone).",
        |c, v| c.engine.search.dense_weight = units::share(v)?, Some(format!("{:?}", c.engine.search.dense_weight))),
    key!("search" "expansion_weight", "Weight of questions and terms that a model wrote (context.expansion) beside words of the text, from 0 (none) to 1.",
        |c, v| c.engine.search.expansion_weight = units::share(v)?, Some(format!("{:?}", c.engine.search.expansion_weight))),
    key!("search" "language", "What words are stemmed as: \"auto\" looks at each note (front matter `lang:` decides), or one language for all. Taken over at the next start, which indexes the words anew.",
        |c, v| c.engine.search.language = units::one_of(v, &["auto", "en", "de", "fr", "es", "it", "pt", "nl", "ru", "sv", "no", "da", "fi"].map(|word| (word, word)))?.to_owned(), quoted(&c.engine.search.language)),
    key!("search" "graph_weight", "What a note gains by its place among the links, from 0 (nothing) to 1.",
        |c, v| c.engine.search.graph_weight = units::share(v)?, Some(format!("{:?}", c.engine.search.graph_weight))),
    key!("search" "link_weight", "What a note gains that the query names; half of it one that is linked with such a note.",
        |c, v| c.engine.search.link_weight = units::share(v)?, Some(format!("{:?}", c.engine.search.link_weight))),
    key!("search" "recency_weight", "What a note of today gains, by its date or else its last modification.",
        |c, v| c.engine.search.recency_weight = units::share(v)?, Some(format!("{:?}", c.engine.search.recency_weight))),
    key!("search" "date_weight", "What a note gains that is of the time which the query names: \"in March\", \"last Tuesday\"; \"status of\" asks for the newest.",
        |c, v| c.engine.search.date_weight = units::share(v)?, Some(format!("{:?}", c.engine.search.date_weight))),
    key!("search" "recency_half_life", "After this time it is half of that.",
        |c, v| c.engine.search.recency_half_life = units::duration(v, Duration::from_hours(1)..=36_500 * DAY)?, time(c.engine.search.recency_half_life)),
    key!("search" "type_weights", "What notes of a kind gain.",
        |c, v| c.engine.search.type_weights = units::shares(v)?, Some(table(&c.engine.search.type_weights))),
    key!("rerank" "provider",
        "\"none\"; or the best chunks and the query are sent to a model of \"cohere\", \"voyage\", \"jina\", \"tei\" (also llama-server, infinity, vLLM, LiteLLM). \"transformer\": a cross-encoder in this process.",
        |c, v| c.engine.rerank.provider = units::variant(v)?,
        name(c.engine.rerank.provider)),
    key!("rerank" "model", "The model; the provider's quick one if absent. With \"tei\" for servers that have several, with \"transformer\" what `situated models add cross-encoder` has added, or a folder." => "\"rerank-v5.0-pro\"",
        |c, v| c.engine.rerank.model = Some(units::plain(v, |c| !c.is_whitespace() && !c.is_control(), "the model's id as the provider spells it")?),
        c.engine.rerank.model.as_ref().and_then(quoted)),
    key!("rerank" "base_url", "Where it is asked; the provider's own address if absent. Plain http only on this machine." => "\"http://127.0.0.1:8080\"",
        |c, v| c.engine.rerank.base_url = Some(units::address(v)?), c.engine.rerank.base_url.as_ref().and_then(quoted)),
    key!("rerank" "passes_on", "true if what answers at `base_url` on this machine hands texts on to other machines (a gateway, a tunnel): then private notes are kept from it, and it is not taken to be free.",
        |c, v| c.engine.rerank.passes_on = units::boolean(v)?, Some(c.engine.rerank.passes_on.to_string())),
    key!("rerank" "key_file", "A file with the provider's key, that only you can read." => "rerank-key",
        |c, v| c.engine.rerank.key.file = Some(units::key_file(v)?),
        c.engine.rerank.key.file.as_ref().and_then(|path| quoted(path.to_string_lossy()))),
    key!("rerank" "key_command", "Or a command that prints the key, run by `sh -c`. Never shown." => "\"pass show reranker\"",
        |c, v| c.engine.rerank.key.command = Some(units::words(v)?), c.engine.rerank.key.command.as_ref().map(|_| HIDDEN.to_owned())),
    key!("rerank" "key_credential", "Or the name of a systemd credential." => "\"reranker-key\"",
        |c, v| c.engine.rerank.key.credential = Some(units::credential(v)?), c.engine.rerank.key.credential.as_ref().and_then(quoted)),
    key!("rerank" "consent", "\"ask\": a reranker that costs money or is elsewhere judges only searches with `--rerank` before you have said `situated contexts start`. \"given\": you agree here.",
        |c, v| c.engine.rerank.consent = units::variant(v)?, name(c.engine.rerank.consent)),
    key!("rerank" "when", "Which searches it judges: \"always\", or \"asked\": those with `--rerank`. A \"transformer\" takes all cores for some .3 s, longer on older ones, so it is \"asked\" unless you say otherwise." => "\"always\"",
        |c, v| c.engine.rerank.when = Some(units::variant(v)?), c.engine.rerank.when.and_then(name)),
    key!("rerank" "top", "Chunks that are judged at most; 20 with \"transformer\", which reads each beside the query on your processor." => "100",
        |c, v| c.engine.rerank.top = Some(units::count(v, 1..=1000)? as usize), c.engine.rerank.top.map(|n| n.to_string())),
    key!("rerank" "deadline", "After this a search is answered in its first order; 5s with \"transformer\", whose model is read at the first search." => "\"1500ms\"",
        |c, v| c.engine.rerank.deadline = Some(units::duration(v, 10 * MS..=MINUTE)?), c.engine.rerank.deadline.and_then(time)),
    key!("rerank" "price_per_mtok", "Dollars per million tokens, if that is how it is billed; unknown if absent." => "0.05",
        |c, v| c.engine.rerank.price_per_mtok = Some(units::dollars(v)?), c.engine.rerank.price_per_mtok.map(decimal_dollars)),
    key!("rerank" "price_per_1k", "Or dollars per thousand searches." => "2.00",
        |c, v| c.engine.rerank.price_per_1k = Some(units::dollars(v)?), c.engine.rerank.price_per_1k.map(decimal_dollars)),
    key!("search" "expand", "What the model of [context] adds to a query: \"off\", \"queries\" (other phrasings) or \"hyde\" (a passage).",
        |c, v| c.engine.search.expand = units::variant(v)?, name(c.engine.search.expand)),
    key!("ask" "model", "Another model of the same provider than the one that writes contexts." => "\"claude-haiku-5-5\"",
        |c, v| c.engine.ask.model = Some(units::words(v)?), c.engine.ask.model.as_ref().and_then(quoted)),
    key!("ask" "passages", "Passages that the model is shown; each is a hit with its neighbours (search.window_chars).",
        |c, v| c.engine.ask.passages = units::count(v, 1..=50)? as usize, Some(c.engine.ask.passages.to_string())),
    key!("ask" "max_tokens", "Tokens of an answer at most.",
        |c, v| c.engine.ask.max_tokens = units::count(v, 50..=32_000)? as u32, Some(c.engine.ask.max_tokens.to_string())),
    key!("mcp" "allow_spending", "Whether an assistant may have a model asked that costs money (rebuilds, answers, contexts), within the budget.",
        |c, v| c.engine.assistants_may_spend = units::boolean(v)?, Some(c.engine.assistants_may_spend.to_string())),
    key!("sync" "background", "Whether stale, drifted and failed contexts are looked after by themselves, within the budget.",
        |c, v| c.engine.sync.background = units::boolean(v)?, Some(c.engine.sync.background.to_string())),
    key!("sync" "interval", "How often.",
        |c, v| c.engine.sync.interval = units::duration(v, Duration::from_secs(1)..=365 * DAY)?, time(c.engine.sync.interval)),
    key!("budget" "day", "Dollars a day, in your time zone; 0 buys nothing.",
        |c, v| c.engine.budget.day = units::dollars(v)?, Some(decimal_dollars(c.engine.budget.day))),
    key!("budget" "rebuild", "Dollars per rebuild.",
        |c, v| c.engine.budget.rebuild = units::dollars(v)?, Some(decimal_dollars(c.engine.budget.rebuild))),
    key!("budget" "day_tokens", "Tokens a day, read and written, for models whose price is not known.",
        |c, v| c.engine.budget.day_tokens = units::count(v, 0..=TOKENS)?, Some(c.engine.budget.day_tokens.to_string())),
    key!("budget" "rebuild_tokens", "The same per rebuild.",
        |c, v| c.engine.budget.rebuild_tokens = units::count(v, 0..=TOKENS)?, Some(c.engine.budget.rebuild_tokens.to_string())),
    key!("serve" "socket", "Where the socket is; chosen in the user's runtime folder if absent." => "\"~/.local/state/situated/sock\"",
        |c, v| c.serve.socket = Some(units::path(v)?),
        c.serve.socket.as_ref().and_then(|path| quoted(path.to_string_lossy()))),
    key!("serve" "max_connections", "Connections at once.",
        |c, v| c.serve.max_connections = units::count(v, 1..=1024)? as usize, Some(c.serve.max_connections.to_string())),
    key!("serve" "query_timeout", "After this a query is given up.",
        |c, v| c.serve.query_timeout = units::duration(v, 10 * MS..=10 * MINUTE)?, time(c.serve.query_timeout)),
    key!("host" "sandbox", "\"auto\" has the kernel (Landlock) keep the daemon to the vaults and its own folders; \"off\".",
        |c, v| c.engine.host.sandbox = units::one_of(v, &[("auto", true), ("off", false)])?,
        quoted(if c.engine.host.sandbox { "auto" } else { "off" })),
    key!("host" "battery", "On battery, work in bulk waits below 50 %, and all work but saves below 20 %: \"auto\", or \"ignore\".",
        |c, v| c.engine.host.battery = battery(v)?, quoted(shown_battery(&c.engine.host))),
    key!("host" "memory", "Above so much memory that no file backs, work in bulk goes on in small steps.",
        |c, v| c.engine.host.memory = units::bytes(v, 4 << 20..=1 << 40)?, quoted(units::show_bytes(c.engine.host.memory))),
    key!("host" "memory_max", "The most that it may be; new notes wait before that. The control group's limit if absent." => "\"1 GiB\"",
        |c, v| c.engine.host.memory_max = Some(units::bytes(v, 4 << 20..=1 << 40)?),
        c.engine.host.memory_max.and_then(|most| quoted(units::show_bytes(most)))),
];

/// Besides `auto` and `ignore`, a folder can be named, for systems whose own folder is not complete.
fn battery(value: &Value) -> Result<Option<PathBuf>, String> {
    match value {
        Value::Typed(text) | Value::Text(text) if text.starts_with('/') => units::path(value).map(Some),
        _ => Ok(units::one_of(value, &[("auto", true), ("ignore", false)])?.then(|| HostConfig::POWER_SUPPLY.into())),
    }
}

fn shown_battery(host: &HostConfig) -> String {
    match &host.battery {
        None => "ignore".to_owned(),
        Some(path) if path == Path::new(HostConfig::POWER_SUPPLY) => "auto".to_owned(),
        Some(path) => path.to_string_lossy().into_owned(),
    }
}

/// The key of this name in a section.
pub(super) fn find(section: &str, name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.section == section && key.name == name)
}

/// The names of the keys of a section.
pub(super) fn names_in(section: &str) -> Vec<&'static str> {
    KEYS.iter().filter(|key| key.section == section).map(|key| key.name).collect()
}
