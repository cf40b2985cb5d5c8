use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use context::settings::KeyConfig;

use super::*;
use crate::failure::Kind;
use crate::testing::answering;

/// What a node does with a request.
#[derive(Clone, Copy, Debug)]
enum Does {
    /// Answers with this status after so many milliseconds.
    Answers(u16, u64),
    Breaks,
    Hangs,
}

use Does::{Answers, Breaks, Hangs};

/// Asks such nodes in order; who answered what, when, and when each was asked. Time passes only where somebody waits.
async fn asked(nodes: &[Does], within: u64) -> (usize, Result<Vec<u8>, RestError>, u64, Vec<(usize, u64)>) {
    let began = Instant::now();
    let begun = RefCell::new(Vec::new());
    let ask = |at: usize, within: Duration| {
        begun.borrow_mut().push((at, began.elapsed().as_millis() as u64));
        let does = nodes[at];
        async move {
            let answer = async {
                match does {
                    Answers(status, after) => {
                        tokio::time::sleep(Duration::from_millis(after)).await;
                        if status == 200 { Ok(vec![at as u8]) } else { Err(RestError::Refused(status, Vec::new())) }
                    }
                    Breaks => Err(RestError::Broken("refused".to_owned())),
                    Hangs => std::future::pending().await,
                }
            };
            timeout(within, answer).await.unwrap_or(Err(RestError::Late(within)))
        }
    };
    let order: Vec<usize> = (0..nodes.len()).collect();
    let (at, answer) = first_answer(&order, Duration::from_millis(within), ask).await;
    (at, answer, began.elapsed().as_millis() as u64, begun.into_inner())
}

