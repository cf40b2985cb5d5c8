//! At the start of a process, settles what former processes reserved and never settled.
//!
//! A call that was under way when its process died may have been billed, so it counts at its estimate for good. Former
//! versions reserved for every passage of a note at once, long before there was a place to send the calls from. When
//! such a version then stopped asking, most of what it had reserved had never been sent. The ledger does not say which
//! calls were sent, but there were at most as many as there were places. So of every burst of reservations about one
//! note, that many of the dearest stay, and the others are given back.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use jiff::Zoned;

use super::line::{Entry, Line, month_of_day, reserved_at};
use super::{Ledger, LedgerError, Purpose};
use context::cost::dollars;

/// Reservations about one note that are more seconds apart are of different attempts at it: a former version reserved
/// for all passages in one go, and tried again after half a minute at the earliest.
const SAME_BURST: i64 = 20;

/// What was mended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mended {
    /// Calls that may have been billed, and count at their estimate from now on.
    pub booked: u64,
    /// What these may have taken, in millionths of a dollar.
    pub booked_micro_dollars: u64,
    /// Calls that were never sent, and are given back.
    pub returned: u64,
    /// What these had reserved, in millionths of a dollar.
    pub returned_micro_dollars: u64,
}

impl Mended {
    fn count(&mut self, entry: &Entry, was_sent: bool) {
        let (calls, micro) = if was_sent {
            (&mut self.booked, &mut self.booked_micro_dollars)
        } else {
            (&mut self.returned, &mut self.returned_micro_dollars)
        };
        *calls += 1;
        *micro = micro.saturating_add(entry.reserved.unwrap_or(0));
    }
}

impl Ledger {
    /// Settles what former processes left reserved, and logs it. Batches stay reserved: they are taken up again, see
    /// [`Ledger::standing`]. A former version had at most `places` calls under way at once. The result is on the disk
    /// when this returns. Call it only at the start, while nobody holds a reservation.
    ///
    /// # Errors
    /// It cannot be read or written: then everything goes on counting as it did.
    pub fn mend(&self, places: usize, now: &Zoned) -> Result<Mended, LedgerError> {
        let left_over = self.book.lock().left_over();
        if left_over.is_empty() {
            return Ok(Mended::default());
        }
        let (placed, unplaced): (Vec<Entry>, Vec<Entry>) = left_over.into_iter().partition(|entry| entry.placed);
        let mut files = self.files.lock();
        let mut times = HashMap::new();
        let months: BTreeSet<&str> = unplaced.iter().map(|entry| month_of_day(&entry.day)).collect();
        for month in months {
            files.each_line(month, |bytes| times.extend(reserved_at(bytes)))?;
        }
        let mut verdicts: Vec<(Entry, bool)> = placed.into_iter().map(|entry| (entry, true)).collect();
        verdicts.extend(judge(unplaced, &times, places));
        let mut lines: BTreeMap<String, Vec<Line>> = BTreeMap::new();
        for (entry, was_sent) in &verdicts {
            let line = if *was_sent {
                Line::Settled { entry: entry.clone(), used: entry.estimate(), maybe_billed: true }
            } else {
                Line::Released { id: entry.id, day: entry.day.clone() }
            };
            lines.entry(line.month()).or_default().push(line);
        }
        for lines in lines.values() {
            files.append(lines, now, true)?;
        }
        let mut mended = Mended::default();
        let mut book = self.book.lock();
        for (entry, was_sent) in &verdicts {
            mended.count(entry, *was_sent);
            book.unreserve(entry);
            if *was_sent {
                book.settle(entry, &entry.estimate());
            }
        }
        say(&mended);
        Ok(mended)
    }
}

/// Decides of each of these reservations of a former version whether it may have been sent. `times` are seconds since
/// 1970, by day and number.
fn judge(mut entries: Vec<Entry>, times: &HashMap<(String, u64), i64>, places: usize) -> Vec<(Entry, bool)> {
    type About = (String, String, Purpose);
    let about = |entry: &Entry| -> About { (entry.vault.clone(), entry.path.clone(), entry.purpose) };
    let at = |entry: &Entry| times.get(&(entry.day.clone(), entry.id)).copied();
    entries.sort_by(|a, b| (&a.day, a.id).cmp(&(&b.day, b.id)));
    let mut bursts: Vec<Vec<Entry>> = Vec::new();
    let mut newest: HashMap<About, (usize, Option<i64>)> = HashMap::new();
    for entry in entries {
        let (about, at) = (about(&entry), at(&entry));
        let of_it = newest.get(&about).filter(|(_, last)| match (last, at) {
            (Some(last), Some(at)) => (at - last).abs() <= SAME_BURST,
            // A reservation without a time may have been alone in its burst, and then it was sent.
            _ => false,
        });
        let burst = of_it.map_or(bursts.len(), |(burst, _)| *burst);
        newest.insert(about, (burst, at));
        match bursts.get_mut(burst) {
            Some(burst) => burst.push(entry),
            None => bursts.push(vec![entry]),
        }
    }
    let most = |entry: &Entry| (entry.reserved.unwrap_or(u64::MAX), entry.tokens);
    let judged = bursts.into_iter().flat_map(|mut burst| {
        burst.sort_by_key(|entry| std::cmp::Reverse(most(entry)));
        burst.into_iter().enumerate().map(|(n, entry)| (entry, n < places)).collect::<Vec<_>>()
    });
    judged.collect()
}

fn say(mended: &Mended) {
    if mended.booked > 0 {
        // That of a model of unknown price is in tokens alone.
        let micro = Some(mended.booked_micro_dollars).filter(|micro| *micro > 0);
        let estimate = micro.map_or_else(String::new, |micro| format!(", {}", dollars(micro)));
        tracing::warn!(
            calls = mended.booked,
            "calls were under way when the daemon ended, and may have been billed: they count as spent at their \
             estimate{estimate}"
        );
    }
    if mended.returned > 0 {
        tracing::warn!(
            calls = mended.returned,
            "calls that a former version reserved and never sent are taken out of the ledger: {} are given back",
            dollars(mended.returned_micro_dollars)
        );
    }
}
