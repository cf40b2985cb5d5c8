//! Windows: a hit with its neighbours, stitched together from adjacent chunks of the same note.

use std::ops::Range;

/// Where a chunk lies in its note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Bytes of the note.
    pub(super) span: (u32, u32),
    /// First and last line, 1-based.
    pub(super) lines: (u32, u32),
}

/// A run of adjacent chunks as one text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Window {
    /// Every byte of the run once.
    pub(super) text: String,
    /// Characters of `text`.
    pub(super) chars: usize,
    /// First and last line.
    pub(super) lines: (u32, u32),
    /// The chunks, by their index in the note.
    pub(super) chunks: Range<usize>,
    /// Bytes of the note.
    span: (u32, u32),
}

/// Grows a window around chunk `at` of a note whose chunks lie at `places`, in order: the next chunk, the one before,
/// the next but one, and so on, while whole chunks within `bounds` fit into `limit` characters. A side is closed at the
/// first chunk that does not fit; chunk `at` is always in the window, however long it is. `text` gives the raw text of
/// a chunk by its index in `places`.
pub(super) fn grow<E>(
    places: &[Place],
    at: usize,
    bounds: Range<usize>,
    limit: usize,
    mut text: impl FnMut(usize) -> Result<String, E>,
) -> Result<Window, E> {
    let own = text(at)?;
    let chars = own.chars().count();
    let Some(place) = places.get(at) else {
        return Ok(Window { text: own, chars, lines: (0, 0), chunks: at..at.saturating_add(1), span: (0, 0) });
    };
    let mut window = Window { text: own, chars, lines: place.lines, chunks: at..at + 1, span: place.span };
    let (mut next, mut before) = (Some(at + 1), at.checked_sub(1));
    let mut forward = true;
    while next.is_some() || before.is_some() {
        let side = if forward { &mut next } else { &mut before };
        if let Some(index) = *side {
            *side = None;
            let room = limit.saturating_sub(window.chars);
            if bounds.contains(&index)
                && let Some(place) = places.get(index)
                && window.may_fit(place, room)
                && window.add(*place, &text(index)?, forward, room)
            {
                window.chunks = window.chunks.start.min(index)..window.chunks.end.max(index + 1);
                *side = if forward { Some(index + 1) } else { index.checked_sub(1) };
            }
        }
        forward = !forward;
    }
    Ok(window)
}

impl Window {
    /// Whether it is worth reading a chunk's text: a character has at most four bytes.
    fn may_fit(&self, place: &Place, room: usize) -> bool {
        let overlap = self.span.1.min(place.span.1).saturating_sub(self.span.0.max(place.span.0));
        let new = (place.span.1.saturating_sub(place.span.0)).saturating_sub(overlap);
        new.div_ceil(4) as usize <= room
    }

    /// Adds the part of a neighbour that is not there yet, if it takes no more than `room` characters.
    fn add(&mut self, place: Place, text: &str, forward: bool, room: usize) -> bool {
        let (piece, gap) = if forward {
            let overlap = self.span.1.saturating_sub(place.span.0) as usize;
            (&text[text.ceil_char_boundary(overlap)..], place.span.0 > self.span.1)
        } else {
            let overlap = place.span.1.saturating_sub(self.span.0) as usize;
            (&text[..text.floor_char_boundary(text.len().saturating_sub(overlap))], place.span.1 < self.span.0)
        };
        let (first, last) = if forward { (self.text.as_str(), piece) } else { (piece, self.text.as_str()) };
        let (from, to) = if forward { (self.lines.0, place.lines.0) } else { (place.lines.0, self.lines.0) };
        // What was not indexed between two chunks is blank or hidden. As many line ends stand for it as it has, so that
        // lines of the window can be counted; one stands for what lies within a line.
        let missing = (to.saturating_sub(from) as usize).saturating_sub(first.matches('\n').count());
        let between = match missing {
            _ if !gap || piece.is_empty() => 0,
            0 => usize::from(!(first.ends_with('\n') || last.starts_with('\n'))),
            _ => missing,
        };
        let cost = piece.chars().count() + between;
        if cost > room {
            return false;
        }
        self.text = [first, &"\n".repeat(between), last].concat();
        self.chars += cost;
        self.span = (self.span.0.min(place.span.0), self.span.1.max(place.span.1));
        self.lines = (self.lines.0.min(place.lines.0), self.lines.1.max(place.lines.1));
        true
    }
}

#[cfg(test)]
mod tests;
