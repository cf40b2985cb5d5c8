//! How much may be spent.

/// How much may be spent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BudgetConfig {
    /// Millionths of a dollar per day of the user's time zone.
    pub day: u64,
    /// Millionths of a dollar per rebuild.
    pub rebuild: u64,
    /// Tokens (in and out) per day for models whose price is not known.
    pub day_tokens: u64,
    /// The same per rebuild.
    pub rebuild_tokens: u64,
}

impl Default for BudgetConfig {
    fn default() -> Self {
        BudgetConfig { day: 500_000, rebuild: 5_000_000, day_tokens: 2_000_000, rebuild_tokens: 20_000_000 }
    }
}
