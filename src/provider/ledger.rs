//! What models cost, for all vaults: reserved before a call, settled after it.
//!
//! There is one append-only file of JSON Lines per month, `2026-11.jsonl`, mode 0600. A call writes two lines: the
//! reservation, which is an upper estimate and on the disk before anything is sent, and what was used in the end. A
//! reservation that is never settled (the process died, the answer was lost) counts as spent at its estimate. So
//! whatever dies when, the sum is never below what a provider may bill. The next start settles such reservations, or
//! gives back those that a former version never sent: see [`Ledger::mend`].
//!
//! Invariants: no new reservation takes a budget over its limit, however many callers ask at once; a call of unknown
//! price counts in tokens, and never as 0; a line that cannot be read is counted and stops nothing; a file that cannot
//! be read at all stops the buying and nothing else. A call belongs to the day of its reservation, even if the answer
//! comes after midnight. The clock is an argument and may jump: the day is whatever the clock says at that moment.
//!
//! There are two locks: that of the files, held while a line is written to the disk, and that of the book, which is in
//! memory and never held during I/O. A caller that only asks what was spent takes the second.

mod book;
mod call;
mod files;
mod line;
mod mend;
mod report;
mod sums;
#[cfg(test)]
mod tests;

use std::fmt;
use std::path::{Path, PathBuf};

use jiff::Zoned;
use parking_lot::Mutex;

use book::{Book, Pot};
use files::Files;
use line::{Entry, Line, Spared, month_of};

pub use book::Spending;
pub use call::{BudgetLimits, CallEstimate, OverBudget, Purpose, Settled};
use context::cost::dollars;
pub use mend::Mended;
use protocol::cost::{CostReport, TeamSaving};

/// The ledger cannot be read or written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the ledger {}: {message}", .path.display())]
pub struct LedgerError {
    /// Which file or folder.
    pub path: PathBuf,
    /// What happened.
    pub message: String,
}

impl LedgerError {
    fn new(path: &Path, error: impl fmt::Display) -> Self {
        LedgerError { path: path.to_path_buf(), message: error.to_string() }
    }
}

/// The open ledger; a daemon has one. Reserving and settling wait for the disk, a few milliseconds each and one after
/// the other, so a thread that serves others must not call them.
#[derive(Debug)]
pub struct Ledger {
    /// Taken before `book`.
    files: Mutex<Files>,
    /// In memory; the lock is never held during I/O.
    book: Mutex<Book>,
}

/// Money (or tokens) that a call may take. Dropped without [`Ledger::settle`] or [`Ledger::release`], it counts as
/// spent.
#[must_use = "what is reserved and not settled counts as spent"]
#[derive(Debug)]
pub struct Reservation {
    entry: Entry,
}

impl fmt::Display for Reservation {
    /// The most that the call may cost.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.entry.reserved {
            Some(micro) => f.write_str(&dollars(micro)),
            None => write!(f, "{} tokens", self.entry.tokens),
        }
    }
}

/// The folder of the ledger among a daemon's data. There is one for all vaults.
pub fn folder(data_dir: &Path) -> PathBuf {
    data_dir.join("ledger")
}

impl Ledger {
    /// Opens the ledger in the folder `dir`, which need not exist before the first reservation. Reads the newest
    /// two months; others are read when a clock asks for them.
    ///
    /// # Errors
    /// A file cannot be read. Lines that make no sense are no error: see [`CostReport::damaged_lines`].
    pub fn open(dir: &Path) -> Result<Self, LedgerError> {
        let ledger = Ledger::new(Files::new(Some(dir)));
        ledger.catch_up(&mut ledger.files.lock())?;
        Ok(ledger)
    }

    /// A ledger in memory only.
    pub fn in_memory() -> Self {
        Ledger::new(Files::new(None))
    }

    /// A ledger in memory that begins with what is written in the folder `dir`: for a process that spends while another
    /// one keeps that ledger, and that says so. It keeps to what is left of the budget.
    ///
    /// # Errors
    /// As [`Ledger::open`].
    pub fn beside(dir: &Path) -> Result<Self, LedgerError> {
        let ledger = Ledger::open(dir)?;
        *ledger.files.lock() = Files::new(None);
        Ok(ledger)
    }

    fn new(files: Files) -> Self {
        Ledger { files: Mutex::new(files), book: Mutex::default() }
    }

    /// As [`Ledger::open`], for a daemon that has to serve searches even without a ledger. While the ledger cannot be
    /// read, every reservation tries to read it again and is refused otherwise. [`Ledger::problem`] says what to do.
    pub fn open_or_refuse(dir: &Path) -> Self {
        let ledger = Ledger::new(Files::new(Some(dir)));
        if let Err(error) = ledger.catch_up(&mut ledger.files.lock()) {
            tracing::error!("{}", unreadable(&error));
        }
        ledger
    }

