use super::*;
use note::VaultPath;
use note::{NoteRules, parse};

fn links(text: &str) -> Vec<Link> {
    parse(&VaultPath::parse("a.md").unwrap(), text.as_bytes(), &NoteRules::default()).links
}

#[test]
fn links_lose_what_they_show_and_lead_where_they_led() {
    let table: [(&str, bool, Option<&str>, Option<&str>); 14] = [
        ("[[Tides|the clock]]", true, None, Some("[[Tides]]")),
        ("[[Tides#Neap|the clock]]", true, None, Some("[[Tides#Neap]]")),
        ("![[Tides|the clock|100]]", true, None, Some("![[Tides]]")),
        ("[[clock]]", false, Some("Notes/Tides"), Some("[[Notes/Tides]]")),
        ("[[clock#Neap|see it]]", false, Some("Tides"), Some("[[Tides#Neap|see it]]")),
        ("[[clock^b1]]", true, Some("Tides"), Some("[[Tides^b1]]")),
        ("[[clock]]", false, Some("a|b"), None),
        ("[the clock](Tides.md)", true, None, Some("[](Tides.md)")),
        ("[the clock](<Tides and more.md> \"title\")", true, None, Some("[](<Tides and more.md> \"title\")")),
        ("[clock](clock)", true, Some("Tides"), None),
        ("[the [red] clock](Tides.md)", true, None, None),
        ("[the clock][ref]", true, None, None),
        ("[the clock]", true, None, None),
        ("https://clock.example", true, None, None),
    ];
    for (source, hide, target, expected) in table {
        let defined = format!("{source}\n\n[ref]: Tides.md\n[the clock]: Tides.md\n");
        let found = links(&defined);
        assert_eq!(masked(source, &found[0], Side::First, hide, target).as_deref(), expected, "{source}");
        if let Some(expected) = expected.filter(|_| hide) {
            let after = &links(expected)[0];
            assert_eq!(after.alias, None, "{expected}");
            assert!(target.is_some() || after.target == found[0].target, "{expected}");
        }
    }
}

#[test]
fn tables_keep_their_cells() {
    let text = "| a | b |\n| --- | --- |\n| [[clock\\|see it]] | c |\n";
    let link = &links(text)[0];
    let source = &text[link.span.clone()];
    assert_eq!(masked(source, link, Side::First, true, None).as_deref(), Some("[[clock]]"));
    assert_eq!(masked(source, link, Side::First, false, Some("Tides")).as_deref(), Some("[[Tides\\|see it]]"));
}

#[test]
fn the_text_may_stand_first() {
    let table: [(&str, bool, Option<&str>, &str); 5] = [
        ("[[the clock|Tides]]", true, None, "[[Tides]]"),
        ("[[the clock|dendron://sea/Tides#Neap]]", true, None, "[[dendron://sea/Tides#Neap]]"),
        ("[[the clock|gears#Neap]]", false, Some("Tides"), "[[the clock|Tides#Neap]]"),
        ("[[the clock\\|gears]]", false, Some("Tides"), "[[the clock\\|Tides]]"),
        ("[[gears]]", false, Some("Tides"), "[[Tides]]"),
    ];
    for (source, hide, target, expected) in table {
        let found = &links(source)[0];
        assert_eq!(masked(source, found, Side::Second, hide, target).as_deref(), Some(expected), "{source}");
    }
}
