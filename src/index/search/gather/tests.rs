use std::collections::BTreeMap;
use std::convert::Infallible;

use proptest::prelude::*;

use super::*;

/// Notes, cut into chunks: their texts and byte ranges.
#[derive(Clone, Debug, Default)]
struct Notes {
    notes: Vec<(String, Vec<(usize, usize)>)>,
    /// Texts read, by chunk.
    read: BTreeMap<(usize, usize), usize>,
}

impl Source<(usize, usize)> for Notes {
    type Note = usize;
    type Error = Infallible;

    fn place(&mut self, item: &(usize, usize)) -> Option<(usize, usize)> {
        (item.1 < self.notes.get(item.0)?.1.len()).then_some(*item)
    }

    fn places(&mut self, note: usize) -> Rc<[Place]> {
        let (text, spans) = &self.notes[note];
        let line = |at: usize| 1 + text.as_bytes()[..at].iter().filter(|b| **b == b'\n').count() as u32;
        let place = |&(from, to): &(usize, usize)| Place {
            span: (from as u32, to as u32),
            lines: (line(from), line(to.saturating_sub(1).max(from))),
        };
        spans.iter().map(place).collect()
    }

    fn has_text(&mut self, _: usize, _: usize) -> Result<bool, Infallible> {
        Ok(true)
    }

    fn text(&mut self, note: usize, at: usize) -> Result<String, Infallible> {
        *self.read.entry((note, at)).or_default() += 1;
        let (text, spans) = &self.notes[note];
        Ok(text[spans[at].0..spans[at].1].to_owned())
    }
}

/// A note of chunks `a0.`, `a1.`, … of three characters each.
fn even(name: char, chunks: usize) -> (String, Vec<(usize, usize)>) {
    let text: String = (0..chunks).map(|i| format!("{name}{i}.")).collect();
    (text, (0..chunks).map(|i| (3 * i, 3 * i + 3)).collect())
}

fn limits(windows: usize, per_note: usize, chars: usize) -> Limits {
    Limits { windows, per_note, chars, merge: true }
}

fn gathered(notes: &mut Notes, ranked: &[(usize, usize)], limits: Limits) -> (Vec<Found<(usize, usize)>>, bool) {
    let Ok(found) = gather(ranked.iter().copied(), &limits, notes);
    found
}

/// The windows' texts, each with how many hits it holds besides its best.
fn texts(notes: &mut Notes, ranked: &[(usize, usize)], limits: Limits) -> (Vec<(String, usize)>, bool) {
    let (found, more) = gathered(notes, ranked, limits);
    (found.into_iter().map(|f| (f.window.text, f.also.len())).collect(), more)
}

fn said(expected: &[(&str, usize)]) -> Vec<(String, usize)> {
    expected.iter().map(|(text, also)| ((*text).to_owned(), *also)).collect()
}

