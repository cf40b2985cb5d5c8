//! Ids by which links name a note or a part of it: `id:: …` below a block of Logseq, `:ID:` in a drawer of Org. They are
//! kept as the property `id` among the fields of the text.

use serde_json::{Map, Value};

use super::frontmatter::FIELDS;

/// The property that holds an id.
pub(super) const ID: &str = "id";

/// What a link to an id begins with, as in Org: `id:8a31…`.
pub const BY_ID: &str = "id:";

/// Characters of a UUID.
pub(super) const UUID: usize = 36;

/// Most ids of a note by which links find it.
const MOST_IDS: usize = 512;

/// Adds ids of a note or of its parts, by which links find it.
pub(super) fn add<'a>(properties: &mut Map<String, Value>, ids: impl IntoIterator<Item = &'a str>) {
    let ids: Vec<Value> = ids.into_iter().take(MOST_IDS).map(Value::from).collect();
    if !ids.is_empty()
        && let Value::Object(fields) = properties.entry(FIELDS).or_insert_with(|| Value::Object(Map::new()))
    {
        fields.insert(ID.to_owned(), ids.into());
    }
}

/// The ids of a note and of its parts that links can name, from its properties, a JSON object.
pub fn ids(properties: &str) -> Vec<String> {
    if !properties.contains(FIELDS) {
        return Vec::new();
    }
    let properties: Map<String, Value> = serde_json::from_str(properties).unwrap_or_default();
    let ids = properties.get(FIELDS).and_then(|fields| fields.get(ID)).and_then(Value::as_array);
    ids.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Whether this is a UUID (RFC 9562) as text, as Logseq and Org make them.
pub(super) fn is_uuid(id: &str) -> bool {
    let is_dash = |at: usize| matches!(at, 8 | 13 | 18 | 23);
    id.len() == UUID
        && id.bytes().enumerate().all(|(at, b)| if is_dash(at) { b == b'-' } else { b.is_ascii_hexdigit() })
}
