//! What models cost, for all vaults: reserved before a call, settled after it.
//!
//! One append-only file of JSON Lines per month, `2026-11.jsonl`, mode 0600. A call leaves two lines: the
//! reservation, an upper estimate, on the disk before anything is sent, and what was used in the end. A
//! reservation that is never settled (the process died, the answer was lost) counts as spent at its estimate,
//! so that whatever dies when, the sum is never below what a provider may bill.
//!
//! Invariants: what is reserved and spent of a budget never exceeds its limit by a new reservation, however
//! many ask at once; a price that is not known counts in tokens and is never 0; a line that cannot be read is
//! counted and stops nothing. A call belongs to the day of its reservation, also if the answer comes after
//! midnight. The clock is an argument, and may jump: a day is what it is called then.

mod book;
mod line;
mod report;
#[cfg(test)]
mod tests;

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use jiff::Zoned;
use serde::{Deserialize, Serialize};

use super::{StoreError, locked, salvage};
use crate::config::show_dollars;
use crate::context::cost::Usage;
use crate::plan::Reason;
use book::{Book, Pot};
use line::{Entry, Line, Stamped, Used, month_of};

pub use book::Spent;
pub use report::{CostReport, ModelCost, NoteCost, PurposeCost, ReasonCost, Sums};

/// Longest line that is read, in bytes; a path has a few thousand at most.
const LONGEST_LINE: u64 = 64 << 10;

/// Limits of what is bought without being asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Millionths of a dollar per day.
    pub day: u64,
    /// Tokens per day of models whose price is not known.
    pub day_tokens: u64,
}

/// What a call is to be made for, and what it takes at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask<'a> {
    /// The vault's name.
    pub vault: &'a str,
    /// The note's path in it.
    pub path: &'a str,
    /// Why the context is made.
    pub reason: Reason,
    /// Name of the provider.
    pub provider: &'a str,
    /// The model's id.
    pub model: &'a str,
    /// On whose behalf.
    pub purpose: Purpose,
    /// Millionths of a dollar at most; `None` if the price is not known, 0 if it is free.
    pub micro_dollars: Option<u64>,
    /// Tokens at most, read and written.
    pub tokens: u64,
}

/// On whose behalf a call is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// A note changed.
    Change,
    /// The daily look after contexts that should be better.
    Sync,
    /// A rebuild, by the number of its job. A number is never to be used again for another rebuild of the same
    /// vault, for its budget is what was spent under it.
    Rebuild(u64),
    /// Somebody asked for this context.
    Asked,
    /// Whether the provider answers at all.
    Probe,
    /// A search was to be put in a better order.
    Rerank,
    /// A question about the notes.
    Ask,
    /// Other words for a query.
    Expand,
}

impl Purpose {
    /// Whether it is about the contexts of notes: what a [`Reason`] and a path belong to.
    fn is_for_contexts(self) -> bool {
        !matches!(self, Purpose::Rerank | Purpose::Ask | Purpose::Expand)
    }

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Purpose::Change => "change",
            Purpose::Sync => "sync",
            Purpose::Rebuild(_) => "rebuild",
            Purpose::Asked => "asked",
            Purpose::Probe => "probe",
            Purpose::Rerank => "rerank",
            Purpose::Ask => "ask",
            Purpose::Expand => "expand",
        }
    }
}

/// Why a call must not be made. Money is in millionths of a dollar; `spent` includes what is reserved.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// It would exceed what may be spent in a day.
    #[error("the budget of ${} a day is used up: ${} are spent or reserved, and this call may take ${}",
            show_dollars(*.limit), show_dollars(*.spent), show_dollars(*.needed))]
    Day {
        /// What may be spent.
        limit: u64,
        /// What is.
        spent: u64,
        /// What the call may take.
        needed: u64,
    },
    /// It would exceed what the rebuild may spend.
    #[error("the rebuild's budget of ${} is used up: ${} are spent or reserved, and this call may take ${}",
            show_dollars(*.limit), show_dollars(*.spent), show_dollars(*.needed))]
    Rebuild {
        /// What may be spent.
        limit: u64,
        /// What is.
        spent: u64,
        /// What the call may take.
        needed: u64,
    },
    /// The price is not known, and it would exceed the tokens of a day.
    #[error(
        "the model's price is not known, and of {limit} tokens a day {spent} are used or reserved; this call may take {needed}"
    )]
    DayTokens {
        /// Tokens that may be used.
        limit: u64,
        /// Tokens that are.
        spent: u64,
        /// Tokens that the call may take.
        needed: u64,
    },
    /// The price is not known, and it would exceed the tokens of the rebuild.
    #[error(
        "the model's price is not known, and of the rebuild's {limit} tokens {spent} are used or reserved; this call may take {needed}"
    )]
    RebuildTokens {
        /// Tokens that may be used.
        limit: u64,
        /// Tokens that are.
        spent: u64,
        /// Tokens that the call may take.
        needed: u64,
    },
    /// The ledger cannot be written: what cannot be accounted for is not bought.
    #[error("{0}")]
    Io(String),
}