#[test]
fn a_window_takes_in_what_is_found_in_it() {
    let mut notes = Notes { notes: vec![even('a', 9), even('b', 2)], ..Notes::default() };
    // (ranked, windows, per note, characters) → texts, more
    let cases: [(&[(usize, usize)], Limits, &[(&str, usize)], bool); 9] = [
        // Inside a window that is there, and the next note moves up.
        (&[(0, 3), (0, 4), (1, 0)], limits(2, 3, 6), &[("a3.a4.", 1), ("b0.b1.", 0)], false),
        // Another note has chunks of the same places: never across notes.
        (&[(0, 0), (1, 1)], limits(9, 3, 3), &[("a0.", 0), ("b1.", 0)], false),
        (&[(0, 3), (0, 4), (0, 2)], limits(9, 1, 9), &[("a2.a3.a4.", 2)], false),
        // A later one leaves what the first has.
        (&[(0, 2), (0, 5)], limits(9, 3, 12), &[("a1.a2.a3.a4.", 0), ("a5.a6.a7.a8.", 0)], false),
        // A note that has its share takes in what lies in its window, and nothing else.
        (&[(0, 1), (0, 5), (0, 2), (1, 0)], limits(9, 1, 6), &[("a1.a2.", 1), ("b0.b1.", 0)], false),
        // No more windows: there would be another.
        (&[(0, 1), (1, 0)], limits(1, 1, 3), &[("a1.", 0)], true),
        // What is left out is not more.
        (&[(0, 1), (0, 2), (0, 7)], limits(1, 1, 3), &[("a1.", 0)], false),
        // A window that is its chunk and nothing else stays alone.
        (&[(0, 3), (0, 4)], limits(9, 3, 0), &[("a3.", 0), ("a4.", 0)], false),
        // What is not there is passed over.
        (&[(0, 99), (1, 1)], limits(9, 3, 3), &[("b1.", 0)], false),
    ];
    for (ranked, limits, expected, more) in cases {
        assert_eq!(texts(&mut notes, ranked, limits), (said(expected), more), "{ranked:?} {limits:?}");
    }
    let apart = Limits { merge: false, ..limits(9, 2, 6) };
    let expected = said(&[("a3.a4.", 0), ("a4.a5.", 0), ("b0.b1.", 0)]);
    assert_eq!(texts(&mut notes, &[(0, 3), (0, 4), (0, 5), (1, 0)], apart), (expected, false));
}

#[test]
fn a_merged_window_is_no_longer_than_another() {
    let mut notes = Notes { notes: vec![even('a', 9)], ..Notes::default() };
    let every: Vec<(usize, usize)> = (0..9).map(|at| (0, at)).collect();
    let expected = said(&[("a0.a1.", 1), ("a2.a3.", 1), ("a4.a5.", 1), ("a6.a7.", 1), ("a8.", 0)]);
    assert_eq!(texts(&mut notes, &every, limits(9, 9, 6)), (expected, false));
    // A single chunk may be longer.
    let long = ("x".repeat(20) + "yz", vec![(0, 20), (20, 22)]);
    let mut notes = Notes { notes: vec![long], ..Notes::default() };
    let expected = said(&[("xxxxxxxxxxxxxxxxxxxx", 0), ("yz", 0)]);
    assert_eq!(texts(&mut notes, &[(0, 0), (0, 1)], limits(9, 9, 6)), (expected, false));
}

#[test]
fn merging_reads_no_more_texts() {
    // 120 notes of nine chunks, ranked as a search might: the best of each note, then the next of each, and so on.
    let notes: Vec<_> = (0..120).map(|_| even('a', 9)).collect();
    let ranked: Vec<(usize, usize)> = [4, 5, 1, 7].into_iter().flat_map(|at| (0..120).map(move |n| (n, at))).collect();
    let read = |merge: bool, per_note: usize, chars: usize| {
        let mut notes = Notes { notes: notes.clone(), ..Notes::default() };
        let (found, _) = gathered(&mut notes, &ranked, Limits { merge, ..limits(120, per_note, chars) });
        assert_eq!(found.len(), 120);
        (notes.read.values().sum::<usize>(), notes.read.len())
    };
    for (per_note, chars) in [(1, 3), (1, 9), (1, 27), (3, 9), (3, 27)] {
        let ((all, each), (all_apart, _)) = (read(true, per_note, chars), read(false, per_note, chars));
        assert!(all <= all_apart.max(each), "{per_note} {chars}: {all} against {all_apart}");
    }
}

prop_compose! {
    /// A note cut into chunks that may overlap, with bytes between that no chunk holds.
    fn note()(
        text in "[aé日\n]{1,80}", cuts in proptest::collection::btree_set(0usize..240, 0..9),
        overlap in 0usize..4, gap in 0usize..2,
    ) -> (String, Vec<(usize, usize)>) {
        let mut cuts: Vec<usize> =
            cuts.into_iter().filter(|c| *c < text.len() && *c > 0 && text.is_char_boundary(*c)).collect();
        cuts.insert(0, 0);
        cuts.push(text.len());
        let boundary = |at: usize| (0..=at).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0);
        let span = |w: &[usize]| match gap {
            0 => (boundary(w[0].saturating_sub(overlap)), w[1]),
            _ => (w[0], boundary(w[1] - 1).max(w[0])),
        };
        let spans = cuts.windows(2).map(span).collect();
        (text, spans)
    }
}

