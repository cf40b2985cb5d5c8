//! The notes that a scan went through, as they are encoded: decoded they would take four times as much, all at once and in
//! millions of pieces, and what came into the index meanwhile would lie between the holes that they leave.

use super::codec::decode_note;
use super::damage::Damage;
use crate::record::NoteRecord;

/// Bytes of a piece. From half a mebibyte on the allocator gives back to the system what is freed.
const PIECE: usize = 1 << 20;

/// Bytes of a length.
const LENGTH: usize = 4;

/// Encoded notes, in order.
#[derive(Default)]
pub(super) struct Scanned {
    /// Of each note the length of its path, that of its record, and then both.
    pieces: Vec<Vec<u8>>,
    count: usize,
}

impl Scanned {
    /// Adds a note.
    pub(super) fn push(&mut self, path: &[u8], record: &[u8]) {
        let needed = 2 * LENGTH + path.len() + record.len();
        let piece = match self.pieces.pop() {
            Some(piece) if piece.len() + needed <= PIECE => piece,
            full => {
                self.pieces.extend(full);
                Vec::with_capacity(needed.max(PIECE))
            }
        };
        self.pieces.push(piece);
        let Some(piece) = self.pieces.last_mut() else { return };
        for part in [path, record] {
            // A path of the file system and a value of the database are far from 4 GiB.
            piece.extend_from_slice(&(part.len() as u32).to_le_bytes());
        }
        piece.extend_from_slice(path);
        piece.extend_from_slice(record);
        self.count += 1;
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// The notes, each decoded when it is asked for; a piece is freed when it has been.
    pub(super) fn decoded(self) -> impl Iterator<Item = Result<NoteRecord, Damage>> + Send {
        let mut pieces = self.pieces.into_iter();
        let (mut piece, mut at) = (Vec::new(), 0);
        std::iter::from_fn(move || {
            if at == piece.len() {
                (piece, at) = (pieces.next()?, 0);
            }
            let mut rest = &piece[at..];
            let (path, record) = (taken_length(&mut rest)?, taken_length(&mut rest)?);
            let (path, record) = (taken(&mut rest, path)?, taken(&mut rest, record)?);
            at = piece.len() - rest.len();
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
    fn all_notes_come_out_in_their_order_whatever_the_pieces() {
        // One that is larger than a piece, and enough small ones for several.
        let mut records: Vec<NoteRecord> = (0..400).map(|no| note(&format!("{no}.md"), 20, no).0).collect();
        records[7].title = "long ".repeat(PIECE / 4);
        let mut scanned = Scanned::default();
        for record in &records {
            scanned.push(record.path.as_str().as_bytes(), &encode_note(record).unwrap());
        }
        assert!(scanned.pieces.len() > 2 && scanned.len() == 400);
        assert_eq!(scanned.decoded().map(Result::unwrap).collect::<Vec<_>>(), records);
    }

    #[test]
    fn bytes_that_are_no_note_are_an_error() {
        let mut scanned = Scanned::default();
        scanned.push(b"a.md", b"nonsense");
        assert!(scanned.decoded().next().unwrap().is_err());
        assert!(Scanned::default().decoded().next().is_none());
    }
}
