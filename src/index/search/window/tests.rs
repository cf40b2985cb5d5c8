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
fn gaps_within_a_line_become_a_line_end() {
    let note = "one....two....three";
    assert_eq!(window(note, &[(0, 3), (7, 10), (14, 19)], 1, 99).0, "one\ntwo\nthree");
}

#[test]
fn lines_of_a_window_can_be_counted() {
    let note = "one\n\ntwo\n<!-- hidden\nand hidden -->\n\nthree\nfour";
    let span = |word: &str| note.find(word).map(|at| (at, at + word.len())).unwrap();
    let spans = [span("one"), span("two\n"), span("three\nfour")];
    for at in 0..3 {
        assert_eq!(window(note, &spans, at, 99), ("one\n\ntwo\n\n\n\nthree\nfour".to_owned(), (1, 8)), "{at}");
    }
    // Line ends count, too.
    assert_eq!(window(note, &spans, 1, 11).0, "one\n\ntwo\n");
    assert_eq!(window(note, &spans, 1, 8).0, "two\n");
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
        let spans: Vec<(usize, usize)> = cuts.windows(2).map(|w| (note.floor_char_boundary(w[0].saturating_sub(overlap)), w[1])).collect();
        let at = at % spans.len();
        let (text, lines) = window(&note, &spans, at, limit);
        let own = &note[spans[at].0..spans[at].1];
        prop_assert!(text.contains(own));
        prop_assert!(note.contains(&text), "{:?} is not a run of the note", text);
        prop_assert!(text.chars().count() <= limit.max(own.chars().count()));
        prop_assert!(lines.0 >= 1 && lines.0 <= lines.1);
    }

    #[test]
    fn a_line_of_a_window_has_its_number(
        note in "([a-z]{1,5}\n|\n){1,30}", picked in proptest::collection::vec(any::<bool>(), 30), at in 0usize..30,
        limit in 0usize..100,
    ) {
        // Each line that is picked is a chunk, without its end.
        let mut spans = Vec::new();
        let mut start = 0;
        for (line, picked) in note.split_inclusive('\n').zip(picked) {
            if picked && line.len() > 1 {
                spans.push((start, start + line.len() - 1));
            }
            start += line.len();
        }
        prop_assume!(!spans.is_empty());
        let (text, lines) = window(&note, &spans, at % spans.len(), limit);
        prop_assert_eq!(text.split('\n').count(), (lines.1 - lines.0 + 1) as usize, "{:?}", text);
        for (line, source) in text.split('\n').zip(note.split('\n').skip(lines.0 as usize - 1)) {
            prop_assert!(line == source || line.is_empty(), "{:?} of {:?}", line, note);
        }
    }

    #[test]
    fn spans_that_lie_do_not_panic(
        places in proptest::collection::vec(((0u32..40, 0u32..40), (0u32..9, prop_oneof![0u32..9, Just(u32::MAX)])), 1..6),
        texts in proptest::collection::vec("[aé日\n]{0,12}", 6), limit in 0usize..60,
    ) {
        let places: Vec<Place> = places.into_iter().map(|(span, (a, b))| Place { span, lines: (b, a) }).collect();
        for at in 0..=places.len() {
            let text = |i: usize| Ok::<_, Infallible>(texts[i.min(5)].clone());
            let Ok(_) = grow(&places, at, 0..usize::MAX, limit, text);
        }
    }
}