    /// What is wrong with the files and what to do about it, in one line. Looks whether it has been mended.
    pub fn problem(&self) -> Option<String> {
        let failed = self.book.lock().unread.is_some();
        if failed {
            // What comes of it is noted.
            let _ = self.catch_up(&mut self.files.lock());
        }
        let book = self.book.lock();
        let empty = |path: &PathBuf| {
            let path = path.display();
            format!("the ledger {path} holds nothing that can be read, so what was spent is not known; move it away")
        };
        book.unread.as_ref().map(unreadable).or_else(|| book.meaningless.as_ref().map(empty))
    }

    /// Why the ledger cannot be read now, so that its sums are too low.
    pub fn unread(&self) -> Option<String> {
        self.problem().filter(|_| self.book.lock().unread.is_some())
    }

    /// Reads what the start should have read.
    fn catch_up(&self, files: &mut Files) -> Result<(), LedgerError> {
        let read = files.newest().and_then(|months| months.iter().try_for_each(|month| self.load(files, month)));
        self.book.lock().unread = read.clone().err();
        read
    }

    /// Reads a month, unless it was read before.
    fn load(&self, files: &mut Files, month: &str) -> Result<(), LedgerError> {
        if self.book.lock().knows(month) {
            return Ok(());
        }
        let (lines, damaged) = files.read(month)?;
        let mut book = self.book.lock();
        if lines.is_empty() && damaged > 0 {
            book.meaningless = files.path_of(month);
        }
        book.enter(month, lines, damaged);
        Ok(())
    }

    /// Reserves what a call may cost, or says why the call must not be made. A rebuild with its own limit
    /// (micro-dollars and tokens) counts against that limit and not against the day's: the user agreed to it. Free
    /// calls are counted and never refused. The reservation is on the disk when this returns.
    ///
    /// # Errors
    /// See [`OverBudget`].
    pub fn reserve(
        &self,
        ask: CallEstimate<'_>,
        limits: &BudgetLimits,
        rebuild: Option<(u64, u64)>,
        now: Zoned,
    ) -> Result<Reservation, OverBudget> {
        let mut files = self.files.lock();
        self.catch_up(&mut files).map_err(|error| OverBudget::Io(unreadable(&error)))?;
        let day = now.date();
        self.load(&mut files, &month_of(day)).map_err(|error| OverBudget::Io(unreadable(&error)))?;
        let own = rebuild.filter(|_| matches!(ask.purpose, Purpose::Rebuild(_)));
        let entry = Entry::new(files.next, day, &ask, own.is_some());
        let (money, tokens) = own.unwrap_or((limits.day, limits.day_tokens));
        {
            let mut book = self.book.lock();
            allow(&entry, book.spent(&Pot::of(&entry)), money, tokens)?;
            book.reserve(&entry);
        }
        // The number is used up even if the write fails, because part of the line may be in the file.
        files.next = files.next.saturating_add(1);
        if let Err(error) = files.append(&[Line::Reserved(entry.clone())], &now, true) {
            self.book.lock().unreserve(&entry);
            return Err(OverBudget::Io(format!("nothing is bought, for that could not be written down: {error}")));
        }
        Ok(Reservation { entry })
    }

    /// Books what a call cost in the end; that is on the disk when this returns.
    ///
    /// # Errors
    /// It cannot be written: then the estimate goes on counting.
    pub fn settle(&self, reservation: Reservation, used: Settled, now: Zoned) -> Result<(), LedgerError> {
        let micro_dollars = used.micro_dollars.or(reservation.entry.reserved);
        self.write_settled(&reservation.entry, Settled { micro_dollars, ..used }, true, now)
    }

    /// Counts a call as spent at its estimate, because nobody knows whether the provider counted it. Does not wait for
    /// the disk: if the line is lost, the reservation stands and counts as much.
    ///
    /// # Errors
    /// It cannot be written: then the reservation stands.
    pub fn settle_unknown(&self, reservation: Reservation, now: Zoned) -> Result<(), LedgerError> {
        self.write_settled(&reservation.entry, reservation.entry.estimate(), false, now)
    }

    fn write_settled(&self, entry: &Entry, used: Settled, is_known: bool, now: Zoned) -> Result<(), LedgerError> {
        let mut files = self.files.lock();
        files.append(&[Line::Settled { entry: entry.clone(), used, maybe_billed: !is_known }], &now, is_known)?;
        let mut book = self.book.lock();
        book.unreserve(entry);
        book.settle(entry, &used);
        Ok(())
    }

