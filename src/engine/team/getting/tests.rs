use std::time::{Duration, Instant};

use super::*;

fn chunk(lines: (u32, u32), text: &str) -> Payload {
    Payload { lines, text: text.to_owned(), ..Payload::default() }
}

#[test]
fn a_note_is_put_together_from_its_chunks_where_they_overlap_and_where_they_do_not() {
    let chunks = [chunk((3, 4), "# One\ntwo"), chunk((4, 6), "two\nthree\nfour"), chunk((8, 8), "five")];
    assert_eq!(whole(&chunks).unwrap(), "\n\n# One\ntwo\nthree\nfour\n\nfive");
    assert_eq!(whole(&[]).as_deref(), Some(""));
}

#[test]
fn a_line_that_several_chunks_share_is_whole() {
    let line = "One two. Three. Three. Four%%hid%%five. 六。七。";
    let part = |from: &str, to: &str, text: &str| {
        let (start, end) = (line.find(from).unwrap(), line.rfind(to).unwrap() + to.len());
        Payload { span: Some((start as u32, end as u32)), ..chunk((3, 3), text) }
    };
    let parts = [
        part("One", "two.", "One two."),
        // Repeats nothing, though it begins as it ends.
        Payload { span: Some((9, 15)), ..chunk((3, 3), "Three.") },
        Payload { span: Some((16, 22)), ..chunk((3, 3), "Three.") },
        part("Four", "六。", "Fourfive. 六。"),
        part("five", "七。", "five. 六。七。"),
    ];
    assert_eq!(whole(&parts).unwrap(), "\n\nOne two. Three. Three. Fourfive. 六。七。");
    // Without spans, what is said twice in a row is taken for a repetition.
    let bare = parts.map(|part| Payload { span: None, ..part });
    assert_eq!(whole(&bare).unwrap(), "\n\nOne two. Three. Fourfive. 六。七。");
}

#[test]
fn crafted_chunks_take_little_memory_and_time() {
    let began = Instant::now();
    let apart: Vec<Payload> = (1..60).map(|k| chunk((k << 20, k << 20), &format!("word{k}"))).collect();
    assert_eq!(whole(&apart), None);
    let long = "a".repeat(MOST / 4);
    assert_eq!(
        whole(&[chunk((1, 1), &(long.clone() + "b")), chunk((1, 1), &(long.clone() + "c"))]).map(|w| w.len()),
        Some(MOST / 2 + 3)
    );
    assert_eq!(whole(&[long.clone(), "b".repeat(MOST)].map(|text| chunk((1, 1), &text))), None);
    // What grows with the square of a text takes hours.
    assert!(began.elapsed() < Duration::from_mins(1), "{:?}", began.elapsed());
}

#[test]
fn what_is_repeated_is_the_longest() {
    for (before, text, length) in [
        ("abab", "abab", 4),
        ("xabab", "ababc", 4),
        ("aab", "ab", 2),
        ("ababa", "abab", 3),
        ("a", "b", 0),
        ("", "a", 0),
    ] {
        assert_eq!(repeated(before.as_bytes(), text.as_bytes()), length, "{before} {text}");
    }
}
