//! Why bytes of the store or the journal are not what they should be.

/// Why bytes are not a record.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Damage {
    /// There are too few of them.
    #[error("a record is cut short")]
    Short,
    /// They are not what was written.
    #[error("a record's checksum is wrong")]
    Checksum,
    /// Another program version wrote them.
    #[error("a record has the unknown version {0}")]
    Version(u8),
    /// They do not fit the shape.
    #[error("a record does not have its shape: {0}")]
    Shape(String),
}