/// Money (or tokens) that a call may take. Dropped without [`Ledger::settle`] or [`Ledger::release`] it counts
/// as spent.
#[must_use = "what is reserved and not settled counts as spent"]
#[derive(Debug)]
pub struct Reservation {
    entry: Entry,
}

/// What a call took in the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settled {
    /// Tokens.
    pub usage: Usage,
    /// Millionths of a dollar; `None` if the price is not known. (If the reservation knew one, that is taken.)
    pub micro_dollars: Option<u64>,
    /// Contexts that came of it.
    pub contexts: u32,
    /// Whether nothing came of it.
    pub failed: bool,
}

/// The open ledger, of which a daemon has one. Reserving and settling wait for the disk, a few milliseconds each, one
/// after the other: not for a thread that serves others.
#[derive(Debug)]
pub struct Ledger {
    dir: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    book: Book,
    /// The number of the next reservation.
    next: u64,
    /// The file that was written last, by month.
    file: Option<(String, File)>,
}

/// Where the ledger lies among a daemon's data: one for all vaults.
pub fn folder(data_dir: &Path) -> PathBuf {
    data_dir.join("ledger")
}

impl Ledger {
    /// Opens the ledger in the folder `dir`, which need not exist before the first reservation. Reads the newest
    /// two months; others are read when a clock asks for them.
    ///
    /// # Errors
    /// A file cannot be read. Lines that make no sense are no error: see [`CostReport::damaged_lines`].
    pub fn open(dir: &Path) -> Result<Self, StoreError> {
        let ledger = Ledger { dir: dir.to_path_buf(), state: Mutex::new(State { next: 1, ..State::default() }) };
        let mut months = ledger.months()?;
        months.sort_unstable();
        let mut state = locked(&ledger.state);
        for month in months.iter().rev().take(2) {
            ledger.load(&mut state, month)?;
        }
        drop(state);
        Ok(ledger)
    }

