//! The lines of the ledger. A settled line repeats its reservation, so that it can be read without it.

use jiff::Zoned;
use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use super::{CallEstimate, Purpose, Settled};
use context::cost::Usage;
use context::plan::Reason;
use protocol::cost::TeamSaving;

/// A line with the time it was written, for people.
#[derive(Serialize)]
pub(super) struct Stamped<'a> {
    pub at: String,
    #[serde(flatten)]
    pub line: &'a Line,
}

/// A line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case")]
pub(super) enum Line {
    /// A call may be made.
    Reserved(Entry),
    /// The call was made, or may have been.
    Settled {
        #[serde(flatten)]
        entry: Entry,
        #[serde(flatten)]
        used: Settled,
        /// Whether nobody knows if the provider counted the call: then the numbers are the estimate.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        maybe_billed: bool,
    },
    /// The reservation ends without having been spent: no call was made, or its parts have been settled in other lines.
    Released { id: u64, day: String },
    /// Contexts came from a team, and no call was made.
    Spared(Spared),
}

/// Contexts that were taken from a team.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Spared {
    /// Number, unique in its month.
    pub id: u64,
    /// `YYYY-MM-DD` of the user's clock.
    pub day: String,
    pub vault: String,
    pub path: String,
    #[serde(flatten)]
    pub saving: TeamSaving,
}

/// A reservation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    /// Number, unique in its month.
    pub id: u64,
    /// `YYYY-MM-DD` of the user's clock as it was reserved.
    pub day: String,
    pub vault: String,
    pub path: String,
    pub reason: Reason,
    pub provider: String,
    pub model: String,
    pub purpose: Purpose,
    /// Whether it counts against a rebuild's own budget and not against the day's.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub own_budget: bool,
    /// Micro-dollars at most; `null` if the price is not known.
    pub reserved: Option<u64>,
    /// Tokens at most.
    pub tokens: u64,
    /// Whether the call had a place among those under way when it was reserved, so that it was sent at once. Former
    /// versions reserved for calls that still waited, which may never have been sent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub placed: bool,
}

impl Entry {
    pub(super) fn new(id: u64, day: Date, ask: &CallEstimate<'_>, own_budget: bool) -> Self {
        Entry {
            id,
            day: day.to_string(),
            vault: ask.vault.to_owned(),
            path: ask.path.to_owned(),
            reason: ask.reason,
            provider: ask.provider.to_owned(),
            model: ask.model.to_owned(),
            purpose: ask.purpose,
            own_budget,
            reserved: ask.micro_dollars,
            tokens: ask.tokens,
            placed: true,
        }
    }

    /// What counts as taken if nobody knows whether the provider counted the call: the estimate.
    pub(super) fn estimate(&self) -> Settled {
        let usage = Usage { input: self.tokens, estimated: true, ..Usage::default() };
        Settled { usage, micro_dollars: self.reserved, contexts: 0, failed: true }
    }

    /// The reason in reports: that of a decision, or the purpose of any other call.
    pub(super) fn reason(&self) -> String {
        match self.purpose {
            purpose if purpose.is_decided() => self.reason.to_string(),
            purpose => purpose.name().to_owned(),
        }
    }
}

impl Line {
    /// The number of the reservation, or of what was spared.
    pub(super) fn id(&self) -> u64 {
        match self {
            Line::Reserved(entry) | Line::Settled { entry, .. } => entry.id,
            Line::Released { id, .. } => *id,
            Line::Spared(spared) => spared.id,
        }
    }

    fn day(&self) -> &str {
        match self {
            Line::Reserved(entry) | Line::Settled { entry, .. } => &entry.day,
            Line::Released { day, .. } => day,
            Line::Spared(spared) => &spared.day,
        }
    }

    /// The month whose file the line is in.
    pub(super) fn month(&self) -> String {
        month_of_day(self.day()).to_owned()
    }
}

/// The line in the bytes, if there is one and it belongs to the month.
pub(super) fn parse(bytes: &[u8], month: &str) -> Option<Line> {
    let line: Line = serde_json::from_slice(bytes).ok()?;
    let day = line.day();
    let is_day = day.parse::<Date>().is_ok_and(|date| date.to_string() == day);
    (is_day && month_of_day(day) == month).then_some(line)
}

/// When a reservation was written, in seconds since 1970, by day and number; `None` for all other lines.
pub(super) fn reserved_at(bytes: &[u8]) -> Option<((String, u64), i64)> {
    #[derive(Deserialize)]
    struct Head {
        at: String,
        line: String,
        id: u64,
        day: String,
    }
    let head: Head = serde_json::from_slice(bytes).ok()?;
    let at: jiff::Timestamp = head.at.parse().ok()?;
    (head.line == "reserved").then(|| ((head.day, head.id), at.as_second()))
}

/// `YYYY-MM` of a day.
pub(super) fn month_of(day: Date) -> String {
    month_of_day(&day.to_string()).to_owned()
}

/// `YYYY-MM` of `YYYY-MM-DD`.
pub(super) fn month_of_day(day: &str) -> &str {
    day.rsplit_once('-').map_or(day, |(month, _)| month)
}

/// The time as people read it, with its offset.
pub(super) fn stamp(now: &Zoned) -> String {
    now.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
}
