//! What finds lines exactly: `grep`.

use clap::{Args, ValueHint};

use super::OpenIn;
use crate::cli::print::Styling;

/// `grep`
#[derive(Debug, Args)]
#[command(
    after_help = "Pattern:  a regular expression as in ripgrep; capitals matter only if it has one\nExamples: situated grep TODO tag:work              in notes with the tag\n          situated grep -C2 'due:\\s*2026-1[12]'    two lines before and after\n          situated grep -l '\\[ \\]' path:Projects   notes with an open task\n          situated grep TODO -- -path:archive      what excludes stands last\n          vim -q <(situated grep -F 'a.b(c)')      FILE:LINE:TEXT, with paths\n                                                   that open here, in a pipe\nExit:     0 found, 1 nothing found, 2 wrong pattern; with -q nothing is printed"
)]
pub(crate) struct Grep {
    /// What a line has to match
    #[arg(value_name = "PATTERN", allow_hyphen_values = false, value_hint = ValueHint::Other, required_unless_present = "regexp")]
    pub pattern: Option<String>,
    /// Which notes: conditions of the query language, such as tag:work, path:Projects/, after:2026-01, prop.status:done
    #[arg(value_name = "CONDITION")]
    pub within: Vec<String>,
    /// Only this vault
    #[arg(long, value_name = "NAME")]
    pub vault: Option<String>,
    /// The pattern, as grep takes one that begins with a hyphen; what stands alone is then a condition
    #[arg(long, short = 'e', value_name = "PATTERN", allow_hyphen_values = true, hide = true)]
    pub regexp: Option<String>,
    /// What grep has to be told, and is so here anyway: lines have numbers, files have names, folders are looked into
    #[arg(long = "line-number", short = 'n', short_aliases = ['r', 'R', 'H', 'E'], action = clap::ArgAction::Count, hide = true)]
    _anyway: u8,
    /// Let capitals match small letters, whatever the pattern has
    #[arg(long, short, conflicts_with = "case_sensitive")]
    pub ignore_case: bool,
    /// Let them not
    #[arg(long, short = 's')]
    pub case_sensitive: bool,
    /// Match whole words only
    #[arg(long, short)]
    pub word: bool,
    /// Take the pattern as it stands: no sign in it is special
    #[arg(long, short = 'F')]
    pub fixed: bool,
    /// Show so many lines before each match
    #[arg(long, short = 'B', value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub before: u16,
    /// Show so many lines after each match
    #[arg(long, short = 'A', value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub after: u16,
    /// Show so many lines before and after each match
    #[arg(long, short = 'C', value_name = "N", conflicts_with_all = ["before", "after"])]
    pub context: Option<u16>,
    /// Print the notes with a match only
    #[arg(long, short = 'l', visible_alias = "files-with-matches")]
    pub files: bool,
    /// Print how many lines of each note match
    #[arg(long, short = 'c', conflicts_with = "files")]
    pub count: bool,
    /// Lines of each note at most
    #[arg(long, short = 'm', value_name = "N", value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub max_count: Option<u16>,
    /// Lines at most, or notes with --files and --count
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=10_000), default_value_t = 10_000)]
    pub limit: u16,
    /// Wait until all notes that were saved before are known
    #[arg(long, short)]
    pub fresh: bool,
    /// Open the first match, or the Nth, as `open` of the configuration says ($VISUAL or $EDITOR by default)
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "1",
        value_parser = clap::value_parser!(u16).range(1..), conflicts_with_all = ["json", "files", "count"])]
    pub open: Option<u16>,
    /// Open it there, whatever the configuration says
    #[arg(long, value_name = "WHERE", conflicts_with_all = ["json", "files", "count"])]
    pub open_in: Option<OpenIn>,
    /// Whether places are links that the terminal opens
    #[arg(long, value_name = "WHEN", default_value_t, value_enum)]
    pub hyperlinks: Styling,
}
