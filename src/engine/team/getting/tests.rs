use super::*;

fn chunk(lines: (u32, u32), text: &str) -> Payload {
    Payload { lines, text: text.to_owned(), ..Payload::default() }
}

#[test]
fn a_note_is_put_together_from_its_chunks_where_they_overlap_and_where_they_do_not() {
    let chunks = [chunk((3, 4), "# One\ntwo"), chunk((4, 6), "two\nthree\nfour"), chunk((8, 8), "five")];
    assert_eq!(whole(&chunks), "\n\n# One\ntwo\nthree\nfour\n\nfive");
    assert!(whole(&[]).is_empty());
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
    assert_eq!(whole(&parts), "\n\nOne two. Three. Three. Fourfive. 六。七。");
    // Without spans, what is said twice in a row is taken for a repetition.
    let bare = parts.map(|part| Payload { span: None, ..part });
    assert_eq!(whole(&bare), "\n\nOne two. Three. Fourfive. 六。七。");
}
