//! What finds: `search`, `related`.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use strum::VariantNames as _;

use crate::cli::print::Styling;
use protocol::search::BoostWeights;

/// `search`
#[derive(Debug, Args)]
#[command(
    after_help = "Query:  words, \"a phrase\", /a regex/, -without, tag:work, path:Projects/,\n        type:daily, after:2026-01, before:2026-06, on:yesterday, in:march,\n        last:week, created:2025, modified:7d, link:Note, linked-from:Note,\n        prop.status:done, vault:Work, -vault:Archive, 'prop.priority:>2',\n        [status], [due:<2026-12], a AND b, a OR b, NOT a, (a OR b) AND tag:c\n        (quote a query with -without: situated search 'plan -draft'; one that\n        begins with it stands behind --: situated search -- '-draft plan')\nExit:   0 found, 1 nothing found"
)]
pub(crate) struct Search {
    /// What is sought
    #[arg(required = true, value_name = "QUERY")]
    pub query: Vec<String>,
    /// How hits are shown
    #[command(flatten)]
    pub show: Show,
    /// Which lanes answer
    #[arg(long, short, value_name = "hybrid|lexical|dense", value_parser = mode)]
    pub mode: Option<protocol::search::Mode>,
    /// Only hits with this score, 0 to 1, or more
    #[arg(long, value_name = "SCORE", value_parser = score)]
    pub min_score: Option<f32>,
    /// Leave contexts out of the search
    #[arg(long)]
    pub no_context: bool,
    /// Go by the contexts of this generation (see `situated generations`)
    #[arg(long, value_name = "NAME", conflicts_with = "no_context")]
    pub generation: Option<String>,
    /// Have the reranker of `[rerank]` judge the best passages, also where it is not asked by itself
    #[arg(long, conflicts_with = "no_rerank")]
    pub rerank: bool,
    /// Leave the order as it is before a reranker judges, if one is configured
    #[arg(long)]
    pub no_rerank: bool,
    /// Weigh this otherwise than configured: graph, links, recency, date, or a kind of note as `type.daily`; 0 to 1, several
    /// times
    #[arg(long, value_name = "NAME=WEIGHT", value_parser = boost)]
    pub boost: Vec<(String, f32)>,
    /// Read no time in the words of the query (`last week`, `in March`, `status of`)
    #[arg(long)]
    pub no_dates: bool,
    /// Have the model of `context.provider` say the query in other words too, and search for these
    #[arg(long, value_name = "off|queries|hyde", value_parser = expand)]
    pub expand: Option<protocol::search::Expand>,
    /// Say why this note was not found, or stands where it stands: its path, title, alias or link
    #[arg(long, value_name = "NOTE", value_hint = ValueHint::FilePath, conflicts_with_all = ["format", "jsonl"])]
    pub expect: Option<PathBuf>,
    /// Wait until all that was saved before is in
    #[arg(long, short)]
    pub fresh: bool,
}

/// A name and what it weighs.
fn boost(text: &str) -> Result<(String, f32), String> {
    let (name, weight) = text.split_once('=').ok_or("a name, `=` and a weight: `recency=0.4`")?;
    let weight = weight.parse().ok().filter(|weight| (0.0..=1.0).contains(weight));
    let known = weigh(&mut BoostWeights::default(), name, weight.unwrap_or_default());
    if !known {
        return Err(format!("there is graph, links, recency, date, and `type.` with a kind of note, but no `{name}`"));
    }
    Ok((name.to_owned(), weight.ok_or("a weight is a number from 0 to 1")?))
}

/// Sets the weight of this name; `false` if there is none.
pub(crate) fn weigh(boosts: &mut BoostWeights, name: &str, weight: f32) -> bool {
    let of_name = match name {
        "graph" => &mut boosts.graph,
        "links" => &mut boosts.links,
        "recency" => &mut boosts.recency,
        "date" => &mut boosts.date,
        _ => {
            let kind = name.strip_prefix("type.").filter(|kind| !kind.is_empty());
            return kind.map(|kind| boosts.types.insert(kind.to_owned(), weight)).is_some();
        }
    };
    *of_name = Some(weight);
    true
}

