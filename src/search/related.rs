//! What lies near a note, a part of one, or any text: chunks of other notes that are about the same.

use std::collections::HashMap;

use super::answer::{Answer, in_order};
use super::hit::{Maker, Pick};
use super::lanes::{depth, telling};
use super::{Link, MAX_HITS, Mode, Options};
use crate::embed::Vector;
use crate::index::{LexicalError, NoteNo, Row, Snapshot};

/// What related chunks are wanted for.
#[derive(Clone, Debug, PartialEq)]
pub enum Seed {
    /// A note of this snapshot.
    Note(NoteNo),
    /// Chunks of one note of this snapshot.
    Chunks(Vec<Row>),
    /// A part of a note of this snapshot, embedded.
    Part(NoteNo, Vector),
    /// Any text, embedded; or the [`seed_vector`] of what lies in another vault.
    Vector(Vector),
}

/// The direction of a seed: the mean of the vectors of its chunks. `None` if there are none that say
/// anything.
pub fn seed_vector(snapshot: &Snapshot, seed: &Seed) -> Option<Vector> {
    let vectors: Vec<Vector> = match seed {
        Seed::Note(no) => snapshot.note(*no)?.rows.iter().flat_map(|row| snapshot.vectors(*row)).collect(),
        Seed::Chunks(rows) => rows.iter().flat_map(|row| snapshot.vectors(*row)).collect(),
        Seed::Part(_, vector) | Seed::Vector(vector) => return telling(Some(vector)).cloned(),
    };
    mean(&vectors)
}

impl Seed {
    /// The note of this snapshot that it is, or is a part of.
    fn note(&self, snapshot: &Snapshot) -> Option<NoteNo> {
        match self {
            Seed::Note(no) | Seed::Part(no, _) => Some(*no),
            Seed::Chunks(rows) => rows.first().and_then(|row| snapshot.chunk(*row)).map(|chunk| chunk.note),
            Seed::Vector(_) => None,
        }
    }
}

/// Chunks of other notes near the seed, by cosine; for a seed of this vault each hit says whether and how its note
/// is linked with the seed's already, and with `exclude_linked` those that are stay out. `options` has the limits;
/// the mode is always dense: words that the two notes share did not find linked notes more often.
pub fn related(
    snapshot: &Snapshot,
    vault: &str,
    seed: &Seed,
    exclude_linked: bool,
    options: &Options,
) -> Result<Answer, LexicalError> {
    let mut answer = Answer { seq: snapshot.seq(), mode: Mode::Dense, ..Answer::default() };
    let Some(vector) = seed_vector(snapshot, seed) else {
        answer.warnings.push("there are no words to compare with other notes".to_owned());
        return Ok(answer);
    };
    let own = seed.note(snapshot);
    let links = own.map(|no| links(snapshot, no)).unwrap_or_default();
    let note_of = |row: Row| snapshot.chunk(row).map(|chunk| chunk.note);
    let allowed = |row: Row| match (own, note_of(row)) {
        (None, _) => true,
        (_, Some(note)) if exclude_linked && links.contains_key(&note) => false,
        (own, note) => note != own,
    };
    let mut near = snapshot.dense(&vector, &allowed, depth(options.limit.min(MAX_HITS)));
    near.retain(|(_, cosine)| *cosine > 0.0);
    near.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| in_order(snapshot, a.0, b.0)));
    let picks = near.into_iter().map(|(row, score)| {
        let link = note_of(row).and_then(|note| links.get(&note).copied());
        Pick { row, score, lanes: None, link: own.map(|_| link) }
    });
    (answer.hits, answer.truncated) = Maker::new(snapshot, vault, "", options).hits(picks)?;
    Ok(answer)
}

/// The notes that this one links to or that link to it.
fn links(snapshot: &Snapshot, no: NoteNo) -> HashMap<NoteNo, Link> {
    let mut links: HashMap<NoteNo, Link> =
        snapshot.backlinks(no).into_iter().map(|other| (other, Link::From)).collect();
    if let Some(note) = snapshot.note(no) {
        for to in note.links.iter().filter_map(|target| snapshot.resolve(target, &note.path)) {
            links.entry(to).and_modify(|link| *link = if *link == Link::To { Link::To } else { Link::Both }).or_insert(Link::To);
        }
    }
    links
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