#[tokio::test(start_paused = true)]
async fn a_node_that_is_gone_costs_nothing_and_one_that_hangs_its_share() {
    for (nodes, answers, took, begun) in [
        (vec![Answers(200, 7), Answers(200, 1)], 0, 7, vec![(0, 0)]),
        (vec![Breaks, Answers(200, 7)], 1, 7, vec![(0, 0), (1, 0)]),
        (vec![Answers(503, 3), Breaks, Answers(200, 7)], 2, 10, vec![(0, 0), (1, 3), (2, 3)]),
        (vec![Answers(408, 3), Answers(500, 3), Answers(200, 7)], 2, 13, vec![(0, 0), (1, 3), (2, 6)]),
        (vec![Hangs, Answers(200, 7)], 1, 157, vec![(0, 0), (1, 150)]),
        (vec![Hangs, Hangs, Answers(200, 7)], 2, 207, vec![(0, 0), (1, 100), (2, 200)]),
        // One that is slow is not given up for one that hangs, or that fails.
        (vec![Answers(200, 200), Hangs], 0, 200, vec![(0, 0), (1, 150)]),
        (vec![Answers(200, 200), Breaks], 0, 200, vec![(0, 0), (1, 150)]),
        (vec![Answers(200, 200), Breaks, Hangs], 0, 200, vec![(0, 0), (1, 100), (2, 100)]),
    ] {
        let (at, answer, after, asked) = asked(&nodes, 300).await;
        assert_eq!((at, answer), (answers, Ok(vec![answers as u8])), "{nodes:?}");
        assert_eq!((after, asked), (took, begun), "{nodes:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_every_node_would_say_is_asked_of_one() {
    for status in [400, 401, 403, 404, 409, 422, 507] {
        let (at, answer, _, begun) = asked(&[Answers(status, 1), Answers(200, 1)], 300).await;
        assert_eq!((at, answer, begun.len()), (0, Err(RestError::Refused(status, Vec::new())), 1));
    }
    let full = br#"{"status":{"error":"Service internal error: No space left on device"}}"#;
    assert!(!is_the_nodes_own(&RestError::Refused(500, full.to_vec())));
    assert!(is_the_nodes_own(&RestError::Refused(500, b"Service internal error".to_vec())));
    assert!(!is_the_nodes_own(&RestError::Key("it cannot be read".to_owned())));
}

#[tokio::test(start_paused = true)]
async fn if_none_answers_it_ends_in_time_with_what_the_first_said() {
    for (nodes, first) in [
        (vec![Breaks, Hangs, Answers(502, 1)], RestError::Broken("refused".to_owned())),
        (vec![Answers(502, 1), Breaks], RestError::Refused(502, Vec::new())),
        (vec![Hangs, Hangs], RestError::Late(Duration::from_millis(300))),
        (vec![Hangs], RestError::Late(Duration::from_millis(300))),
    ] {
        let (at, answer, after, _) = asked(&nodes, 300).await;
        assert!(after <= 300, "{nodes:?} took {after} ms");
        assert_eq!((at, answer), (0, Err(first)), "{nodes:?}");
    }
    // A patient caller does not wait for half of his patience.
    let (at, _, after, _) = asked(&[Hangs, Answers(200, 7)], 60_000).await;
    assert_eq!((at, after), (1, 5_007));
}

/// A node at which every request is answered with this; and how many there were. `None`: nobody listens there.
fn node(answer: Option<&str>) -> (RestServer, Arc<AtomicUsize>) {
    answering(answer.map(str::to_owned))
}

const LONG: Duration = Duration::from_secs(60);
const GOOD: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}";
const AWAY: &str = "HTTP/1.1 503 Away\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
/// A connection that ends in the middle.
const HALF: &str = "HTTP/1.1 200 OK\r\ncontent-length: 99\r\nconnection: close\r\n\r\n{";

#[tokio::test]
async fn the_node_that_answered_last_is_asked_first() {
    for broken in [None, Some(AWAY), Some(HALF)] {
        let ((first, of_first), (second, of_second)) = (node(broken), node(Some(GOOD)));
        let host = second.host().to_owned();
        let nodes = Nodes::new(first, vec![second]);
        for round in 1..4 {
            let body = b"{\"points\":[]}".to_vec();
            assert_eq!(nodes.ask((Method::PUT, "/x"), body, LONG, "handbook").await.unwrap(), b"{}", "{broken:?}");
            assert_eq!(nodes.current().host(), host);
            let expected = usize::from(broken.is_some());
            assert_eq!((of_first.load(Ordering::Relaxed), of_second.load(Ordering::Relaxed)), (expected, round));
        }
    }
}

#[tokio::test]
async fn it_says_of_all_nodes_that_none_answers() {
    let ((first, _), (second, _)) = (node(None), node(Some(AWAY)));
    let (host, other) = (first.host().to_owned(), second.host().to_owned());
    let nodes = Nodes::new(first, vec![second]);
    let failure = nodes.ask((Method::GET, "/"), Vec::new(), LONG, "handbook").await.unwrap_err();
    assert_eq!(failure.kind, Kind::Unavailable);
    assert!(failure.message.starts_with(&format!("{host} cannot be reached")), "{failure}");
    assert!(failure.message.ends_with(&format!("; no answer from {other} either")), "{failure}");
    assert_eq!(nodes.current().host(), host, "none has answered");
    let missing = "HTTP/1.1 404 No\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    let ((first, _), (second, of_second)) = (node(Some(missing)), node(Some(GOOD)));
    let failure =
        Nodes::new(first, vec![second]).ask((Method::GET, "/"), Vec::new(), LONG, "handbook").await.unwrap_err();
    assert_eq!((failure.kind, of_second.load(Ordering::Relaxed)), (Kind::Missing, 0), "{failure}");
}

#[test]
fn whatever_may_be_asked_is_named_as_where_notes_go() {
    let at = |url: &str| RestServer::new(url, "api-key", &KeyConfig::default(), None).unwrap();
    let nodes = Nodes::new(at("https://a.example:6333"), vec![at("http://127.0.0.1:1"), at("https://b.example")]);
    assert_eq!(nodes.leave_to(), ["a.example:6333", "b.example"]);
}
