//! Notes of a scan, still encoded: decoded notes take four times as much memory, in many small pieces. The thread that
//! scans allocates the pages of the database; pieces of notes between them would leave holes that cannot be given back.

use super::codec::decode_note;
use super::damage::Damage;
use crate::record::NoteRecord;

/// Bytes of a batch. The allocator maps blocks from half a mebibyte on, and gives them back to the system when they are
/// freed.
const FULL: usize = 1 << 20;

/// Bytes of a length field.
const LENGTH: usize = 4;

/// A batch of notes, in order of path.
#[derive(Default)]
pub struct EncodedNotes {
    /// For each note the length of its path, the length of its record, the path, and the record.
    bytes: Vec<u8>,
}

impl EncodedNotes {
    /// Adds a note. If the batch has no room for it, returns the batch and begins the next one with the note.
    pub(super) fn push(&mut self, path: &[u8], record: &[u8]) -> Option<EncodedNotes> {
        let needed = 2 * LENGTH + path.len() + record.len();
        let has_room = self.bytes.len() + needed <= self.bytes.capacity();
        let full = (!has_room).then(|| std::mem::replace(&mut self.bytes, Vec::with_capacity(needed.max(FULL))));
        for part in [path, record] {
            // Paths of the file system and values of the database are far smaller than 4 GiB.
            self.bytes.extend_from_slice(&(part.len() as u32).to_le_bytes());
        }
        self.bytes.extend_from_slice(path);
        self.bytes.extend_from_slice(record);
        full.filter(|bytes| !bytes.is_empty()).map(|bytes| EncodedNotes { bytes })
    }

    /// The notes. The scan has decoded each of them already, so all of them decode.
    pub fn decoded(&self) -> impl Iterator<Item = NoteRecord> {
        self.results().flatten()
    }

    fn results(&self) -> impl Iterator<Item = Result<NoteRecord, Damage>> {
        let mut rest = &*self.bytes;
        std::iter::from_fn(move || {
            let (path, record) = (taken_length(&mut rest)?, taken_length(&mut rest)?);
            let (path, record) = (taken(&mut rest, path)?, taken(&mut rest, record)?);
            Some(decode_note(path, record))
        })
    }
}

fn taken_length(rest: &mut &[u8]) -> Option<usize> {
    Some(u32::from_le_bytes(taken(rest, LENGTH)?.try_into().ok()?) as usize)
}

fn taken<'a>(rest: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (first, others) = rest.split_at_checked(length)?;
    *rest = others;
    Some(first)
}

#[cfg(test)]
mod tests {
    use super::super::codec::encode_note;
    use super::super::tests::note;
    use super::*;

    #[test]
    fn notes_come_back_in_order_and_in_several_batches() {
        // One that is larger than a batch, and enough small ones for several.
        let mut records: Vec<NoteRecord> = (0..1000).map(|at| note(&format!("{at:04}.md"), 40, 0).0).collect();
        records[7].title = "long ".repeat(FULL / 4);
        let (mut batch, mut batches) = (EncodedNotes::default(), Vec::new());
        for record in &records {
            batches.extend(batch.push(record.path.as_str().as_bytes(), &encode_note(record).unwrap()));
        }
        batches.push(batch);
        assert!(batches.len() > 4, "the large one, what is before it, and several behind");
        assert_eq!(batches.iter().flat_map(EncodedNotes::decoded).collect::<Vec<_>>(), records);
    }

    #[test]
    fn what_is_no_note_is_an_error() {
        let mut batch = EncodedNotes::default();
        assert!(batch.push(b"a.md", b"nonsense").is_none());
        assert!(batch.results().next().unwrap().is_err() && batch.decoded().next().is_none());
        assert!(EncodedNotes::default().results().next().is_none());
    }
}
