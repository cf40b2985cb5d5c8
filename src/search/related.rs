//! What lies near a note: chunks of other notes that are about the same.

use std::collections::HashSet;

use super::answer::{Answer, in_order};
use super::hit::Maker;
use super::lanes::{depth, telling};
use super::pick::pick;
use super::{MAX_HITS, Mode, Options};
use crate::embed::Vector;
use crate::index::{LexicalError, NoteNo, Row, Snapshot};

/// What related chunks are wanted for.
#[derive(Clone, Debug, PartialEq)]
pub enum Seed {
    /// A note of this snapshot.
    Note(NoteNo),
    /// A chunk of this snapshot.
    Chunk(Row),
    /// Any text, embedded; or the [`seed_vector`] of a note in another vault.
    Vector(Vector),
}

/// The direction of a seed: the mean of the vectors of its chunks. `None` if there are none that say
/// anything.
pub fn seed_vector(snapshot: &Snapshot, seed: &Seed) -> Option<Vector> {
    let vectors = match seed {
        Seed::Note(no) => snapshot.note(*no)?.rows.iter().flat_map(|row| snapshot.vectors(*row)).collect(),
        Seed::Chunk(row) => snapshot.vectors(*row),
        Seed::Vector(vector) => return telling(Some(vector)).cloned(),
    };
    mean(&vectors)
}

/// Chunks of other notes near the seed, by cosine; for a seed of this vault each hit says whether its note
/// is linked with the seed's already. `options` has the limits; the mode is always dense.
pub fn related(snapshot: &Snapshot, vault: &str, seed: &Seed, options: &Options) -> Result<Answer, LexicalError> {
    let mut answer = Answer { seq: snapshot.seq(), mode: Mode::Dense, ..Answer::default() };
    let Some(vector) = seed_vector(snapshot, seed) else {
        answer.warnings.push("there are no words to compare with other notes".to_owned());
        return Ok(answer);
    };
    let own = match seed {
        Seed::Note(no) => Some(*no),
        Seed::Chunk(row) => snapshot.chunk(*row).map(|chunk| chunk.note),
        Seed::Vector(_) => None,
    };
    let linked = own.map(|no| linked_with(snapshot, no));
    let note_of = |row: Row| snapshot.chunk(row).map(|chunk| chunk.note);
    let allowed = |row: Row| own.is_none() || note_of(row) != own;
    let limit = options.limit.min(MAX_HITS);
    let mut near = snapshot.dense(&vector, &allowed, depth(limit));
    near.retain(|(_, cosine)| *cosine > 0.0);
    near.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| in_order(snapshot, a.0, b.0)));
    let (picked, truncated) = pick(near, |(row, _)| note_of(*row), options.per_note, limit);
    answer.truncated = truncated;
    let maker = Maker::new(snapshot, vault, "", options)?;
    for (row, cosine) in picked {
        let linked = linked.as_ref().and_then(|linked| Some(linked.contains(&note_of(row)?)));
        answer.hits.extend(maker.hit(row, cosine, None, linked)?);
    }
    Ok(answer)
}

/// The notes that this one links to or that link to it.
fn linked_with(snapshot: &Snapshot, no: NoteNo) -> HashSet<NoteNo> {
    let mut linked: HashSet<NoteNo> = snapshot.backlinks(no).into_iter().collect();
    if let Some(note) = snapshot.note(no) {
        linked.extend(note.links.iter().filter_map(|target| snapshot.resolve(target, &note.path)));
    }
    linked
}

/// The normalised mean of normalised vectors, quantised as they are; `None` for none, or if they cancel out.
fn mean(vectors: &[Vector]) -> Option<Vector> {
    let mut sum = vec![0f32; vectors.iter().map(|v| v.values.len()).max()?];
    for vector in vectors {
        for (total, value) in sum.iter_mut().zip(&vector.values) {
            *total += vector.scale * f32::from(*value);
        }
    }
    let largest = sum.iter().fold(0f32, |largest, x| largest.max(x.abs()));
    let length = sum.iter().map(|x| x * x).sum::<f32>().sqrt();
    if !(length.is_finite() && largest > 0.0) {
        return None;
    }
    let values = sum.iter().map(|x| (x / largest * 127.0).round() as i8).collect();
    Some(Vector { values, scale: largest / length / 127.0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn unit(values: &[i8]) -> Vector {
        let length = values.iter().map(|v| f32::from(*v).powi(2)).sum::<f32>().sqrt();
        Vector { values: values.into(), scale: if length > 0.0 { 1.0 / length } else { 0.0 } }
    }

    #[test]
    fn the_mean_lies_between() {
        let middle = mean(&[unit(&[127, 0]), unit(&[0, 127])]).unwrap();
        assert_eq!(&*middle.values, [127, 127]);
        assert!((middle.scale * 127.0 - 0.5f32.sqrt()).abs() < 1e-3);
        assert_eq!(mean(&[]), None);
        assert_eq!(mean(&[unit(&[0, 0])]), None);
        assert_eq!(mean(&[unit(&[127, 0]), unit(&[-127, 0])]), None);
    }

    proptest! {
        #[test]
        fn the_mean_has_length_one(vectors in proptest::collection::vec(proptest::collection::vec(-127i8..=127, 16), 1..6)) {
            let vectors: Vec<Vector> = vectors.iter().map(|v| unit(v)).collect();
            if let Some(mean) = mean(&vectors) {
                let length: f32 = mean.values.iter().map(|v| (mean.scale * f32::from(*v)).powi(2)).sum();
                prop_assert!((length - 1.0).abs() < 0.05, "{}", length);
            }
        }

        #[test]
        fn the_mean_of_one_is_that_one(values in proptest::collection::vec(-127i8..=127, 15)) {
            let values = [&[127], &values[..]].concat();
            prop_assert_eq!(&*mean(&[unit(&values)]).unwrap().values, &*values);
        }
    }
}
