//! What models write, and what it costs: `contexts`, `generate`, `generations`, `stats`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

/// What to do with contexts.
#[derive(Debug, Subcommand)]
pub(crate) enum ContextsAction {
    /// Agree to the configured models (contexts, vectors, reranking); says first what they cost and what leaves this machine
    Start(StartContexts),
    /// Take that back: no model is asked by itself any more
    Stop {
        /// Only this vault
        #[arg(long, value_name = "NAME")]
        vault: Option<String>,
    },
    /// Show contexts that a model wrote beside their chunks, to judge them
    Review(Review),
    /// Write contexts as JSON Lines
    Export {
        /// The vault; may be left out if there is one only
        #[arg(long, value_name = "NAME")]
        vault: Option<String>,
        /// Also those of the free template
        #[arg(long)]
        templates: bool,
        /// The file; standard output if absent or `-`
        #[arg(value_hint = ValueHint::FilePath)]
        file: Option<PathBuf>,
    },
    /// Read what `export` wrote
    Import {
        /// The vault; may be left out if there is one only
        #[arg(long, value_name = "NAME")]
        vault: Option<String>,
        /// The file; standard input if absent or `-`
        #[arg(value_hint = ValueHint::FilePath)]
        file: Option<PathBuf>,
    },
}

/// `contexts start`
#[derive(Debug, Args)]
pub(crate) struct StartContexts {
    /// Only this vault
    #[arg(long, value_name = "NAME")]
    pub vault: Option<String>,
    /// Also have contexts written anew that are older than the model, the prompt or the last rebuild
    #[arg(long)]
    pub replace: bool,
    /// Only say what it takes
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// Do not ask
    #[arg(short, long)]
    pub yes: bool,
}

/// `contexts review`
#[derive(Debug, Args)]
pub(crate) struct Review {
    /// How many
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub sample: u16,
    /// Only this vault
    #[arg(long, value_name = "NAME")]
    pub vault: Option<String>,
    /// A JSON object per context and line
    #[arg(long, conflicts_with = "json")]
    pub jsonl: bool,
}

/// `generate`
#[derive(Debug, Args)]
pub(crate) struct Generate {
    /// The text that the passage stands in, Markdown
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub document: PathBuf,
    /// The passage, as it stands in the text; `-` for standard input
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub chunk: PathBuf,
    /// Title of the text, if it does not say itself
    #[arg(long)]
    pub title: Option<String>,
    /// Words of the context at most
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_words: Option<u32>,
}

/// `generations`
#[derive(Debug, Args)]
pub(crate) struct Generations {
    /// What to do; lists them if absent
    #[command(subcommand)]
    pub command: Option<GenerationCommand>,
    /// Only in this vault
    #[arg(long, global = true)]
    pub vault: Option<String>,
}

/// What can be done with generations.
#[derive(Debug, Subcommand)]
pub(crate) enum GenerationCommand {
    /// List them: what answers, what is built
    List,
    /// Build one beside the one that answers; says first what it takes
    Build {
        /// Its name in the configuration
        name: String,
        /// Do not ask
        #[arg(long, conflicts_with = "dry_run")]
        yes: bool,
        /// Only say what it would take
        #[arg(long)]
        dry_run: bool,
    },
    /// Have one answer from now on (`default`: that of `[context]`)
    Use {
        /// Its name
        name: String,
    },
    /// Take one away; contexts that were paid for stay
    Drop {
        /// Its name
        name: String,
    },
}