proptest! {
    #[test]
    fn windows_hold_what_was_found_once_and_in_order(
        notes in proptest::collection::vec(note(), 1..4),
        picks in proptest::collection::vec((0usize..4, 0usize..10), 0..24),
        windows in 0usize..6, per_note in 0usize..4, chars in 0usize..60, merge: bool,
    ) {
        let mut notes = Notes { notes, ..Notes::default() };
        let mut ranked: Vec<(usize, usize)> = Vec::new();
        for pick in picks {
            if !ranked.contains(&pick) {
                ranked.push(pick);
            }
        }
        let limits = Limits { windows, per_note, chars, merge };
        let (found, more) = gathered(&mut notes, &ranked, limits);
        let read = std::mem::take(&mut notes.read);
        prop_assert_eq!(
            format!("{:?}", gathered(&mut notes, &ranked, limits)), format!("{:?}", (&found, more)), "not the same twice"
        );
        prop_assert!(found.len() <= windows);
        prop_assert!(!more || found.len() == windows, "not filled although there are more");
        let rank = |item: &(usize, usize)| ranked.iter().position(|other| other == item).unwrap();
        // By the best of each, and the best is the first of its window.
        prop_assert!(found.windows(2).all(|pair| rank(&pair[0].best) < rank(&pair[1].best)));
        let mut taken = Vec::new();
        let mut shares: BTreeMap<usize, usize> = BTreeMap::new();
        for f in &found {
            let (note, _) = f.best;
            *shares.entry(note).or_default() += 1;
            let all: Vec<_> = std::iter::once(&f.best).chain(&f.also).collect();
            prop_assert!(all.windows(2).all(|pair| rank(pair[0]) < rank(pair[1])));
            prop_assert!(all.iter().all(|(n, at)| *n == note && f.window.chunks.contains(at)), "across notes: {:?}", f);
            // Every window that could hold it does not: exactly one does.
            if merge && chars > 0 {
                for item in &all {
                    let homes = found.iter().filter(|o| o.best.0 == note && o.window.chunks.contains(&item.1)).count();
                    prop_assert_eq!(homes, 1, "{:?} in {:?}", item, found);
                }
                prop_assert!(
                    f.window.chunks.clone().all(|at| !taken.contains(&(note, at))), "a chunk in two windows: {:?}", found
                );
                taken.extend(f.window.chunks.clone().map(|at| (note, at)));
            } else {
                prop_assert!(f.also.is_empty());
            }
            let (text, spans) = &notes.notes[note];
            // A run of the note: every chunk of it in order, what lies between them a line end at most.
            let run = &spans[f.window.chunks.clone()];
            let whole: String = text[run[0].0..run[run.len() - 1].1.max(run[0].0)].split('\n').collect();
            if spans.windows(2).all(|w| w[1].0 <= w[0].1) {
                prop_assert!(text.contains(&f.window.text), "{:?} is no run of {:?}", f.window.text, text);
                prop_assert_eq!(f.window.text.split('\n').collect::<String>(), whole);
            }
            let longest = run.iter().map(|(from, to)| text[*from..*to].chars().count()).max().unwrap_or(0);
            prop_assert!(f.window.text.chars().count() <= chars.max(longest), "{:?}", f);
        }
        prop_assert!(shares.values().all(|share| *share <= per_note.max(1)));
        // Once for its own window, and once for each of the two that may grow towards it.
        prop_assert!(!merge || read.values().all(|times| *times <= 3), "{:?}", read);
    }
}
