use super::*;

fn chunk(lines: (u32, u32), text: &str) -> Payload {
    Payload { lines, text: text.to_owned(), ..Payload::default() }
}

#[test]
fn a_note_is_put_together_from_its_chunks_where_they_overlap_and_where_they_do_not() {
    let chunks = [chunk((3, 4), "# One\ntwo"), chunk((4, 6), "two\nthree\nfour"), chunk((8, 8), "five")];
    assert_eq!(lines(&chunks), ["", "", "# One", "two", "three", "four", "", "five"]);
    assert!(lines(&[]).is_empty());
}
