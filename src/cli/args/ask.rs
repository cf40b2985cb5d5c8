//! What answers: `ask`.

use clap::Args;

use protocol::search::{Expand, Mode};

/// `ask`
#[derive(Debug, Args)]
#[command(
    after_help = "Without a question it asks for one, and for more: each with the last few before\nit (/quit or Ctrl-D ends, Ctrl-C stops an answer). The question and the passages\nfound for it go to the model of [context].\n\nExit:   0 answered, 1 the notes do not say or the answer is unfinished,\n        78 no model is configured"
)]
pub(crate) struct Ask {
    /// What you would like to know; words of the query language (path:, tag:, …) narrow where it looks
    #[arg(value_name = "QUESTION")]
    pub question: Vec<String>,
    /// Passages that the model is shown
    #[arg(long, short = 'n', value_parser = clap::value_parser!(u16).range(1..=50))]
    pub passages: Option<u16>,
    /// Only this vault
    #[arg(long, value_name = "NAME")]
    pub vault: Option<String>,
    /// Which lanes find the passages
    #[arg(long, short, value_name = "hybrid|lexical|dense", value_parser = super::search::mode)]
    pub mode: Option<Mode>,
    /// Have the model say the question in other words too, and search for these
    #[arg(long, value_name = "off|queries|hyde", value_parser = super::search::expand)]
    pub expand: Option<Expand>,
    /// Show the passages that the model was shown, how they were found, and what the answer took
    #[arg(long, short)]
    pub explain: bool,
    /// Wait until all that was saved before is in
    #[arg(long, short)]
    pub fresh: bool,
}
