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

/// Grows a window around chunk `at` of a note whose chunks lie at `places`, in order: the next chunk, the
/// one before, the next but one, and so on, while whole chunks within `bounds` fit into `limit` characters. A side
/// where one does not fit is closed; the chunk itself always stands, however long it is. `text` gives the raw
/// text of a chunk by its index in `places`.
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
            (&text[ceil(text, overlap)..], place.span.0 > self.span.1)
        } else {
            let overlap = place.span.1.saturating_sub(self.span.0) as usize;
            (&text[..floor(text, text.len().saturating_sub(overlap))], place.span.1 < self.span.0)
        };
        // What was not indexed between two chunks is blank or hidden: a line end stands for it.
        let (first, last) = if forward { (self.text.as_str(), piece) } else { (piece, self.text.as_str()) };
        let apart = first.ends_with('\n') || last.starts_with('\n');
        let between = if gap && !piece.is_empty() && !apart { "\n" } else { "" };
        let cost = piece.chars().count() + between.len();
        if cost > room {
            return false;
        }
        self.text = [first, between, last].concat();
        self.chars += cost;
        self.span = (self.span.0.min(place.span.0), self.span.1.max(place.span.1));
        self.lines = (self.lines.0.min(place.lines.0), self.lines.1.max(place.lines.1));
        true
    }

    /// Takes in the window of the chunks that come right behind this one's, if both have `limit` characters at most.
    pub(super) fn join(&mut self, behind: &Window, limit: usize) -> bool {
        let place = Place { span: behind.span, lines: behind.lines };
        let joined = self.chunks.end == behind.chunks.start
            && self.add(place, &behind.text, true, limit.saturating_sub(self.chars));
        if joined {
            self.chunks.end = behind.chunks.end;
        }
        joined
    }
}

/// The first character boundary at or after `at`.
fn ceil(text: &str, at: usize) -> usize {
    (at..text.len()).find(|i| text.is_char_boundary(*i)).unwrap_or(text.len())
}

/// The last character boundary at or before `at`.
pub(super) fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::convert::Infallible;

    /// Cuts `note` into chunks at the given byte ranges.
    fn places(note: &str, spans: &[(usize, usize)]) -> Vec<Place> {
        let line = |at: usize| 1 + note.as_bytes()[..at].iter().filter(|b| **b == b'\n').count() as u32;
        spans
            .iter()
            .map(|&(from, to)| Place {
                span: (from as u32, to as u32),
                lines: (line(from), line(to.saturating_sub(1).max(from))),
            })
            .collect()
    }

    fn window(note: &str, spans: &[(usize, usize)], at: usize, limit: usize) -> (String, (u32, u32)) {
        let text = |i: usize| Ok::<_, Infallible>(note[spans[i].0..spans[i].1].to_owned());
        let Ok(window) = grow(&places(note, spans), at, 0..usize::MAX, limit, text);
        assert_eq!(window.chars, window.text.chars().count());
        (window.text, window.lines)
    }

    #[test]
    fn neighbours_join_alternately() {
        let note = "aaaa\nbbbb\ncccc\ndddd\neeee\n";
        let spans = [(0, 5), (5, 10), (10, 15), (15, 20), (20, 25)];
        let cases = [
            (2, 0, "cccc\n", (3, 3)),
            (2, 5, "cccc\n", (3, 3)),
            (2, 9, "cccc\n", (3, 3)),
            (2, 10, "cccc\ndddd\n", (3, 4)),
            (2, 15, "bbbb\ncccc\ndddd\n", (2, 4)),
            (2, 20, "bbbb\ncccc\ndddd\neeee\n", (2, 5)),
            (2, 99, note, (1, 5)),
            (0, 10, "aaaa\nbbbb\n", (1, 2)),
            (4, 10, "dddd\neeee\n", (4, 5)),
        ];
        for (at, limit, text, lines) in cases {
            assert_eq!(window(note, &spans, at, limit), (text.to_owned(), lines), "{at} {limit}");
        }
    }

    #[test]
    fn a_side_that_does_not_fit_is_closed_and_the_other_goes_on() {
        let note = "a\nb\nlooooooong\n";
        assert_eq!(window(note, &[(0, 2), (2, 4), (4, 15)], 1, 5).0, "a\nb\n");
    }

    #[test]
    fn overlaps_are_not_repeated() {
        let note = "0123456789";
        assert_eq!(window(note, &[(0, 5), (3, 8), (6, 10)], 0, 99).0, note);
        assert_eq!(window(note, &[(0, 5), (3, 8), (6, 10)], 1, 99).0, note);
        assert_eq!(window(note, &[(0, 5), (3, 8), (6, 10)], 2, 7).0, "3456789", "only what is new counts");
        assert_eq!(window(note, &[(0, 9), (2, 5), (9, 10)], 0, 99).0, note, "one chunk within another");
    }

    #[test]
    fn gaps_become_a_line_end() {
        let note = "one....two....three";
        assert_eq!(window(note, &[(0, 3), (7, 10), (14, 19)], 1, 99).0, "one\ntwo\nthree");
    }

    #[test]
    fn characters_count_not_bytes() {
        let note = "ääää日本語本";
        assert_eq!(window(note, &[(0, 8), (8, 20)], 0, 8).0, note);
        assert_eq!(window(note, &[(0, 8), (8, 20)], 0, 7).0, "ääää");
    }

    proptest! {
        #[test]
        fn a_window_is_one_run_of_the_note(
            note in "[aé日\n]{1,80}", cuts in proptest::collection::btree_set(0usize..240, 0..8),
            overlap in 0usize..4, at in 0usize..8, limit in 0usize..100,
        ) {
            let mut cuts: Vec<usize> = cuts.into_iter().filter(|c| *c < note.len() && *c > 0 && note.is_char_boundary(*c)).collect();
            cuts.insert(0, 0);
            cuts.push(note.len());
            let spans: Vec<(usize, usize)> = cuts.windows(2).map(|w| (floor(&note, w[0].saturating_sub(overlap)), w[1])).collect();
            let at = at % spans.len();
            let (text, lines) = window(&note, &spans, at, limit);
            let own = &note[spans[at].0..spans[at].1];
            prop_assert!(text.contains(own));
            prop_assert!(note.contains(&text), "{:?} is not a run of the note", text);
            prop_assert!(text.chars().count() <= limit.max(own.chars().count()));
            prop_assert!(lines.0 >= 1 && lines.0 <= lines.1);
        }

        #[test]
        fn spans_that_lie_do_not_panic(
            spans in proptest::collection::vec((0u32..40, 0u32..40), 1..6), texts in proptest::collection::vec("[aé日]{0,12}", 6), limit in 0usize..60,
        ) {
            let places: Vec<Place> = spans.into_iter().map(|span| Place { span, lines: (1, 1) }).collect();
            for at in 0..=places.len() {
                let text = |i: usize| Ok::<_, Infallible>(texts[i.min(5)].clone());
                let Ok(mut window) = grow(&places, at, 0..usize::MAX, limit, text);
                let Ok(other) = grow(&places, at + 1, at + 1..usize::MAX, limit, text);
                window.join(&other, limit);
            }
        }
    }
}
