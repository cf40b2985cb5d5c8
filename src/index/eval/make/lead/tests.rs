use super::*;
use note::{NoteRules, VaultPath, parse};

fn found(text: &str) -> Vec<(bool, String, String)> {
    let note = parse(&VaultPath::parse("a.md").unwrap(), text.as_bytes(), &NoteRules::default());
    leads(&note).into_iter().map(|lead| (lead.first, lead.text, note.text[lead.span].to_owned())).collect()
}

#[test]
fn notes_and_sections_begin_with_a_sentence() {
    let text = "---\ntitle: T\n---\n# T\n\n2026-11-20\n\n- a list that has more than enough words\n\n\
                The *moon* pulls the water,\ntwice a day. The rest stays.\n\n## Neap\n\nToo short a label:\n\n\
                At “half” moon the range is least! Else it is not so, as is well known.\n\n## Low\n\n\
                Of this one sentence nothing is left. Else.\n\n## Spring\n\n```\ncode of more than five words here\n```\n";
    let expected = [
        (true, "The moon pulls the water twice a day", "The *moon* pulls the water,\ntwice a day. "),
        (false, "At half moon the range is least", "At “half” moon the range is least! "),
    ];
    let expected = expected.map(|(first, text, span)| (first, text.to_owned(), span.to_owned()));
    assert_eq!(found(text), expected);
}

#[test]
fn what_is_no_sentence_of_its_own_is_none() {
    for text in [
        "",
        "Only three words.",
        "See [[Tides]] for more about the moon and water. REST",
        "See [the tides](Tides.md) for more about the moon and water. REST",
        "The moon %%or so%% pulls the water twice a day. REST",
        "The value `a = b` is set in the second line of it. REST",
        "The {{title}} of the note is filled in by a machine. REST",
        "The moon pulls the water twice a day, and little is left.",
        "The moon pulls the water twice a day. Indeed: the moon pulls the water twice a day.",
    ] {
        let rest = "Then more follows that has words enough to answer what is asked of the first.";
        assert_eq!(found(&text.replace("REST", rest)), [], "{text}");
        assert_eq!(found(&format!("Light and shade are all there is. {rest}")).len(), 1);
    }
    let long = "word ".repeat(60);
    assert_eq!(found(&format!("{long}. {long}")), []);
    let long = "more words than one would ask for here ".repeat(5);
    let asked = &found(&format!("{long}. {}", "Other ".repeat(50)))[0].1;
    assert_eq!(asked.split(' ').count(), 30);
}
