//! Gives back the disk space and memory that an open store takes needlessly. To know how much that is, the store has to
//! read all of the database: with a million chunks that takes seconds, and no save is to wait for it. So each call of
//! [`Store::reclaim`] reads one step ([`Survey`]), and what is written between the steps counts as needed.

use platform::files::Room;

use super::database::Open;
use super::record::NoteRecord;
use super::tree::{SurveyPlace, Surveyed};
use super::vectors::{Records, SPARE};
use super::{CompactReport, Store, StoreError, bytes_in, compact};
use note::fingerprint::InputHash;

/// Bytes that a database may take on top of two and a half times its content: sled writes several segments of half a
/// megabyte at a time, and a new database takes 1.8 times its content.
const SLACK: u64 = 4 << 20;

/// What [`Store::reclaim`] gave back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reclaimed {
    /// There is more to read before the store knows what it can give back.
    More,
    /// There was little to give back.
    Nothing,
    /// Memory that sled took for pages.
    Pages,
    /// Disk space of the database, and its pages.
    Space(CompactReport),
}

/// When a survey is worthwhile, and how far the current one has come.
pub(super) struct Reclaiming {
    /// From this many bytes of the database's files on, a survey is worthwhile.
    look_from: u64,
    /// From this many vectors on, a survey is worthwhile.
    look_at_vectors_from: usize,
    survey: Option<Survey>,
}

/// What is needed, as far as the steps so far have seen.
#[derive(Default)]
struct Survey {
    place: SurveyPlace,
    /// Bytes of keys and values.
    needed: u64,
    /// Records of vectors that notes name.
    named: Records,
}

/// The result of a step.
enum Step {
    /// There is more to read.
    More,
    /// All is read. `needed` is what the database needs, in bytes, if its files are large enough to care.
    Over { needed: Option<u64> },
}

/// The inputs of a note, and those of its texts without their contexts.
fn inputs(note: &NoteRecord) -> impl Iterator<Item = InputHash> + '_ {
    note.chunks.iter().flat_map(|chunk| &chunk.inputs).copied().flat_map(compact::with_text_alone)
}

impl Default for Reclaiming {
    fn default() -> Self {
        Reclaiming { look_from: SLACK, look_at_vectors_from: SPARE, survey: None }
    }
}

impl Reclaiming {
    /// Drops the survey under way: what it saw is no longer of use.
    pub(super) fn forget(&mut self) {
        self.survey = None;
    }
}

impl Store {
    /// Makes the store's files smaller, or at least keeps them from growing, where they take much more than their
    /// content: it copies the database, and lets new vectors overwrite those that no note names any more. If a copy is
    /// not worthwhile, it gives memory back ([`Store::drop_pages`]). After [`Reclaimed::More`] the caller should call
    /// again soon. Other users of the store wait some milliseconds for such a step, and for a copy as long as it takes.
    /// Nobody may be about to write a note whose vectors are already put.
    ///
    /// # Errors
    /// The database cannot be read, or cannot be opened again: then everything fails until the store is opened anew. It
    /// is no error if the database merely could not be made smaller: it stays as it was.
    pub fn reclaim(&self) -> Result<Reclaimed, StoreError> {
        let sled = self.dir.join(compact::SLED);
        let before = bytes_in(&sled);
        let Step::Over { needed } = self.survey(before)? else { return Ok(Reclaimed::More) };
        let free = Room::at(&self.dir).map_or(u64::MAX, |room| room.free);
        let is_worth_it = |needed: u64| before >= needed * 5 / 2 + SLACK && free >= 2 * needed + SLACK;
        if needed.is_some_and(is_worth_it) && self.put_copy_in_place()? {
            let after = bytes_in(&sled);
            self.reclaiming.lock().look_from = after + after / 4 + SLACK / 2;
            return Ok(Reclaimed::Space(CompactReport { before, after }));
        }
        Ok(if self.drop_pages()? { Reclaimed::Pages } else { Reclaimed::Nothing })
    }

    /// Reads one step further, and gives vectors up after the last one. `files` is the size of the database's files in
    /// bytes.
    fn survey(&self, files: u64) -> Result<Step, StoreError> {
        let mut reclaiming = self.reclaiming.lock();
        let vectors = self.vectors();
        let is_due = files >= reclaiming.look_from || vectors.len() >= reclaiming.look_at_vectors_from;
        let Some(mut survey) = reclaiming.survey.take().or_else(|| is_due.then(Survey::default)) else {
            return Ok(Step::Over { needed: None });
        };
        let named = &mut survey.named;
        let seen = self.database.with(|trees| trees.survey(survey.place, |note| vectors.name(inputs(&note), named)));
        let Surveyed { bytes, next } = seen.map_err(|fault| self.fault(fault))?;
        survey.needed += bytes;
        if let Some(place) = next {
            reclaiming.survey = Some(Survey { place, ..survey });
            return Ok(Step::More);
        }
        if vectors.len() >= reclaiming.look_at_vectors_from {
            vectors.give_up(&survey.named);
            let kept = vectors.len();
            reclaiming.look_at_vectors_from = kept + kept / 8 + SPARE / 4;
        }
        let is_large = files >= reclaiming.look_from;
        if is_large {
            reclaiming.look_from = files + files / 4;
        }
        Ok(Step::Over { needed: is_large.then_some(survey.needed) })
    }

    /// Counts the inputs of a record that is about to be written as named: a survey under way may not see it any more.
    pub(super) fn survey_named(&self, record: &NoteRecord) {
        if let Some(survey) = &mut self.reclaiming.lock().survey {
            self.vectors().name(inputs(record), &mut survey.named);
        }
    }

    /// Replaces the database by a copy, which takes no more than it needs. Returns whether that succeeded.
    fn put_copy_in_place(&self) -> Result<bool, StoreError> {
        let cannot = |error: StoreError| tracing::warn!(%error, "the database could not be made smaller");
        self.closed_for_a_moment(|open| {
            if let Err(error) = open.as_ref().map_or(Ok(()), |open| compact::copy(&self.dir, &open.trees)) {
                cannot(error);
                return Ok(false);
            }
            *open = None;
            match compact::swap(&self.dir) {
                Ok(trees) => *open = Some(Open::new(trees)?),
                Err(error) => cannot(error),
            }
            // If the copy did not open, the original is in its place again.
            Ok(open.is_some())
        })
    }
}
