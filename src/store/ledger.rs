//! Temporary.
use std::path::Path;
use super::StoreError;
use crate::context::cost::Usage;
use crate::plan::Reason;
#[derive(Debug)] pub struct Ledger;
#[derive(Clone, Debug)] pub struct Limits { pub day: u64, pub day_tokens: u64 }
#[derive(Clone, Debug)] pub struct Ask<'a> { pub vault: &'a str, pub path: &'a str, pub reason: Reason, pub provider: &'a str, pub model: &'a str, pub purpose: Purpose, pub micro_dollars: Option<u64>, pub tokens: u64 }
#[derive(Clone, Copy, Debug, PartialEq)] pub enum Purpose { Change, Sync, Rebuild(u64), Asked, Probe }
#[derive(Clone, Debug, PartialEq)] pub enum Refused { Day { limit: u64, spent: u64 }, Rebuild { limit: u64, spent: u64 }, DayTokens { limit: u64, spent: u64 }, RebuildTokens { limit: u64, spent: u64 }, Io(String) }
#[derive(Debug)] pub struct Reservation;
#[derive(Clone, Debug)] pub struct Settled { pub usage: Usage, pub micro_dollars: Option<u64>, pub contexts: u32, pub failed: bool }
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)] pub struct CostReport { }
impl Ledger {
    pub fn open(_dir: &Path) -> Result<Self, StoreError> { todo!() }
    pub fn reserve(&self, _ask: Ask<'_>, _limits: &Limits, _rebuild: Option<(u64, u64)>, _now: jiff::Zoned) -> Result<Reservation, Refused> { todo!() }
    pub fn settle(&self, _r: Reservation, _used: Settled, _now: jiff::Zoned) -> Result<(), StoreError> { todo!() }
    pub fn release(&self, _r: Reservation, _now: jiff::Zoned) -> Result<(), StoreError> { todo!() }
    pub fn rebuild_spent(&self, _id: u64) -> (Option<u64>, u64) { todo!() }
    pub fn report(&self, _now: jiff::Zoned) -> CostReport { todo!() }
}
