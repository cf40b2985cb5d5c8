//! Giving back what a store takes for nothing while it is open. To know how much that is, all of the database has to be
//! read: with a million chunks that takes seconds, for which no save is to wait. So it is read step by step
//! ([`Survey`]), one for each call of [`Store::reclaim`], and what is written between them counts as needed.

use platform::files::Room;

use super::database::Open;
use super::record::NoteRecord;
use super::tree::{SurveyPlace, Surveyed};
use super::vectors::{Records, SPARE};
use super::{CompactReport, Store, StoreError, bytes_in, compact};
use note::fingerprint::InputHash;

/// What a database may take beside two and a half times what is in it: sled writes segments of half a megabyte, several
/// at a time, and takes 1.8 times as much as what is in it when it is new.
const SLACK: u64 = 4 << 20;

/// What [`Store::reclaim`] gave back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reclaimed {
    /// It is not known yet what can be had: there is more to read.
    More,
    /// There was little to be had.
    Nothing,
    /// Memory that sled took for pages.
    Pages,
    /// Disk space of the database, and its pages.
    Space(CompactReport),
}

/// When it is worth to look how much is needed, and how far that has come.
pub(super) struct Reclaiming {
    /// Bytes of the database's files from which on it is.
    look_from: u64,
    /// Vectors from which on it is.
    look_at_vectors_from: usize,
    survey: Option<Survey>,
}

/// What is needed, as far as it is known.
#[derive(Default)]
struct Survey {
    place: SurveyPlace,
    /// Bytes of keys and values.
    needed: u64,
    /// Records of vectors that notes name.
    named: Records,
}

/// What came of a step.
enum Step {
    /// There is more to read.
    More,
    /// What the database needs, in bytes, is told if it was worth to look at its files.
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
    /// What was seen so far is of no use any more.
    pub(super) fn forget(&mut self) {
        self.survey = None;
    }
}

impl Store {
    /// Makes the store's files smaller, or at least no larger, where they take much more than what is in them: the
    /// database is copied, and vectors that no note names any more are written over by those to come. If there is
    /// nothing to copy, memory is given back ([`Store::drop_pages`]). After [`Reclaimed::More`] it is to be called again
    /// soon; who uses the store waits some milliseconds for such a step, and for the copy as long as that takes. Nobody may
    /// be about to write a note whose vectors are put already.
    ///
    /// # Errors
    /// The database cannot be read, or not opened again: then everything fails until the store is opened anew. One that
    /// merely could not be made smaller is as it was.
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

    /// Reads a step further and gives vectors up at the end. The database's files have so many bytes.
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

    /// A record is about to be written: a survey that is under way may not see it any more.
    pub(super) fn survey_named(&self, record: &NoteRecord) {
        if let Some(survey) = &mut self.reclaiming.lock().survey {
            self.vectors().name(inputs(record), &mut survey.named);
        }
    }

    /// Puts a copy of the database, which takes no more than it needs, in its place. Returns whether it could.
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
            // If it did not open, what was there before is in its place again.
            Ok(open.is_some())
        })
    }
}
