//! What shows the links: `graph`.

use clap::Args;

use super::OnlyVault;
use protocol::graph::Measure;

/// `graph`
#[derive(Debug, Args)]
#[command(
    after_help = "Vault: if none is named, each in turn, and with --dot or --json the first one\n       (`other_vaults` of the JSON names the others)\nScore: 0.4 links to notes of high betweenness + 0.3 PageRank + 0.2 betweenness\n       + 0.1 clustering, each by rank\nPicture: situated graph --dot | dot -Tsvg -Ksfdp > graph.svg"
)]
pub(crate) struct Graph {
    /// Which vault
    #[command(flatten)]
    pub vault: OnlyVault,
    /// By what notes are ranked
    #[arg(long, value_name = "score|pagerank|betweenness|in|out|clustering", value_parser = measure)]
    pub by: Option<Measure>,
    /// Notes at most; 20, or 200 with --dot
    #[arg(long, short = 'n', value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub limit: Option<u16>,
    /// List notes without any link
    #[arg(long, conflicts_with_all = ["unresolved", "dot", "by"])]
    pub orphans: bool,
    /// List targets of links that name no note, with the notes that link to them
    #[arg(long, conflicts_with_all = ["dot", "by"])]
    pub unresolved: bool,
    /// Print the notes and their links for Graphviz
    #[arg(long, conflicts_with = "json")]
    pub dot: bool,
}

fn measure(text: &str) -> Result<Measure, String> {
    serde_json::from_value(text.into())
        .map_err(|_| "there is `score`, `pagerank`, `betweenness`, `in`, `out` and `clustering`".to_owned())
}
