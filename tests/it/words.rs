//! What a query's words stand for, over the socket.

use protocol::audience::Audience;
use protocol::search::SearchRequest;

use crate::requests::{by_words, paths, query};
use crate::support::Place;

#[test]
fn beginnings_and_slips() {
    let place = Place::new();
    place.write("Obsidian.md", "# Obsidian\n\nWhere notes are kept together.\n");
    place.write("Compost.md", "# Compost\n\nTurn the heap every other week.\n");
    let mut daemon = place.start();
    let mut ask = |text: &str, prefix: bool| daemon.ask(&SearchRequest { prefix, ..by_words(text) });
    assert_eq!(paths(&ask("comp", true).hits), ["Compost.md"]);
    assert_eq!(paths(&ask("comp", false).hits), [""; 0]);
    assert_eq!(paths(&ask("comp ", true).hits), [""; 0]);
    let answer = ask("obsidain notes", false);
    assert_eq!(paths(&answer.hits), ["Obsidian.md"]);
    assert_eq!(answer.warnings, ["`obsidain` is nowhere; searched for `obsidian`"]);
    assert!(!answer.hits[0].highlights.is_empty());
    assert_eq!(ask("obsidian", false).warnings, [""; 0]);
}

#[test]
fn hits_below_a_score_are_left_out_and_say_what_they_are() {
    let place = Place::new();
    place.write(
        "Heron.md",
        "---\ntags: [bird, water]\ntype: species\ndate: 2026-03-04\n---\n\n# Heron\n\nA heron stands in the water.\n",
    );
    place.write("Pond.md", "# Pond\n\nThere are carp, reeds, frogs and, once in a while, a heron.\n");
    let mut daemon = place.start();
    let hits = daemon.ask(&query("heron")).hits;
    assert_eq!(hits.len(), 2);
    let (best, worst) = (&hits[0], &hits[1]);
    assert_eq!((best.kind.as_deref(), best.date.as_deref()), (Some("species"), Some("2026-03-04")));
    assert_eq!(best.tags, ["bird", "water"]);
    assert!(worst.kind.is_none() && worst.tags.is_empty() && worst.date.is_none());
    let above = |score: f32| SearchRequest { min_score: Some(score), ..query("heron") };
    let answer = daemon.ask(&above(worst.score + 0.001));
    assert_eq!((paths(&answer.hits), answer.truncated), (vec!["Heron.md"], false));
    for wrong in [-0.1, 1.5] {
        let refused = daemon.refused(&above(wrong));
        assert!(refused.message.contains("0 to 1"), "{refused:?}");
    }
}

#[test]
fn a_query_of_which_no_note_has_a_word_is_told_so() {
    let place = Place::with(&[
        ("Wifi.md", "# Wifi\n\nThe router stands in the hall, and its password is on the back.\n"),
        ("Sitting.md", "# Sitting still\n\nBreathe, count to ten, and begin again.\n"),
    ]);
    let mut daemon = place.start();
    let mut said = |text: &str| {
        let answer = daemon.ask(&query(text));
        (answer.hits.len(), answer.warnings.join("; "))
    };
    let (_, warned) = said("router password");
    assert_eq!(warned, "");
    // Near in meaning, with other words.
    let (hits, warned) = said("meditation");
    assert!(hits > 0 && warned.contains("no note has a word of this query; these are nearest in meaning"), "{warned}");
    let (_, warned) = said("wie meditiere ich");
    assert!(warned.contains("no note has a word of this query"), "{warned}");
    // What the embedder does not know is no reason to show anything.
    let (hits, warned) = said("как медитировать");
    assert!(hits == 0 && warned.contains("the embedder does not know its language"), "{hits} {warned}");
}

#[test]
fn a_query_without_a_word_is_told_so_whoever_asks() {
    let place = Place::new();
    place.write("Pond.md", "# Pond\n\nThere are carp and reeds.\n");
    let mut daemon = place.start();
    for audience in [Audience::Owner, Audience::Assistant] {
        let mut ask = |text: &str| daemon.ask(&SearchRequest { audience, ..query(text) });
        for nothing in ["(((", "*", ""] {
            let answer = ask(nothing);
            assert_eq!(
                (paths(&answer.hits), answer.warnings),
                (vec![], vec!["the query is empty".to_owned()]),
                "{nothing}"
            );
        }
        for some in ["carp", "path:Pond.md", "/carp/", "-heron"] {
            assert_eq!(paths(&ask(some).hits), ["Pond.md"], "{some}");
        }
    }
}
