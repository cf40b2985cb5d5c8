//! (being written)
/// being written
pub fn template() -> String { String::new() }