    /// The months that there are files of.
    fn months(&self) -> Result<Vec<String>, StoreError> {
        let entries = match fs::read_dir(&self.dir) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(StoreError::io(&self.dir, &error)),
        };
        let name = |entry: fs::DirEntry| entry.file_name().into_string().ok();
        let month = |name: String| name.strip_suffix(".jsonl").filter(|month| is_month(month)).map(str::to_owned);
        Ok(entries.flatten().filter_map(name).filter_map(month).collect())
    }

    fn file_of(&self, month: &str) -> PathBuf {
        self.dir.join(format!("{month}.jsonl"))
    }

    /// Reads a month, unless it was read before.
    fn load(&self, state: &mut State, month: &str) -> Result<(), StoreError> {
        if state.book.knows(month) {
            return Ok(());
        }
        let path = self.file_of(month);
        let file = match File::open(&path) {
            Ok(file) => Some(BufReader::new(file)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(StoreError::io(&path, &error)),
        };
        let mut lines = Vec::new();
        let mut damaged = 0;
        if let Some(mut file) = file {
            while let Some(line) = next_line(&mut file).map_err(|error| StoreError::io(&path, &error))? {
                match line::parse(&line, month) {
                    Some(line) => lines.push(line),
                    None if line.trim_ascii().is_empty() => {}
                    None => damaged += 1,
                }
            }
        }
        let highest = lines.iter().map(Line::id).max().unwrap_or(0);
        state.next = state.next.max(highest.saturating_add(1));
        state.book.enter(month, lines, damaged);
        Ok(())
    }

    /// Reserves what a call may take, or says why it must not be made. A rebuild that comes with a limit of its
    /// own (micro-dollars and tokens) is measured against that and does not count against the day: the user
    /// agreed to it. Free calls are counted and never refused. On the disk when this returns.
    ///
    /// # Errors
    /// See [`Refused`].
    pub fn reserve(
        &self,
        ask: Ask<'_>,
        limits: &Limits,
        rebuild: Option<(u64, u64)>,
        now: Zoned,
    ) -> Result<Reservation, Refused> {
        let io = |error: StoreError| Refused::Io(error.to_string());
        let mut state = locked(&self.state);
        let day = now.date();
        self.load(&mut state, &month_of(day)).map_err(io)?;
        let own = rebuild.filter(|_| matches!(ask.purpose, Purpose::Rebuild(_)));
        let entry = Entry::new(state.next, day, &ask, own.is_some());
        let (money, tokens) = own.unwrap_or((limits.day, limits.day_tokens));
        allow(&entry, state.book.spent(&entry.pot()), money, tokens)?;
        // A number is used up even if the line cannot be written, for part of it may be there.
        state.next = state.next.saturating_add(1);
        self.write(&mut state, &[Line::Reserved(entry.clone())], &now, true).map_err(io)?;
        state.book.reserve(&entry);
        Ok(Reservation { entry })
    }

    /// Says what a call took in the end; on the disk when this returns.
    ///
    /// # Errors
    /// It cannot be written: then the estimate goes on counting.
    pub fn settle(&self, reservation: Reservation, used: Settled, now: Zoned) -> Result<(), StoreError> {
        let mut state = locked(&self.state);
        let used = Used::new(&used, reservation.entry.reserved);
        let line = Line::Settled { entry: reservation.entry.clone(), used };
        self.write(&mut state, &[line], &now, true)?;
        state.book.unreserve(&reservation.entry);
        state.book.settle(&reservation.entry, &used);
        Ok(())
    }

    /// Says what a reservation took that was for several notes: a part, and a line, for each path. All of it is on the
    /// disk when this returns. The reservation ends with the last line: if the machine stops before that is written,
    /// too much counts as spent, and not too little.
    ///
    /// # Errors
    /// It cannot be written: then the estimate goes on counting.
    pub fn settle_parts(
        &self,
        reservation: Reservation,
        parts: &[(String, Settled)],
        now: Zoned,
    ) -> Result<(), StoreError> {
        let mut state = locked(&self.state);
        let whole = reservation.entry;
        let mut lines = Vec::with_capacity(parts.len() + 1);
        for (path, used) in parts {
            // With a number of its own, for the first line under the reservation's would end it.
            let id = state.next;
            state.next = state.next.saturating_add(1);
            let used = Used::new(used, None);
            let (path, reserved, tokens) = (path.clone(), used.micro_dollars, used.tokens());
            lines.push(Line::Settled { entry: Entry { id, path, reserved, tokens, ..whole.clone() }, used });
        }
        lines.push(Line::Released { id: whole.id, day: whole.day.clone() });
        self.write(&mut state, &lines, &now, true)?;
        for line in &lines {
            if let Line::Settled { entry, used } = line {
                state.book.settle(entry, used);
            }
        }
        state.book.unreserve(&whole);
        Ok(())
    }

    /// What was reserved under a vault, path and purpose and has neither been settled nor released, be it by a former
    /// process that was killed. Whoever takes it up must be sure that nobody else holds it.
    pub fn standing(&self, vault: &str, path: &str, purpose: Purpose) -> Option<Reservation> {
        let state = locked(&self.state);
        state.book.standing(vault, path, purpose).map(|entry| Reservation { entry: entry.clone() })
    }

    /// Gives a reservation back: the call was not made, or the provider surely took nothing for it.
    ///
    /// # Errors
    /// It cannot be written: then the estimate goes on counting.
    pub fn release(&self, reservation: Reservation, now: Zoned) -> Result<(), StoreError> {
        let mut state = locked(&self.state);
        let Entry { id, day, .. } = &reservation.entry;
        // Not waited for: should the line be lost, too much counts as spent, and not too little.
        self.write(&mut state, &[Line::Released { id: *id, day: day.clone() }], &now, false)?;
        state.book.unreserve(&reservation.entry);
        Ok(())
    }

    /// What was spent, as of now.
    pub fn report(&self, now: Zoned) -> CostReport {
        let mut state = locked(&self.state);
        let day = now.date();
        let before = day.first_of_month().yesterday().unwrap_or(day);
        for month in [month_of(day), month_of(before)] {
            // A month that cannot be read now was not read at the start either: its sums are empty.
            let _ = self.load(&mut state, &month);
        }
        state.book.report(day, before)
    }

    /// What a rebuild has spent or reserved of its own budget.
    pub fn spent_by_rebuild(&self, vault: &str, job: u64) -> Spent {
        locked(&self.state).book.spent(&Pot::Rebuild(vault.to_owned(), job))
    }

    /// Appends lines, all of one day, to the month of it.
    fn write(&self, state: &mut State, lines: &[Line], now: &Zoned, durable: bool) -> Result<(), StoreError> {
        let Some(first) = lines.first() else { return Ok(()) };
        let month = first.month();
        let path = self.file_of(&month);
        let mut bytes = Vec::new();
        for line in lines {
            serde_json::to_writer(&mut bytes, &Stamped { at: line::stamp(now), line })
                .map_err(|error| StoreError::Io { path: path.clone(), message: error.to_string() })?;
            bytes.push(b'\n');
        }
        let mut file = match state.file.take() {
            Some((open, file)) if open == month => file,
            _ => self.append_to(&path)?,
        };
        // After a failure the file is opened anew the next time, which looks at how it ends.
        file.write_all(&bytes).map_err(|error| StoreError::io(&path, &error))?;
        if durable {
            file.sync_data().map_err(|error| StoreError::io(&path, &error))?;
        }
        state.file = Some((month, file));
        Ok(())
    }

    /// Opens or creates a file to append to; a torn last line is ended, so that the next one stands alone.
    fn append_to(&self, path: &Path) -> Result<File, StoreError> {
        let fail = |error: std::io::Error| StoreError::io(path, &error);
        if !path.exists() {
            DirBuilder::new().recursive(true).mode(0o700).create(&self.dir).map_err(fail)?;
            self.dir.parent().map_or(Ok(()), salvage::sync_dir)?;
        }
        let mut file = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path).map_err(fail)?;
        let length = file.seek(SeekFrom::End(0)).map_err(fail)?;
        if length == 0 {
            salvage::sync_dir(&self.dir)?;
            return Ok(file);
        }
        let mut last = [0];
        file.seek(SeekFrom::End(-1)).and_then(|_| file.read_exact(&mut last)).map_err(fail)?;
        if last != *b"\n" {
            file.write_all(b"\n").map_err(fail)?;
        }
        Ok(file)
    }
}

