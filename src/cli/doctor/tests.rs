use super::super::search::tests::Page;
use super::*;

#[test]
fn the_worst_is_last_and_says_what_to_do() {
    let found = [
        Check::new("disk", Level::Fail, "the disk is full").because("0 B are free").remedy("free some"),
        Check::new("model", Level::Ok, "it embeds").because("not shown"),
        Check::new("watch", Level::Warn, "a\u{1b}[2Jb"),
    ];
    let page = Page::default();
    print(&found, false, &mut Out::to(page.clone(), 80)).unwrap();
    let text = page.text();
    assert!(!text.contains('\u{1b}') && !text.contains("not shown"), "{text:?}");
    let place = |what: &str| text.find(what).unwrap();
    assert!(place("it embeds") < place("watch") && place("watch") < place("0 B are free"), "{text}");
    assert!(text.contains("→ free some") && text.ends_with("1 thing to mend, 1 to look at\n"), "{text}");
    let page = Page::default();
    print(&found[1..2], true, &mut Out::to(page.clone(), 80)).unwrap();
    assert_eq!(page.text(), "\nnothing is wrong\n");
}
