use super::*;

fn search(query: &str) -> What {
    What::Search { query: query.into(), mode: Mode::Hybrid, vault: None }
}

fn near(chunk: &str) -> What {
    What::Related { chunk: chunk.into(), vault: "v".into(), limit: 5 }
}

#[test]
fn one_flies_and_the_newest_waits() {
    let mut desk = Desk::default();
    let first = desk.want(Slot::List, search("a")).unwrap();
    assert_eq!(desk.want(Slot::List, search("ab")), None);
    assert_eq!(desk.want(Slot::List, search("abc")), None);
    let (slot, next) = desk.landed(first.number);
    assert_eq!(slot, None, "an answer to what was typed before is dropped");
    let next = next.unwrap();
    assert_eq!(next.what, search("abc"));
    assert!(desk.is_waiting());
    assert_eq!(desk.landed(next.number), (Some(Slot::List), None));
    assert!(!desk.is_waiting());
    assert_eq!(desk.landed(next.number), (None, None), "answered once");
}

#[test]
fn the_list_comes_before_what_is_beside_it() {
    let mut desk = Desk::default();
    let first = desk.want(Slot::List, search("a")).unwrap();
    let side = desk.landed(first.number);
    assert_eq!(side, (Some(Slot::List), None));
    let side = desk.want(Slot::Side, near("1")).unwrap();
    assert_eq!(desk.want(Slot::Side, near("2")), None);
    assert_eq!(desk.want(Slot::List, search("ab")), None);
    let (slot, next) = desk.landed(side.number);
    assert_eq!((slot, next.map(|ask| ask.what)), (None, Some(search("ab"))));
    // What waited beside the list is gone with the list's hits.
    assert_eq!(desk.landed(5).1, None);
}

#[test]
fn what_is_forgotten_is_dropped_when_it_lands() {
    let mut desk = Desk::default();
    let first = desk.want(Slot::List, search("a")).unwrap();
    desk.forget(Slot::List);
    assert!(!desk.is_waiting());
    assert_eq!(desk.landed(first.number), (None, None));
}
