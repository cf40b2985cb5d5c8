//! (being written)
use super::{Note, NoteRules};
use crate::vault::VaultPath;

pub(super) fn parse(_path: &VaultPath, _bytes: &[u8], _rules: &NoteRules) -> Note {
    todo!()
}
