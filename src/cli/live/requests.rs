//! Decides when to ask what: at most one request is in flight, the newest waits, and an answer that is no longer wanted
//! is dropped. So however quickly the user types, the daemon is never behind by more than one query.

use protocol::search::Mode;

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    /// The list of hits.
    List,
    /// What is near the selected hit.
    Side,
}

/// What the daemon is asked.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum What {
    /// `search`, while it is typed.
    Search {
        /// As typed.
        query: String,
        /// Which lanes answer.
        mode: Mode,
        /// One vault, or all.
        vault: Option<String>,
    },
    /// `related`, by note.
    Related {
        /// The chunk that hits must be near.
        chunk: String,
        /// The vault of the chunk.
        vault: String,
        /// Most notes in the answer.
        limit: usize,
    },
}

/// A request under its number.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ask {
    /// Larger than all earlier ones.
    pub number: u64,
    /// What is asked.
    pub what: What,
}

/// The request that is in flight, and those that wait.
#[derive(Clone, Debug, Default)]
pub(super) struct Requests {
    number: u64,
    flying: Option<(u64, Slot)>,
    /// The request that waits in each slot.
    waiting: [Option<Ask>; 2],
    /// The number of the newest request of each slot, whether it is in flight, waits or has been answered.
    newest: [u64; 2],
}

impl Requests {
    /// Takes a request, which replaces one that waits in its slot; returns the request to send now, if any.
    pub(super) fn want(&mut self, slot: Slot, what: What) -> Option<Ask> {
        self.number += 1;
        self.newest[slot as usize] = self.number;
        self.waiting[slot as usize] = Some(Ask { number: self.number, what });
        if slot == Slot::List {
            // It belonged to a hit of the list that is being replaced.
            self.forget(Slot::Side);
        }
        self.next()
    }

    /// Cancels this slot: a waiting request is forgotten, and the answer to one in flight will be dropped.
    pub(super) fn forget(&mut self, slot: Slot) {
        self.waiting[slot as usize] = None;
        self.newest[slot as usize] = 0;
    }

    /// Takes an answer: returns the slot that it is for, unless it is no longer wanted, and the request to send next.
    pub(super) fn landed(&mut self, number: u64) -> (Option<Slot>, Option<Ask>) {
        let slot = match self.flying {
            Some((flying, slot)) if flying == number => {
                self.flying = None;
                (self.newest[slot as usize] == number).then_some(slot)
            }
            _ => None,
        };
        (slot, self.next())
    }

    /// Whether the answer for the list is still awaited.
    pub(super) fn is_waiting(&self) -> bool {
        self.waiting[Slot::List as usize].is_some()
            || matches!(self.flying, Some((number, Slot::List)) if number == self.newest[0])
    }

    fn next(&mut self) -> Option<Ask> {
        if self.flying.is_some() {
            return None;
        }
        let waits = |slot: Slot| Some((slot, self.waiting[slot as usize].take()?));
        let (slot, ask) = [Slot::List, Slot::Side].into_iter().find_map(waits)?;
        self.flying = Some((ask.number, slot));
        Some(ask)
    }
}

#[cfg(test)]
mod tests;
