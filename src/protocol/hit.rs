//! A found chunk, why it was found, and why a note was not.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Lines behind the name of a note: the first, and the last of `:LINE-LINE`.
pub type Lines = (u32, Option<u32>);

/// Splits a trailing `:LINE` or `:LINE-LINE`, as hits are written, from what stands before it.
pub fn split_lines(text: &str) -> Option<(&str, Lines)> {
    let (path, lines) = text.rsplit_once(':').filter(|(path, _)| !path.is_empty())?;
    let number = |text: &str| text.parse().ok().filter(|line: &u32| *line > 0);
    let (first, last) = lines.split_once('-').map_or((lines, None), |(first, last)| (first, Some(last)));
    let first = number(first)?;
    match last.map(number) {
        None => Some((path, (first, None))),
        Some(last) => Some((path, (first, Some(last.filter(|last| *last >= first)?)))),
    }
}

/// A found chunk.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Hit {
    /// Vault.
    pub vault: String,
    /// Path of the note in its vault.
    pub path: String,
    /// First line of the chunk, 1-based.
    pub line: u32,
    /// Last line of the chunk.
    pub end_line: u32,
    /// The line of the chunk that answers the query best, where a program opens the note: of the snippet's lines the first
    /// with a phrase or most of the words, or the first that says something. 0 from a daemon that is older than this field.
    #[serde(default)]
    pub match_line: u32,
    /// Title of the note.
    pub title: String,
    /// Headings above `match_line`, outermost first.
    pub heading_path: Vec<String>,
    /// 0..=1 within this answer; higher is better.
    pub score: f32,
    /// The best lines for the query on one line, as a reader sees them: without marks of formatting and addresses of links
    /// (unless only these match), and without what a terminal must not get. `·` stands between blocks, `|` between cells of a table.
    pub snippet: String,
    /// Byte ranges of `snippet` that match the query.
    pub highlights: Vec<(u32, u32)>,
    /// The chunk as it stands in the note; empty unless `include` asks for `text`.
    pub text: String,
    /// What situates the chunk in its note.
    pub context: String,
    /// The chunk with its neighbours, up to the window's size; empty unless `include` asks for `window`. An assistant gets it
    /// anyhow.
    pub window: String,
    /// First and last line of the window.
    pub window_lines: (u32, u32),
    /// The chunk's id.
    pub chunk: String,
    /// What else was found in the window, best first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<Also>,
    /// Kind of note, such as `daily`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Tags of the note, without `#`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// The day that the note is about, else was made, as it says: `2026-11-20`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// The day on which the note was made, as it says itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created: Option<String>,
    /// The day on which the note was changed, as it says itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modified: Option<String>,
    /// Whether the chunk has a context, also where the search leaves contexts out.
    #[serde(default)]
    pub has_context: bool,
    /// How good that context is, 0..=1, and 1 for the template; if `include` asks for `quality`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_quality: Option<f32>,
    /// Who wrote it: `template/2`, or provider, model and prompt; if `include` asks for `quality`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_by: Option<String>,
    /// When it was written, seconds since 1970 (UTC); if `include` asks for `quality`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_at: Option<i64>,
    /// Tokens that it took, read and written; if `include` asks for `quality`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_tokens: Option<u64>,
    /// The chunk with its context before it; if `include` asks for `contextualized`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contextualized: Option<String>,
    /// The notes that its note links to; if `include` asks for `links`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub links: Option<LinkedNotes>,
    /// The notes that link to its note; if `include` asks for `links`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backlinks: Option<LinkedNotes>,
    /// Modification time of the note when it was indexed, seconds since 1970 (UTC).
    pub mtime: i64,
    /// Whether the note has changed on disk since.
    pub stale: bool,
    /// Of a related note: whether the two notes are linked already, either way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub linked: Option<bool>,
    /// Which way, if they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<LinkDirection>,
    /// Why it was found; with `explain`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lanes: Option<Lanes>,
}

impl Hit {
    /// The line at which to open its note.
    pub fn best_line(&self) -> u32 {
        best_line(self.match_line, self.line)
    }

    /// First and last line of what is shown of it: its window, if it has one.
    pub fn shown_lines(&self) -> (u32, u32) {
        if self.window_lines == (0, 0) { (self.line, self.end_line) } else { self.window_lines }
    }
}

/// The best line of a passage, and its first from a daemon that does not say which is best.
pub(crate) fn best_line(match_line: u32, line: u32) -> u32 {
    if match_line == 0 { line } else { match_line }
}

