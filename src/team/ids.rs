//! Ids of points: a function of what they are, so that writing anything twice changes nothing.

use note::fingerprint::Fields;

/// An id in the form of a UUID; no two lists of parts have the same by mistake.
fn id(kind: &str, parts: &[&str]) -> String {
    let fields = parts.iter().fold(Fields::new(kind), |fields, part| fields.bytes(part.as_bytes()));
    let hex = hex(fields.finish());
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

/// Bytes as they stand in payloads.
pub(crate) fn hex(bytes: [u8; 16]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Of the point that describes a collection.
pub(crate) fn of_collection() -> String {
    id("team-collection/1", &[])
}

/// Of the point that says how far a vault is.
pub(crate) fn of_vault(vault: &str) -> String {
    id("team-vault/1", &[vault])
}

/// Of a chunk in a revision.
pub(crate) fn of_chunk(vault: &str, path: &str, chunk: &str, revision: u64) -> String {
    id("team-chunk/1", &[vault, path, chunk, &revision.to_string()])
}