/// Whether what is left of a budget covers a call.
fn allow(entry: &Entry, spent: Spent, money: u64, tokens: u64) -> Result<(), Refused> {
    let (needed, limit, spent) = match entry.reserved {
        Some(0) => return Ok(()),
        Some(needed) => (needed, money, spent.micro_dollars),
        None => (entry.tokens, tokens, spent.tokens),
    };
    if spent.checked_add(needed).is_some_and(|sum| sum <= limit) {
        return Ok(());
    }
    Err(match (entry.reserved, entry.own_budget) {
        (Some(_), false) => Refused::Day { limit, spent, needed },
        (Some(_), true) => Refused::Rebuild { limit, spent, needed },
        (None, false) => Refused::DayTokens { limit, spent, needed },
        (None, true) => Refused::RebuildTokens { limit, spent, needed },
    })
}

/// `2026-11`.
fn is_month(text: &str) -> bool {
    format!("{text}-01").parse::<jiff::civil::Date>().is_ok_and(|day| month_of(day) == text)
}

/// The next line without its end; of one that is too long only the beginning, which is no line of ours.
fn next_line(input: &mut impl BufRead) -> std::io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    if input.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    if line.last() != Some(&b'\n') && line.len() as u64 == LONGEST_LINE {
        input.skip_until(b'\n')?;
    }
    Ok(Some(line))
}