/// Another found chunk in the window of a hit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Also {
    /// The chunk's id.
    pub chunk: String,
    /// Its first line, 1-based.
    pub line: u32,
    /// Its last line.
    pub end_line: u32,
    /// As of a hit.
    pub score: f32,
}

/// Notes that a hit's note is linked with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LinkedNotes {
    /// How many there are.
    pub count: u32,
    /// Paths of the first ten, in order.
    pub notes: Vec<String>,
}

/// How a related note is linked with the one that was asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LinkDirection {
    /// That one links to it.
    To,
    /// It links to that one.
    From,
    /// Both do.
    Both,
}

/// How each lane judged a hit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Lanes {
    /// Words.
    pub lexical: Option<LaneScore>,
    /// Vectors.
    pub dense: Option<LaneScore>,
    /// Score after fusion, before anything else.
    pub fused: f32,
    /// What boosted it beyond that.
    #[serde(default, skip_serializing_if = "Boosted::is_nothing")]
    pub boosts: Boosted,
    /// Words of the query that stand in the questions and terms which a model wrote for the chunk. These are searched
    /// (`context.expansion`), and are no text of the note.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub in_questions: Vec<String>,
    /// How a reranker judged it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rerank: Option<Rejudged>,
}

/// How a reranker changed the order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rejudged {
    /// Rank before, among the chunks of all vaults, 1-based.
    pub before: u32,
    /// Rank that the reranker gave it; `None` if it was not shown to it.
    pub rank: Option<u32>,
    /// The model's own score, on a scale of its own.
    pub score: Option<f32>,
}

/// Rank and score in one lane.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LaneScore {
    /// 1-based. Beyond a lane's depth (300 or more) only the chunks that the other lane brought are
    /// counted: then the true rank is this or worse.
    pub rank: u32,
    /// BM25 or cosine.
    pub score: f32,
}

/// What each boost added to a hit: its share times its weight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Boosted {
    /// Place among the links.
    pub graph: f32,
    /// Named by the query, or linked with what it names.
    pub links: f32,
    /// How new.
    pub recency: f32,
    /// Of the time that the query asks about.
    #[serde(default)]
    pub date: f32,
    /// Kind of note.
    pub kind: f32,
    /// 1 if the query is a name of the note: then its first chunk comes first.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub name: f32,
    /// 1 if the note is one of few that have all words of the query: in a row, then that chunk comes behind the best note,
    /// or in several passages, then its best chunk comes behind the best two notes.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub all_words: f32,
}

impl Boosted {
    /// Whether there is nothing to tell.
    pub fn is_nothing(&self) -> bool {
        *self == Boosted::default()
    }
}

/// How a note stands to the answer of a query.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NoteStanding {
    /// It is among the hits.
    Hit,
    /// The lanes find it, but others come before it.
    Below,
    /// A condition of the query leaves it out.
    Excluded,
    /// No lane has anything to say for it.
    Unmatched,
    /// It is on the disk and not in the index yet, or cannot be read.
    NotIndexed,
    /// It is left out of the vault, by its name or by a rule.
    Ignored,
    /// There is no such note.
    #[default]
    Missing,
}

/// Why a note was not found, or stands where it stands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Expected {
    /// The vault that was looked in.
    pub vault: String,
    /// The note's path in it.
    pub path: String,
    /// How it stands.
    pub standing: NoteStanding,
    /// Its first place among the hits, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hit: Option<u32>,
    /// The hit it would be if there were no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub would_be: Option<u32>,
    /// The rank of its best chunk among all chunks, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<u32>,
    /// First and last line of that chunk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<(u32, u32)>,
    /// How the words rank that chunk among all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lexical: Option<LaneScore>,
    /// How the vectors rank it among all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dense: Option<LaneScore>,
    /// The score it is ranked by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f32>,
    /// The last hit's score.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_score: Option<f32>,
    /// The conditions that leave it out, as they could be typed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub excluded_by: Vec<String>,
    /// Words of the query that stand in none of its fields.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lacks: Vec<String>,
    /// Chunks of it that would be hits but for the limit of hits per note.
    #[serde(default)]
    pub held_back: u32,
    /// Whether it has changed on disk since it was indexed.
    #[serde(default)]
    pub stale: bool,
    /// All of this in plain sentences.
    pub why: Vec<String>,
}
