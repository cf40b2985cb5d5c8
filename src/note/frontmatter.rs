//! Front matter: strict YAML first, then a lenient reader for what vaults really contain.

/// The properties of a note.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FrontMatter {
    /// `title`.
    pub title: Option<String>,
    /// `aliases` / `alias`.
    pub aliases: Vec<String>,
    /// `tags` / `tag`, without `#`.
    pub tags: Vec<String>,
    /// `type` / `pageType`.
    pub kind: Option<String>,
    /// `description` / `summary` / `desc`.
    pub description: Option<String>,
    /// `created` / `date`.
    pub created: Option<jiff::civil::Date>,
    /// `modified` / `updated`.
    pub modified: Option<jiff::civil::Date>,
    /// Every property, as a JSON object.
    pub properties: serde_json::Map<String, serde_json::Value>,
}
