use super::super::sample::FILES;
use super::*;

#[test]
fn a_sentence_becomes_a_paragraph_of_its_own() {
    let text = "# A\n\none\n\n# B\n\ntwo\n";
    assert_eq!(with_sentence(text, 3), format!("# A\n\none\n\n{SENTENCE}\n\n# B\n\ntwo\n"));
    assert_eq!(with_sentence(text, 4), format!("# A\n\none\n\n{SENTENCE}\n\n# B\n\ntwo\n"));
    assert_eq!(with_sentence(text, 99), format!("# A\n\none\n\n# B\n\ntwo\n\n{SENTENCE}\n"));
    assert_eq!(with_sentence("no end", 1), format!("no end\n\n{SENTENCE}\n"));
}

#[test]
fn only_the_heading_is_renamed() {
    assert_eq!(with_heading("# A\nB\n## B\n## B\n", "B").unwrap(), format!("# A\nB\n## {HEADING}\n## B\n"));
    assert_eq!(with_heading("#B\n####### B\n", "C"), None);
    assert_eq!(with_heading("## Ü ", "Ü").unwrap(), format!("## {HEADING}"));
}

#[test]
fn what_is_written_is_not_in_the_sample() {
    for (path, text) in FILES {
        assert!(!text.contains("harmonium") && !text.contains("Quincunx"), "{path}");
    }
}
