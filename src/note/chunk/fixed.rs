//! Windows of a fixed number of tokens: the plainest strategy, for comparison.

use super::{ChunkConfig, Piece, Ruler, sections_of};
use crate::Note;

pub(super) fn windows(note: &Note, config: &ChunkConfig, ruler: &Ruler<'_>) -> Vec<Piece> {
    let target = config.target.max(1);
    let step = (target - config.overlap_tokens().min(target - 1)).max(1);
    let end = note.text.len();
    let mut pieces = Vec::new();
    let mut start = note.body;
    loop {
        let stop = ruler.position_after(start, target).unwrap_or(end);
        pieces.push(Piece { sections: sections_of(note, start, stop), span: start..stop });
        if stop == end {
            return pieces;
        }
        start = ruler.position_after(start, step).filter(|next| *next > start).unwrap_or(stop);
    }
}
