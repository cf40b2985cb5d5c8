//! Entries of notes as bytes.

use jiff::civil::Date;

use super::{ChunkRows, NoteEntry, NoteTexts, Order};
use crate::HeadingPaths;
use crate::packed::{put_bytes, put_number, put_text, take_bytes, take_number, take_text, taken};
use note::fingerprint::TextHash;
use note::{FileStat, OwnDays, VaultPath};

/// How rows are saved.
const RUN: u8 = 0;
const ANY: u8 = 1;

impl NoteEntry {
    /// Appends the entry to `out`.
    pub(crate) fn save(&self, out: &mut Vec<u8>) {
        let FileStat { size, mtime_ns, ctime_ns, dev, ino } = self.stat;
        let numbers = [self.seq, size, mtime_ns.cast_unsigned(), ctime_ns.cast_unsigned(), dev, ino];
        put_number(self.no as usize, out);
        put_text(self.path.as_str(), out);
        numbers.iter().for_each(|number| out.extend(number.to_le_bytes()));
        out.extend(self.hash.0);
        put_bytes(&self.texts.0, out);
        let OwnDays { about, created, modified } = self.days;
        [about, created, modified].iter().for_each(|day| out.extend(saved_day(*day).to_le_bytes()));
        out.push(self.conflict.into());
        put_bytes(self.headings.bytes(), out);
        self.rows.save(out);
    }

    /// Takes an entry that [`NoteEntry::save`] wrote from the beginning of `bytes`; `None` if it is cut.
    pub(crate) fn restored(bytes: &mut &[u8]) -> Option<NoteEntry> {
        let no = take_number(bytes)? as u32;
        let path = VaultPath::parse(take_text(bytes)?)?;
        let [seq, size, mtime_ns, ctime_ns, dev, ino] = taken_numbers(bytes)?;
        let (mtime_ns, ctime_ns) = (mtime_ns.cast_signed(), ctime_ns.cast_signed());
        let hash = TextHash(taken(bytes)?);
        let texts = NoteTexts(take_bytes(bytes)?.into());
        let mut day = || Some(restored_day(i32::from_le_bytes(taken(bytes)?)));
        let days = OwnDays { about: day()?, created: day()?, modified: day()? };
        let conflict = taken(bytes)? != [0];
        let headings = HeadingPaths::of_bytes(take_bytes(bytes)?);
        let rows = ChunkRows::restored(bytes)?;
        let stat = FileStat { size, mtime_ns, ctime_ns, dev, ino };
        Some(NoteEntry { no, seq, path, stat, hash, texts, days, conflict, rows, headings })
    }
}

impl ChunkRows {
    /// Appends the number of rows; then whether they are consecutive; then the first one, or each.
    pub(super) fn save(&self, out: &mut Vec<u8>) {
        put_number(self.len(), out);
        match &self.0 {
            Order::Run { first, .. } => {
                out.push(RUN);
                put_number(*first as usize, out);
            }
            Order::Any(rows) => {
                out.push(ANY);
                rows.iter().for_each(|row| put_number(*row as usize, out));
            }
        }
    }

    /// Takes rows that [`ChunkRows::save`] wrote from the beginning of `bytes`; `None` if they are cut.
    pub(super) fn restored(bytes: &mut &[u8]) -> Option<ChunkRows> {
        let count = take_number(bytes)?;
        let order = taken(bytes)?;
        let mut row = || Some(take_number(bytes)? as u32);
        Some(ChunkRows(match order {
            [RUN] => Order::Run { first: row()?, count: count as u32 },
            _ => Order::Any((0..count).map(|_| row()).collect::<Option<_>>()?),
        }))
    }
}

fn taken_numbers<const N: usize>(bytes: &mut &[u8]) -> Option<[u64; N]> {
    let mut numbers = [0; N];
    for number in &mut numbers {
        *number = u64::from_le_bytes(taken(bytes)?);
    }
    Some(numbers)
}

/// A day as a number: year, month and day one behind the other in decimal. No day is 0.
fn saved_day(day: Option<Date>) -> i32 {
    let number = |day: Date| (i32::from(day.year()) * 100 + i32::from(day.month())) * 100 + i32::from(day.day());
    day.map_or(0, number)
}

fn restored_day(number: i32) -> Option<Date> {
    // Most notes name no day, and an error of `Date` would allocate.
    if number == 0 {
        return None;
    }
    let (year, rest) = (number.div_euclid(10_000), number.rem_euclid(10_000));
    Date::new(i16::try_from(year).ok()?, (rest / 100) as i8, (rest % 100) as i8).ok()
}