    /// Books what a reservation for several notes cost: one part, and one line, per path. All lines are on the disk
    /// when this returns. The last line ends the reservation: if the machine stops before it is written, too much
    /// counts as spent, never too little.
    ///
    /// # Errors
    /// It cannot be written: then the estimate goes on counting.
    pub fn settle_parts(
        &self,
        reservation: Reservation,
        parts: &[(String, Settled)],
        now: Zoned,
    ) -> Result<(), LedgerError> {
        let mut files = self.files.lock();
        let whole = reservation.entry;
        let mut lines = Vec::with_capacity(parts.len() + 1);
        for (path, used) in parts {
            // Each part has its own number, because the first line under the reservation's number would end the
            // reservation.
            let id = files.next;
            files.next = files.next.saturating_add(1);
            let (path, reserved, tokens) = (path.clone(), used.micro_dollars, used.usage.tokens());
            let entry = Entry { id, path, reserved, tokens, ..whole.clone() };
            lines.push(Line::Settled { entry, used: *used, maybe_billed: false });
        }
        lines.push(Line::Released { id: whole.id, day: whole.day.clone() });
        files.append(&lines, &now, true)?;
        let mut book = self.book.lock();
        for line in &lines {
            if let Line::Settled { entry, used, .. } = line {
                book.settle(entry, used);
            }
        }
        book.unreserve(&whole);
        Ok(())
    }

    /// The reservation under a vault, path and purpose that is neither settled nor released, even if a former process
    /// that was killed made it. The caller must be sure that nobody else holds it.
    pub fn standing(&self, vault: &str, path: &str, purpose: Purpose) -> Option<Reservation> {
        self.book.lock().standing(vault, path, purpose).map(|entry| Reservation { entry: entry.clone() })
    }

    /// Gives a reservation back: the call was not made, or the provider certainly charged nothing for it.
    ///
    /// # Errors
    /// It cannot be written: then the estimate goes on counting.
    pub fn release(&self, reservation: Reservation, now: Zoned) -> Result<(), LedgerError> {
        let Entry { id, day, .. } = &reservation.entry;
        // Without an fsync: if the line is lost, too much counts as spent, never too little.
        self.files.lock().append(&[Line::Released { id: *id, day: day.clone() }], &now, false)?;
        self.book.lock().unreserve(&reservation.entry);
        Ok(())
    }

    /// Records that contexts of a note were taken from a team, and what that saved. Does not wait for the disk: if the
    /// line is lost, only a report suffers.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn spare(&self, vault: &str, path: &str, saving: TeamSaving, now: Zoned) -> Result<(), LedgerError> {
        let mut files = self.files.lock();
        // What is entered into a month makes it count as read.
        self.catch_up(&mut files)?;
        self.load(&mut files, &month_of(now.date()))?;
        let (vault, path, day) = (vault.to_owned(), path.to_owned(), now.date().to_string());
        let spared = Spared { id: files.next, day, vault, path, saving };
        files.next = files.next.saturating_add(1);
        files.append(&[Line::Spared(spared.clone())], &now, false)?;
        self.book.lock().spare(&spared);
        Ok(())
    }

    /// What was spent, as of now.
    pub fn report(&self, now: Zoned) -> CostReport {
        let day = now.date();
        let before = day.first_of_month().yesterday().unwrap_or(day);
        for month in [month_of(day), month_of(before)] {
            let known = self.book.lock().knows(&month);
            if !known {
                // A month that cannot be read now was not read at the start either: its sums are empty.
                let _ = self.load(&mut self.files.lock(), &month);
            }
        }
        self.book.lock().report(day, before)
    }

    /// Whether a model, paid or free, was asked about notes of a vault in the months that were read: the newest two.
    /// Vaults are known by their names: another folder may have had this one.
    pub fn has_asked(&self, vault: &str, provider: &str, model: &str) -> bool {
        self.book.lock().has_asked(vault, provider, model)
    }

    /// What a rebuild has spent or reserved of its own budget.
    pub fn spent_by_rebuild(&self, vault: &str, job: u64) -> Spending {
        self.book.lock().spent(&Pot::Rebuild(vault.to_owned(), job))
    }
}

/// What to do about a ledger that cannot be read.
fn unreadable(error: &LedgerError) -> String {
    format!("nothing is bought, for what was spent cannot be read: {error}; make it readable, or move it away")
}

/// Whether what is left of a budget covers a call.
fn allow(entry: &Entry, spent: Spending, money: u64, tokens: u64) -> Result<(), OverBudget> {
    let (needed, limit, spent) = match entry.reserved {
        Some(0) => return Ok(()),
        Some(needed) => (needed, money, spent.micro_dollars),
        None => (entry.tokens, tokens, spent.tokens),
    };
    if spent.checked_add(needed).is_some_and(|sum| sum <= limit) {
        return Ok(());
    }
    Err(match (entry.reserved, entry.own_budget) {
        (Some(_), false) => OverBudget::Day { limit, spent, needed },
        (Some(_), true) => OverBudget::Rebuild { limit, spent, needed },
        (None, false) => OverBudget::DayTokens { limit, spent, needed },
        (None, true) => OverBudget::RebuildTokens { limit, spent, needed },
    })
}
