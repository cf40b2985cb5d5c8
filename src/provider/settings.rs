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

impl BudgetConfig {
    /// Days that work takes within the day's budget: of money, or of tokens where the price is not known. `None` if it is
    /// free; [`u64::MAX`] if nothing may be spent.
    pub fn days(&self, micro_dollars: Option<u64>, tokens: u64) -> Option<u64> {
        let (takes, a_day) = match micro_dollars {
            Some(micro) => (micro, self.day),
            None => (tokens, self.day_tokens),
        };
        let days = if a_day == 0 { u64::MAX } else { takes.div_ceil(a_day) };
        Some(days).filter(|_| takes > 0)
    }
}

impl Default for BudgetConfig {
    fn default() -> Self {
        BudgetConfig { day: 500_000, rebuild: 5_000_000, day_tokens: 2_000_000, rebuild_tokens: 20_000_000 }
    }
}
