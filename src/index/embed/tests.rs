//! What the tests below share.

#[allow(dead_code, reason = "the tests of the whole daemon use the rest")]
#[path = "../../../tests/it/tables.rs"]
pub(super) mod tables;
