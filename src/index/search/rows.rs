//! Sets of rows: what a filter allows.

use crate::Row;
use vector::ones;

/// A set of rows, one bit each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RowSet(Vec<u64>);

impl RowSet {
    /// The empty set over rows `0..rows`.
    pub(super) fn new(rows: usize) -> Self {
        RowSet(vec![0; rows.div_ceil(64)])
    }

    /// All of `0..rows`.
    pub(super) fn full(rows: usize) -> Self {
        let mut words = vec![u64::MAX; rows.div_ceil(64)];
        if let Some(last) = words.last_mut().filter(|_| !rows.is_multiple_of(64)) {
            *last = (1 << (rows % 64)) - 1;
        }
        RowSet(words)
    }

    /// These rows out of `0..rows`.
    pub(super) fn of(rows: usize, members: impl IntoIterator<Item = Row>) -> Self {
        let mut set = RowSet::new(rows);
        for row in members {
            set.insert(row);
        }
        set
    }

    /// Adds a row; one outside the range is left out.
    pub(super) fn insert(&mut self, row: Row) {
        if let Some(word) = self.0.get_mut(row as usize / 64) {
            *word |= 1 << (row % 64);
        }
    }

    /// Whether the row is in the set.
    pub(super) fn contains(&self, row: Row) -> bool {
        self.0.get(row as usize / 64).is_some_and(|word| word & (1 << (row % 64)) != 0)
    }

    /// The rows in order, if there are no more than `most`.
    pub(super) fn few(&self, most: usize) -> Option<Vec<Row>> {
        let count: usize = self.0.iter().map(|word| word.count_ones() as usize).sum();
        (count <= most).then(|| {
            let mut rows = Vec::with_capacity(count);
            for (at, word) in (0..).step_by(64).zip(&self.0) {
                rows.extend(ones(*word).map(|bit| at + bit));
            }
            rows
        })
    }

    /// Takes a row out.
    pub(super) fn remove(&mut self, row: Row) {
        if let Some(word) = self.0.get_mut(row as usize / 64) {
            *word &= !(1 << (row % 64));
        }
    }

    /// Adds what is in the other, a set over the same rows.
    pub(super) fn add(&mut self, other: &RowSet) {
        self.0.iter_mut().zip(&other.0).for_each(|(mine, theirs)| *mine |= theirs);
    }

    /// Keeps what is in the other too, a set over the same rows.
    pub(super) fn keep(&mut self, other: &RowSet) {
        self.0.iter_mut().zip(&other.0).for_each(|(mine, theirs)| *mine &= theirs);
    }

    /// Takes out what is in the other, a set over the same rows.
    pub(super) fn drop_all(&mut self, other: &RowSet) {
        self.0.iter_mut().zip(&other.0).for_each(|(mine, theirs)| *mine &= !theirs);
    }

    /// Whether no row is in the set.
    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }
}

#[cfg(test)]
mod tests;
