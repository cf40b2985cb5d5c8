use super::*;

fn search(query: &str) -> What {
    What::Search { query: query.into(), mode: Mode::Hybrid, vault: None }
}

fn near(chunk: &str) -> What {
    What::Related { chunk: chunk.into(), vault: "v".into(), limit: 5 }
}

#[test]
fn one_flies_and_the_newest_waits() {
    let mut requests = Requests::default();
    let first = requests.want(Slot::List, search("a")).unwrap();
    assert_eq!(requests.want(Slot::List, search("ab")), None);
    assert_eq!(requests.want(Slot::List, search("abc")), None);
    let (slot, next) = requests.landed(first.number);
    assert_eq!(slot, None, "an answer to what was typed before is dropped");
    let next = next.unwrap();
    assert_eq!(next.what, search("abc"));
    assert!(requests.is_waiting());
    assert_eq!(requests.landed(next.number), (Some(Slot::List), None));
    assert!(!requests.is_waiting());
    assert_eq!(requests.landed(next.number), (None, None), "answered once");
}

#[test]
fn the_list_comes_before_what_is_beside_it() {
    let mut requests = Requests::default();
    let first = requests.want(Slot::List, search("a")).unwrap();
    let side = requests.landed(first.number);
    assert_eq!(side, (Some(Slot::List), None));
    let side = requests.want(Slot::Side, near("1")).unwrap();
    assert_eq!(requests.want(Slot::Side, near("2")), None);
    assert_eq!(requests.want(Slot::List, search("ab")), None);
    let (slot, next) = requests.landed(side.number);
    assert_eq!((slot, next.map(|ask| ask.what)), (None, Some(search("ab"))));
    // What waited beside the list is gone with the list's hits.
    assert_eq!(requests.landed(5).1, None);
}

#[test]
fn what_is_forgotten_is_dropped_when_it_lands() {
    let mut requests = Requests::default();
    let first = requests.want(Slot::List, search("a")).unwrap();
    requests.forget(Slot::List);
    assert!(!requests.is_waiting());
    assert_eq!(requests.landed(first.number), (None, None));
}
