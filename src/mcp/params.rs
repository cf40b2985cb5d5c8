//! What tools take.

use schemars::JsonSchema;
use serde::Deserialize;

use protocol::names::NameKind;
use protocol::search::Mode;

/// Arguments of `generate_context_for_chunk`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Generate {
    /// The passage, as it stands in the document.
    pub(super) chunk: String,
    /// The whole document, Markdown.
    pub(super) document: String,
    /// What is known of the document.
    pub(super) metadata: Option<Metadata>,
    /// Words of the context at most.
    pub(super) max_words: Option<u32>,
}

/// What is known of a document beside its text.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct Metadata {
    /// Its title.
    pub(super) title: Option<String>,
    /// Its kind, such as `daily`.
    #[serde(rename = "type")]
    pub(super) note_type: Option<String>,
    /// Its tags, without `#`.
    pub(super) tags: Vec<String>,
}

/// Arguments of `reindex_with_context`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct Reindex {
    /// The vault by name; all if absent.
    pub(super) vault: Option<String>,
    /// A folder or note in it; everything if absent.
    pub(super) path: Option<String>,
    /// Only the one the user has configured.
    pub(super) llm_provider: Option<String>,
    /// Also what is current.
    pub(super) force: bool,
    /// The user has seen the estimate and wants this; needed if it costs money.
    pub(super) confirm: bool,
    /// Answer when it is done, with progress until then. Cancelling then ends the job.
    pub(super) wait: bool,
}

/// Arguments of `get_reindexing_progress`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(super) struct Progress {
    /// Its number; the running or last one if absent.
    pub(super) job: Option<u64>,
}

/// A vault, or all.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(super) struct OfVault {
    /// The vault by name; all if absent.
    pub(super) vault: Option<String>,
}

/// Which notes are looked at; everything given must hold.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub(super) struct Filters {
    /// Folder, note or glob in the vault.
    pub(super) path: Option<String>,
    /// Without `#`; tags nested under it count.
    pub(super) tag: Option<String>,
    /// Such as `daily`.
    #[serde(rename = "type")]
    pub(super) note_type: Option<String>,
    /// From this day on: `2026-11-21`, `2026-11`, `yesterday`, `30d`.
    pub(super) after: Option<String>,
    /// Only before this day.
    pub(super) before: Option<String>,
}

/// Arguments of `search_with_contextual_retrieval` and `search_notes`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Search {
    /// Words or a question; also `"phrases"`, `-word`, `a OR b`, `tag:`, `path:`, `type:`, `vault:`, `after:`.
    pub(super) query: String,
    /// Results at most, 1 to 100; 10 if absent.
    pub(super) limit: Option<usize>,
    /// Only results with this score, 0 to 1, or more.
    pub(super) score_threshold: Option<f32>,
    /// Passages of one note at most; 1 gives each note once.
    pub(super) per_note: Option<usize>,
    /// `false` searches without the contexts, to compare.
    pub(super) contextual: Option<bool>,
    /// `hybrid` (words and meaning), `lexical` or `dense`.
    pub(super) mode: Option<Mode>,
    /// How much new notes are preferred, 0 to 1; as the user has it if absent.
    pub(super) recency: Option<f32>,
    /// `links`: notes linked with each result's. `contextualized`: content begins with its context.
    #[serde(default)]
    pub(super) include: Vec<Include>,
    /// The vault by name; all if absent.
    pub(super) vault: Option<String>,
    /// Which notes are looked at.
    pub(super) filters: Option<Filters>,
    /// Characters of the result at most, 2000 to 200000; 20000 if absent.
    pub(super) max_chars: Option<usize>,
}

// What results carry in addition. (Not a doc comment: that would stand in the schema a second time.)
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Include {
    Links,
    Contextualized,
}

/// Arguments of `read_note`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Read {
    /// The note: its path as results have it, its title or `[[link]]`.
    pub(super) path: String,
    /// The vault by name; found by the path if absent.
    pub(super) vault: Option<String>,
    /// First line, from 1.
    pub(super) line: Option<u32>,
    /// Lines at most.
    pub(super) lines: Option<u32>,
    /// With its links and backlinks.
    #[serde(default)]
    pub(super) links: bool,
    /// Characters of the result at most, 2000 to 200000; 20000 if absent.
    pub(super) max_chars: Option<usize>,
}

/// Arguments of `related_notes`: one of `path` and `text`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct Related {
    /// A note: its path, title or `[[link]]`.
    pub(super) path: Option<String>,
    /// First of its lines that matter.
    pub(super) line: Option<u32>,
    /// Last of them.
    pub(super) end_line: Option<u32>,
    /// A text instead of a note.
    pub(super) text: Option<String>,
    /// The vault by name; all if absent.
    pub(super) vault: Option<String>,
    /// Leave out notes linked with it already.
    pub(super) exclude_linked: bool,
    /// Notes at most, 1 to 100; 10 if absent.
    pub(super) limit: Option<usize>,
    /// Characters of the result at most, 2000 to 200000; 20000 if absent.
    pub(super) max_chars: Option<usize>,
}

/// Arguments of `grep_notes`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Grep {
    /// Regular expression, per line; smart case.
    pub(super) pattern: String,
    /// It is plain text.
    #[serde(default)]
    pub(super) fixed: bool,
    /// Conditions: `tag:`, `path:`, `type:`, `after:`, `-tag:`.
    #[serde(default)]
    pub(super) within: String,
    /// Lines around each.
    #[serde(default)]
    pub(super) context: u16,
    /// The vault by name; all if absent.
    pub(super) vault: Option<String>,
    /// Lines at most; 50 if absent.
    pub(super) limit: Option<usize>,
}

/// Arguments of `list_names`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Names {
    /// Which names.
    pub(super) what: NameKind,
    /// Only those that hold this.
    pub(super) like: Option<String>,
    /// The vault by name; all if absent.
    pub(super) vault: Option<String>,
    /// Names at most; 100 if absent.
    pub(super) limit: Option<usize>,
}

/// Arguments of `recent_notes`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(super) struct Recent {
    /// The vault by name; all if absent.
    pub(super) vault: Option<String>,
    /// Notes at most; 20 if absent.
    pub(super) limit: Option<usize>,
    /// `next` of the result before.
    pub(super) after: Option<String>,
}

/// Arguments of `ask`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Ask {
    /// What is asked of the notes.
    pub(super) question: String,
    /// The vault by name; all if absent.
    pub(super) vault: Option<String>,
    /// Which notes are looked at.
    pub(super) filters: Option<Filters>,
    /// Passages that the model is shown, 1 to 50.
    pub(super) passages: Option<usize>,
    /// Characters of the result at most, 2000 to 200000; 20000 if absent.
    pub(super) max_chars: Option<usize>,
}