/// Which lanes answer.
pub(super) fn mode(text: &str) -> Result<protocol::search::Mode, String> {
    serde_json::from_value(text.into()).map_err(|_| "there is `hybrid`, `lexical` and `dense`".to_owned())
}

/// A score; in JSON one that is no number would be none.
fn score(text: &str) -> Result<f32, String> {
    let score = text.parse().ok().filter(|score: &f32| score.is_finite());
    score.ok_or_else(|| "a score is a number from 0 to 1".to_owned())
}

/// A way of expanding a query.
pub(super) fn expand(text: &str) -> Result<protocol::search::Expand, String> {
    serde_json::from_value(text.into()).map_err(|_| "there is `off`, `queries` and `hyde`".to_owned())
}

/// What hits carry beside what they always do.
fn include(text: &str) -> Result<protocol::search::Include, String> {
    text.parse().map_err(|_| format!("there is {}", protocol::search::Include::VARIANTS.join(", ")))
}

/// How hits are chosen and shown.
#[derive(Debug, Default, Args)]
pub(crate) struct Show {
    /// Hits at most
    #[arg(long, short = 'n', value_parser = clap::value_parser!(u16).range(1..=200))]
    pub limit: Option<u16>,
    /// Only this vault
    #[arg(long, value_name = "NAME")]
    pub vault: Option<String>,
    /// Show what situates each passage in its note
    #[arg(long, short)]
    pub context: bool,
    /// Show how each lane judged
    #[arg(long, short)]
    pub explain: bool,
    /// What else the JSON of a hit holds: links, quality (of its context), contextualized (context and passage as one)
    #[arg(long, value_name = "WHAT", value_delimiter = ',', value_parser = include)]
    pub include: Vec<protocol::search::Include>,
    /// A line for each hit, such as '{path}:{line}'
    #[arg(long, value_name = "TEMPLATE", conflicts_with_all = ["json", "jsonl"])]
    pub format: Option<String>,
    /// A JSON object per hit and line
    #[arg(long, conflicts_with = "json")]
    pub jsonl: bool,
    /// Open the first hit, or the Nth, as `open` of the configuration says ($VISUAL or $EDITOR by default)
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "1",
        value_parser = clap::value_parser!(u16).range(1..=200), conflicts_with_all = ["json", "jsonl", "format"])]
    pub open: Option<u16>,
    /// Open it there, whatever the configuration says
    #[arg(long, value_name = "WHERE", conflicts_with_all = ["json", "jsonl", "format"])]
    pub open_in: Option<OpenIn>,
    /// Whether places are links that the terminal opens
    #[arg(long, value_name = "WHEN", default_value_t, value_enum)]
    pub hyperlinks: Styling,
}

/// Where a hit is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum OpenIn {
    /// `$VISUAL` or `$EDITOR`
    Editor,
    /// Obsidian
    Obsidian,
}

/// `related`
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:  situated related Projects/Plan.md:12-20     what is near these lines\n           situated related --notes Projects/Plan.md   the nearest notes\n           wl-paste | situated related --text -        what is near a text\nExit:   0 found, 1 nothing found"
)]
pub(crate) struct Related {
    /// A note, or lines of one: its path in the vault or on the disk, title, alias or link
    #[arg(value_hint = ValueHint::FilePath, value_name = "NOTE[:LINE[-LINE]]", required_unless_present = "text")]
    pub note: Option<PathBuf>,
    /// Any text instead of a note; `-` reads it from standard input
    #[arg(long, short, value_name = "TEXT", conflicts_with = "note", allow_hyphen_values = true)]
    pub text: Option<String>,
    /// The nearest notes, each with its best passage
    #[arg(long)]
    pub notes: bool,
    /// Leave out notes that are linked with this one already
    #[arg(long)]
    pub unlinked: bool,
    /// How hits are shown
    #[command(flatten)]
    pub show: Show,
}
