//! The tables of keys: how each is named, explained, read and shown.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::units::{self, Value};
use super::{Config, shown};
use context::settings::KindPrompt;
use engine::settings::{HostConfig, TeamConfig};
use vault::settings::VaultConfig;

/// A key of the configuration, or of one of its tables, which make a `T` each.
pub(super) struct Key<T = Config> {
    /// Its section, `""` for keys above the first section; of a table's key the name of such tables.
    pub section: &'static str,
    /// Its name in the section.
    pub name: &'static str,
    /// One line for `situated init`.
    pub about: &'static str,
    /// A value for `situated init`, if there is no default: as TOML, or of a file its name.
    pub example: &'static str,
    /// Whether it takes a list, of which each item is set by itself.
    pub is_list: bool,
    /// Reads a value as typed; the error says what would be right.
    pub set: fn(&mut T, &Value) -> Result<(), String>,
    /// The value as TOML; `None` if it is not set and has no default that could be written down.
    pub get: fn(&T) -> Option<String>,
}

impl<T> Key<T> {
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

/// The name of the tables of teams.
pub(super) const TEAM: &str = "team";

/// The name of the tables of vaults.
pub(super) const VAULT: &str = "vault";

/// The name of the tables of prompts.
pub(super) const PROMPT: &str = "context.prompt";

const DAY: Duration = Duration::from_hours(24);
const MS: Duration = Duration::from_millis(1);
const MINUTE: Duration = Duration::from_mins(1);
const TOKENS: u64 = 1_000_000_000_000;

/// A key of a table of this module. A field that is all that the key means is named with its kind, of which [`units`] has
/// the reader and [`shown`] the opposite: `search.limit: count(1..=200)`, or with `?` if it is an `Option`. Other keys
/// say how they are set and shown.
macro_rules! key {
    (list $($row:tt)+) => {
        Key { is_list: true, ..key!($($row)+) }
    };
    ($section:literal $name:literal, $about:literal $(=> $example:literal)?, $($field:ident).+: $kind:ident $(($($of:expr),+))?) => {
        key!($section $name, $about $(=> $example)?,
            |c, v| c.$($field).+ = units::$kind(v $($(, $of)+)?)?, shown::$kind(&c.$($field).+))
    };
    ($section:literal $name:literal, $about:literal $(=> $example:literal)?, $($field:ident).+?: $kind:ident $(($($of:expr),+))?) => {
        key!($section $name, $about $(=> $example)?,
            |c, v| c.$($field).+ = Some(units::$kind(v $($(, $of)+)?)?), c.$($field).+.as_ref().and_then(shown::$kind))
    };
    ($section:literal $name:literal, $about:literal $(=> $example:literal)?, |$c:ident, $v:ident| $set:expr, $get:expr) => {
        Key {
            section: $section,
            name: $name,
            about: $about,
            example: concat!($($example)?),
            is_list: false,
            set: |$c, $v| {
                $set;
                Ok(())
            },
            get: |$c| $get,
        }
    };
}

/// Every scalar key, in the order in which they are shown.
pub(super) static KEYS: &[Key] = &[
    key!("" "data_dir", "Where indexes live, one folder per vault. Never inside a vault.", engine.data_dir: path),
    key!("" "open", "What opens a note for you: \"editor\" ($VISUAL, $EDITOR), \"obsidian\", or \"command CMD {path} {line}\".",
        open: opener),
    key!("watch" "quiet", "Quiet after a lone change before it is read.", engine.watch.lone: duration(MS..=MINUTE)),
    key!("watch" "burst", "Quiet after several changes.", engine.watch.burst: duration(MS..=MINUTE)),
    key!("watch" "storm", "Quiet after a storm (a checkout, a sync), and while git works.",
        engine.watch.storm: duration(MS..=10 * MINUTE)),
    key!("watch" "storm_paths", "Changed paths that make a storm.", engine.watch.storm_paths: count(2..=1_000_000)),
    key!("watch" "walk_interval", "How often all of a vault is compared with the index, whatever was heard.",
        engine.watch.walk_interval: duration(Duration::from_secs(1)..=7 * DAY)),
    key!("watch" "poll_interval", "The same for vaults that cannot be listened to.",
        engine.watch.poll_interval: duration(100 * MS..=DAY)),
    key!("watch" "doubt", "How long a vault that a walk finds gone or emptied is doubted before notes are dropped.",
        engine.watch.doubt: duration(100 * MS..=DAY)),
    key!("chunk" "strategy", "\"obsidian\" (sections, small ones merged), \"markdown\" (sections), \"semantic\" (long sections cut where the subject changes), \"sentence\" or \"fixed\". Each has sizes of its own if none are given.",
        engine.chunk.plain.strategy: strategy),
    key!("chunk" "target", "What a chunk should reach before the next one is begun.",
        engine.chunk.plain.target: count(20..=8000)),
    key!("chunk" "min", "Smaller chunks are merged with a neighbour.", engine.chunk.plain.min: count(0..=8000)),
    key!("chunk" "max", "No chunk is larger; a longer line is cut.", engine.chunk.plain.max: count(20..=8000)),
    key!("chunk" "overlap", "What is repeated where a section has to be split, in percent of the target.",
        engine.chunk.plain.overlap_percent: percent(0..=50)),
    key!("context" "provider", "\"template\": free, made from the note itself, nothing leaves the machine. \"none\": no contexts. Or a model of \"anthropic\", \"bedrock\", \"openai\" (or compatible), \"ollama\".",
        engine.context.provider: variant),
    key!("context" "model", "The model; the provider's cheapest known one if absent." => "\"claude-haiku-5-5\"",
        engine.context.model?: plain(|c| !c.is_whitespace() && !c.is_control(), "the model's id as the provider spells it")),
    key!("context" "base_url", "Where the model is asked; the provider's own address if absent. Plain http only on this machine." => "\"http://127.0.0.1:11434\"",
        engine.context.base_url?: address),
    key!("context" "passes_on", "true if what answers at `base_url` on this machine hands texts on to other machines (a gateway, a tunnel): then private notes are kept from it, and it is not taken to be free.",
        engine.context.passes_on: boolean),
    key!("context" "api_version", "Anthropic's `anthropic-version`.",
        engine.context.api_version: plain(|c| c.is_ascii_alphanumeric() || c == '-', "a version such as \"2023-06-01\"")),
    key!("context" "dialect", "Of an OpenAI-compatible server: \"openai\" or \"compat\"; decided by the address if absent." => "\"compat\"",
        engine.context.dialect?: variant),
    key!("context" "region", "AWS region of Bedrock.",
        engine.context.region: plain(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-', "a region such as \"eu-central-1\"")),
    key!("context" "key_file", "A file with the provider's key, that only you can read." => "key",
        engine.context.key.file?: key_file),
    key!("context" "key_command", "Or a command that prints the key, run by `sh -c`. Never shown." => "\"pass show situated\"",
        engine.context.key.command?: secret),
    key!("context" "key_credential", "Or the name of a systemd credential; `situated-key` if absent." => "\"situated-key\"",
        engine.context.key.credential?: credential),
    key!("context" "consent", "\"ask\": a model that costs money or is elsewhere writes nothing before you have said `situated contexts start`. \"given\": you agree here.",
        engine.context.consent: variant),
    key!("context" "automatic", "Whether sections that are new or renamed are sent to the model by themselves.",
        engine.context.automatic: boolean),
    key!("context" "renew", "Whether another model or prompt has old contexts written anew by itself, within the budget.",
        engine.context.renew: boolean),
    key!("context" "settle", "Quiet of a note before its new sections are sent.",
        engine.context.settle: duration(Duration::ZERO..=DAY)),
    key!("context" "llm_min_chunks", "Notes with fewer chunks never get a model's context.",
        engine.context.llm_min_chunks: count(1..=1_000_000)),
    key!("context" "form", "\"note\": few calls for a whole note, \"chunk\": one per chunk, \"auto\": few, with fewer passages in each for long notes.",
        engine.context.form: variant),
    key!("context" "min_words", "Words of a context at least; then `max_words` are asked for at most, and shorter or longer ones count as poorer." => "50",
        engine.context.min_words?: count(5..=400)),
    key!("context" "length", "\"fixed\", or \"dynamic\": fewer words for passages that are short or say little.",
        engine.context.length: variant),
    key!("context" "levels", "What goes before what a model wrote: \"chunk\" (nothing), \"section+chunk\" (the headings), \"document+chunk\" (what the note says of itself), \"document+section+chunk\".",
        engine.context.levels: variant),
    key!("context" "expansion", "\"off\"; or \"questions\": the model also writes 3 to 5 questions that a passage answers, and key terms, in the same answer, which is two or three times as long. They are searched and never shown. Not measured yet.",
        engine.context.expansion: variant),
    key!("context" "max_words", "Words of a context at most.", engine.context.max_words: count(20..=400)),
    key!("context" "concurrency", "Calls at once at most.", engine.context.concurrency: count(1..=256)),
    key!("context" "timeout", "After this one attempt at a call is given up.",
        engine.context.timeout: duration(Duration::from_secs(1)..=60 * MINUTE)),
    key!("context" "deadline", "After this a call is given up with all its attempts.",
        engine.context.deadline: duration(Duration::from_secs(1)..=DAY)),
    key!("context" "temperature", "Sent only to models that take one.", engine.context.temperature: number(0.0..=2.0)),
    key!("context" "max_document_tokens", "Tokens of a note that the model is shown; all that it reads at its usual price if absent (12000 of one on this machine). Of longer ones it sees lead, outline and neighbourhood." => "12000",
        engine.context.max_document_tokens?: count(500..=1_000_000)),
    key!("context" "keep_alive", "How long Ollama keeps the model loaded: \"10m\", \"0\", or \"-1\" for ever.",
        engine.context.keep_alive: plain(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '.'), "a duration as Ollama takes it, such as \"10m\", \"0\" or \"-1\"")),
    key!("embed" "provider", "\"builtin\": the model compiled in; nothing is downloaded or sent. Or \"static\" (a table of yours: `path`), \"transformer\" (in this process), \"ollama\", \"openai\" (or compatible), \"voyage\", \"cohere\".",
        engine.embed.provider: variant),
    key!("embed" "model", "The model; a cheap one of the provider if absent. Of \"transformer\": a folder or a hub's id." => "\"nomic-embed-text\"",
        engine.embed.model?: plain(|c| !c.is_control(), "the model's id as the provider spells it")),
    key!("embed" "path", "Of \"static\": the folder of the table, with model.safetensors and tokenizer.json as model2vec writes them. It is in memory: a byte for each of its numbers." => "\"~/models/potion-multilingual-128M\"",
        engine.embed.path?: path),
    key!("embed" "base_url", "Where vectors are asked for; the provider's own address if absent. Plain http only on this machine." => "\"http://127.0.0.1:11434\"",
        engine.embed.base_url?: address),
    key!("embed" "passes_on", "true if what answers at `base_url` on this machine hands texts on to other machines (a gateway, a tunnel): then private notes are kept from it, and it is not taken to be free.",
        engine.embed.passes_on: boolean),
    key!("embed" "key_file", "A file with the provider's key, that only you can read." => "embed-key",
        engine.embed.key.file?: key_file),
    key!("embed" "key_command", "Or a command that prints the key, run by `sh -c`. Never shown." => "\"pass show situated-embed\"",
        engine.embed.key.command?: secret),
    key!("embed" "key_credential", "Or the name of a systemd credential; `situated-key` if absent." => "\"situated-key\"",
        engine.embed.key.credential?: credential),
    key!("embed" "consent", "\"ask\": an embedder that costs money or is elsewhere is shown no note before you have said `situated contexts start`. \"given\": you agree here.",
        engine.embed.consent: variant),
    key!("embed" "dimensions", "Components of a vector, for models that can give several numbers of them." => "512",
        engine.embed.dimensions?: count(2..=8192)),
    key!("embed" "query_prefix", "Stands before queries; what the model is known to want if absent." => "\"search_query: \"",
        engine.embed.query_prefix?: prefix),
    key!("embed" "document_prefix", "Stands before what is indexed; what the model is known to want if absent." => "\"search_document: \"",
        engine.embed.document_prefix?: prefix),
    key!("embed" "text_vectors", "Also embed texts without their contexts, for `search --no-context`: costs as much again. The built-in model makes them when such a search asks.",
        engine.embed.text_vectors: boolean),
    key!("embed" "max_tokens", "Tokens of one text that the model takes; what is known of it, or 512, if absent." => "2048",
        engine.embed.max_tokens?: count(64..=1_000_000)),
    key!("embed" "concurrency", "Calls at once at most.", engine.embed.concurrency: count(1..=256)),
    key!("embed" "timeout", "After this one attempt at a call is given up.",
        engine.embed.timeout: duration(100 * MS..=60 * MINUTE)),
    key!("embed" "query_timeout", "After this a query is answered by words alone.",
        engine.embed.query_timeout: duration(MS..=MINUTE)),
    key!("embed" "price_per_mtok", "Dollars per million tokens; what is known of the model if absent. An unknown price is never taken for none." => "0.02",
        engine.embed.price_per_mtok?: dollars),
    key!("search" "limit", "Hits at most.", engine.search.limit: count(1..=200)),
    key!("search" "per_note", "Hits of one note at most.", engine.search.per_note: count(1..=200)),
    key!("search" "window_chars", "Characters of a hit with its neighbours; more than a chunk of the usual size has.",
        engine.search.window_chars: count(0..=100_000)),
    key!("search" "dense_weight", "Weight of meaning, from 0 (words alone) to 1 (meaning alone).",
        engine.search.dense_weight: share),
    key!("search" "expansion_weight", "Weight of questions and terms that a model wrote (context.expansion) beside words of the text, from 0 (none) to 1.",
        engine.search.expansion_weight: share),
    key!("search" "language", "What words are stemmed as: \"auto\" looks at each note (front matter `lang:` decides), or one language for all. Taken over at the next start, which indexes the words anew.",
        |c, v| c.engine.search.language = units::one_of(v, &["auto", "en", "de", "fr", "es", "it", "pt", "nl", "ru", "sv", "no", "da", "fi"].map(|word| (word, word)))?.to_owned(), shown::words(&c.engine.search.language)),
    key!("search" "graph_weight", "What a note gains by its place among the links, from 0 (nothing) to 1.",
        engine.search.graph_weight: share),
    key!("search" "link_weight", "What a note gains that the query names; half of it one that is linked with such a note.",
        engine.search.link_weight: share),
    key!("search" "recency_weight", "What a note of today gains, by its date or else its last modification.",
        engine.search.recency_weight: share),
    key!("search" "recency_half_life", "After this time it is half of that.",
        engine.search.recency_half_life: duration(Duration::from_hours(1)..=36_500 * DAY)),
    key!("search" "date_weight", "What a note gains that is of the time which the query names: \"in March\", \"last Tuesday\"; \"status of\" asks for the newest.",
        engine.search.date_weight: share),
    key!("search" "type_weights", "What notes of a kind gain.",
        engine.search.type_weights: shares),
    key!("rerank" "provider", "\"none\"; or the best chunks and the query are sent to a model of \"cohere\", \"voyage\", \"jina\", \"tei\" (also llama-server, infinity, vLLM, LiteLLM). \"transformer\": a cross-encoder in this process.",
        engine.rerank.provider: variant),
    key!("rerank" "model", "The model; the provider's quick one if absent. With \"tei\" for servers that have several, with \"transformer\" what `situated models add cross-encoder` has added, or a folder." => "\"rerank-v5.0-pro\"",
        engine.rerank.model?: plain(|c| !c.is_whitespace() && !c.is_control(), "the model's id as the provider spells it")),
    key!("rerank" "base_url", "Where it is asked; the provider's own address if absent. Plain http only on this machine." => "\"http://127.0.0.1:8080\"",
        engine.rerank.base_url?: address),
    key!("rerank" "passes_on", "true if what answers at `base_url` on this machine hands texts on to other machines (a gateway, a tunnel): then private notes are kept from it, and it is not taken to be free.",
        engine.rerank.passes_on: boolean),
    key!("rerank" "key_file", "A file with the provider's key, that only you can read." => "rerank-key",
        engine.rerank.key.file?: key_file),
    key!("rerank" "key_command", "Or a command that prints the key, run by `sh -c`. Never shown." => "\"pass show reranker\"",
        engine.rerank.key.command?: secret),
    key!("rerank" "key_credential", "Or the name of a systemd credential." => "\"reranker-key\"",
        engine.rerank.key.credential?: credential),
    key!("rerank" "consent", "\"ask\": a reranker that costs money or is elsewhere judges only searches with `--rerank` before you have said `situated contexts start`. \"given\": you agree here.",
        engine.rerank.consent: variant),
    key!("rerank" "when", "Which searches it judges: \"always\", or \"asked\": those with `--rerank`. A \"transformer\" takes all cores for some .3 s, longer on older ones, so it is \"asked\" unless you say otherwise." => "\"always\"",
        engine.rerank.when?: variant),
    key!("rerank" "top", "Chunks that are judged at most; 20 with \"transformer\", which reads each beside the query on your processor." => "100",
        engine.rerank.top?: count(1..=1000)),
    key!("rerank" "deadline", "After this a search is answered in its first order; 5s with \"transformer\", whose model is read at the first search." => "\"1500ms\"",
        engine.rerank.deadline?: duration(10 * MS..=MINUTE)),
    key!("rerank" "price_per_mtok", "Dollars per million tokens, if that is how it is billed; unknown if absent." => "0.05",
        engine.rerank.price_per_mtok?: dollars),
    key!("rerank" "price_per_1k", "Or dollars per thousand searches." => "2.00",
        engine.rerank.price_per_1k?: dollars),
    key!("search" "expand", "What the model of [context] adds to a query: \"off\", \"queries\" (other phrasings) or \"hyde\" (a passage).",
        engine.search.expand: variant),
    key!("ask" "model", "Another model of the same provider than the one that writes contexts." => "\"claude-haiku-5-5\"",
        engine.ask.model?: words),
    key!("ask" "passages", "Passages that the model is shown; each is a hit with its neighbours (search.window_chars).",
        engine.ask.passages: count(1..=50)),
    key!("ask" "max_tokens", "Tokens of an answer at most.", engine.ask.max_tokens: count(50..=32_000)),
    key!("mcp" "allow_spending", "Whether an assistant may have a model asked that costs money (rebuilds, answers, contexts), within the budget.",
        engine.assistants_may_spend: boolean),
    key!("sync" "background", "Whether stale, drifted and failed contexts are looked after by themselves, within the budget.",
        engine.sync.background: boolean),
    key!("sync" "interval", "How often.", engine.sync.interval: duration(Duration::from_secs(1)..=365 * DAY)),
    key!("budget" "day", "Dollars a day, in your time zone; 0 buys nothing.", engine.budget.day: dollars),
    key!("budget" "rebuild", "Dollars per rebuild.", engine.budget.rebuild: dollars),
    key!("budget" "day_tokens", "Tokens a day, read and written, for models whose price is not known.",
        engine.budget.day_tokens: count(0..=TOKENS)),
    key!("budget" "rebuild_tokens", "The same per rebuild.", engine.budget.rebuild_tokens: count(0..=TOKENS)),
    key!("serve" "socket", "Where the socket is; chosen in the user's runtime folder if absent." => "\"~/.local/state/situated/sock\"",
        serve.socket?: path),
    key!("serve" "max_connections", "Connections at once.", serve.max_connections: count(1..=1024)),
    key!("serve" "query_timeout", "After this a query is given up.",
        serve.query_timeout: duration(10 * MS..=10 * MINUTE)),
    key!("host" "sandbox", "\"auto\" has the kernel (Landlock) keep the daemon to the vaults and its own folders; \"off\".",
        |c, v| c.engine.host.sandbox = units::one_of(v, &[("auto", true), ("off", false)])?,
        shown::words(&if c.engine.host.sandbox { "auto" } else { "off" })),
    key!("host" "battery", "On battery, work in bulk waits below 50 %, and all work but saves below 20 %: \"auto\", or \"ignore\".",
        |c, v| c.engine.host.battery = battery(v)?, shown::words(&shown_battery(&c.engine.host))),
    key!("host" "memory", "Above so much memory that no file backs, work in bulk goes on in small steps.",
        engine.host.memory: bytes(4 << 20..=1 << 40)),
    key!("host" "memory_max", "The most that it may be; new notes wait before that. The control group's limit if absent." => "\"1 GiB\"",
        engine.host.memory_max?: bytes(4 << 20..=1 << 40)),
];

/// The keys of a `[[vault]]`.
pub(super) static VAULT_KEYS: &[Key<VaultConfig>] = &[
    key!("vault" "name", "What the vault is called in commands and answers; the folder's name if absent.",
        name: string),
    key!("vault" "path", "The folder of notes: absolute, or below `~/`.", path: path),
    key!(list "vault" "exclude", "What is left out, in the syntax of .gitignore: folders, or kinds of files (\"*.pdf\")." => "[\"Templates/\", \"*.draft.md\"]",
        |c, v| c.exclude.push(units::pattern(v)?), shown::list(&c.exclude)),
    key!(list "vault" "private", "What no assistant is shown and no provider is sent, in the same syntax; `#private` in a note does the same." => "[\"Journal/\"]",
        |c, v| c.private.push(units::private_pattern(v)?), filled(&c.private)),
    key!("vault" "max_note_bytes", "Larger files are skipped, and `situated status` says so.",
        max_note_bytes: bytes(1..=1 << 30)),
    key!("vault" "poll", "true looks at the whole vault now and then instead of listening; chosen by file system if absent." => "true",
        poll?: boolean),
    key!("vault" "comments", "true searches %%comments%% and HTML comments, too." => "true",
        |c, v| c.rules.comments = units::boolean(v)?, c.rules.comments.then(|| "true".to_owned())),
    key!("vault" "publish", "The team, of a [team.NAME] below, that its notes are published for; private ones never are." => "\"handbook\"",
        publish?: string),
    key!("vault" "kinds", "Kinds of notes by folder, first match wins." => "{ \"Daily/\" = \"daily\", \"People/\" = \"person\" }",
        |c, v| c.rules.folders.extend(units::kinds(v)?), shown::kinds(&c.rules.folders)),
];

/// A list that is shown only if there is anything in it.
fn filled(texts: &[String]) -> Option<String> {
    shown::list(texts).filter(|_| !texts.is_empty())
}

/// The keys of a `[team.NAME]`.
pub(super) static TEAM_KEYS: &[Key<TeamConfig>] = &[
    key!("team" "url", "The address of a Qdrant server." => "\"https://qdrant.example.org:6333\"", url: address),
    key!(list "team" "replicas", "Other nodes of the same cluster: asked where `url` does not answer." => "[\"https://qdrant-2.example.org:6333\"]",
        |c, v| c.replicas.push(units::address(v)?), filled(&c.replicas)),
    key!("team" "passes_on", "true if what answers at an address of this machine is not on it (a tunnel): then notes and queries leave it, and `status` says so." => "true",
        passes_on: boolean),
    key!("team" "collection", "What the team's collection is called there: one for each circle of readers." => "\"handbook\"",
        // It becomes a part of an address.
        collection: plain(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'), "a name of letters, digits, `-`, `_` and `.`, such as \"handbook\"")),
    key!("team" "key_file", "A file that only you can read, with the key of the collection." => "handbook-key",
        key.file?: key_file),
    key!("team" "key_command", "A command that prints the key." => "\"pass show handbook\"",
        key.command?: secret),
    key!("team" "key_credential", "The name of a systemd credential that holds the key." => "\"handbook-key\"",
        key.credential?: credential),
    key!("team" "ca_file", "Certificates (PEM) of who vouches for the server, if this machine does not trust it: nobody else is believed then." => "qdrant-ca.pem",
        ca_file?: path),
    key!("team" "timeout", "How long a search waits for it; then the vaults here answer alone, and the answer says so." => "\"300ms\"",
        timeout: duration(10 * MS..=MINUTE)),
    key!("team" "search", "false leaves it out of searches, for who only publishes." => "true", search: boolean),
];

/// The keys of a `[[context.prompt]]`.
pub(super) static PROMPT_KEYS: &[Key<KindPrompt>] = &[
    key!("context.prompt" "kind", "", kind: words),
    key!("context.prompt" "instructions", "", |c, v| c.instructions = units::instructions(v)?,
        c.own.is_none().then(|| units::one_line(&c.instructions))),
    key!("context.prompt" "template", "", |c, v| c.own = Some(units::own_prompt(v)?), template(c)),
    // Shown as the template that it stands for.
    Key { get: |_| None, ..key!("context.prompt" "preset", "", |c, v| c.own = Some(units::preset(v)?), template(c)) },
    key!("context.prompt" "version", "", version: count(0..=1_000_000)),
];

fn template(prompt: &KindPrompt) -> Option<String> {
    prompt.own.as_ref().map(|own| units::one_line(own.text()))
}

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
pub(super) fn find<T>(keys: &'static [Key<T>], section: &str, name: &str) -> Option<&'static Key<T>> {
    keys.iter().find(|key| key.section == section && key.name == name)
}

/// The names of the keys of a section.
pub(super) fn names<T>(keys: &'static [Key<T>], section: &str) -> Vec<&'static str> {
    keys.iter().filter(|key| key.section == section).map(|key| key.name).collect()
}
