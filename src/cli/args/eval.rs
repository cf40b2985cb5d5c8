//! What measures: `eval`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

/// `eval`
#[derive(Debug, Args)]
#[command(
    after_help = "Queries are made from the vault: texts of links that say more than the names\nof their target, aliases, descriptions, first sentences of notes; first\nsentences of sections too where these are fewer than 60. Each is hidden where\nit stood, in an index of its own in a temporary folder; the vault is only\nread, and no daemon is needed. Vectors are the built-in model's, whatever\n`[embed]` says. Every figure comes with the interval that holds it with 95 %\nconfidence; of fewer than 60 queries no way of searching is called the best,\nfor they are too few to tell.\n\nOf a --set, documents that are not in its vault are counted and named first;\nqueries that want nothing else are left out.\n\nExit:   0 measured, 1 there is no query to ask,\n        74 a file of the set cannot be used: it says which line, and what to do"
)]
pub(crate) struct Eval {
    /// A vault by name, or any folder of notes; the first configured vault if absent
    #[arg(value_hint = ValueHint::DirPath)]
    pub vault: Option<PathBuf>,
    /// Ask a set in BEIR's form: a folder with corpus.jsonl, queries.jsonl, qrels.tsv, and maybe vault/
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with = "vault")]
    pub set: Option<PathBuf>,
    /// Queries at most: of each kind (100 if absent), or of the set (all if absent)
    #[arg(long, short = 'n', value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: Option<u32>,
    /// Decides which queries are drawn, and how intervals are resampled
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Write a page with plots, and the queries that were missed
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub html: Option<PathBuf>,
    /// Measure with the reranker of the configuration too; it is asked about every query, and may cost
    #[arg(long)]
    pub rerank: bool,
    /// Spend without being asked
    #[arg(long, short, requires = "rerank")]
    pub yes: bool,
    /// A configuration to compare: its sections chunk, context, search, and with --rerank that, count
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "b")]
    pub a: Option<PathBuf>,
    /// The configuration to compare it with
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "a")]
    pub b: Option<PathBuf>,
}
