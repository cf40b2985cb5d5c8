//! Contexts that are off: by the configuration for a vault, or for one search; out of words and vectors alike.

use std::collections::BTreeMap;

use protocol::contexts::StatsRequest;
use protocol::decision::Reason;
use protocol::search::{Contextual, Mode, SearchRequest};

use crate::contexts::{ATLAS, SMALL_CHUNKS, start, wait_written};
use crate::model::Model;
use crate::support::{Daemon, Place};

const QUERIES: [&str; 3] = ["vendor contract with lawyers", "monthly report about travel", "who begins in Lisbon"];

/// Scores of chunks by their lines, from vectors alone.
fn dense(daemon: &mut Daemon, query: &str, contextual: bool) -> BTreeMap<u32, String> {
    let found = daemon.ask(&SearchRequest {
        query: query.to_owned(),
        mode: Some(Mode::Dense),
        contextual: Some(Contextual::Flag(contextual)),
        explain: true,
        merge: Some(false),
        per_note: Some(50),
        ..SearchRequest::default()
    });
    assert_eq!(found.warnings, Vec::<String>::new());
    assert!(contextual || found.hits.iter().all(|hit| hit.context.is_empty()));
    let score =
        |hit: &protocol::hit::Hit| hit.lanes.as_ref().and_then(|lanes| lanes.dense.as_ref()).map(|lane| lane.score);
    found.hits.iter().map(|hit| (hit.line, format!("{:.4}", score(hit).unwrap()))).collect()
}

fn words(daemon: &mut Daemon, query: &str, contextual: bool) -> usize {
    let request = SearchRequest {
        query: query.to_owned(),
        mode: Some(Mode::Lexical),
        contextual: Some(Contextual::Flag(contextual)),
        per_note: Some(50),
        ..SearchRequest::default()
    };
    daemon.ask(&request).hits.len()
}

#[test]
fn a_search_without_contexts_is_one_of_a_vault_that_has_none() {
    let place = |context: &str| {
        let place =
            Place::with(&[("Atlas rollout.md", ATLAS), ("Projects/Herons.md", "# Herons\n\n## Nest\n\nHigh up.\n")]);
        place.configure(&format!("{context}{SMALL_CHUNKS}"));
        place
    };
    let (with, without) = (place(""), place("[context]\nprovider = \"none\"\n"));
    let (mut with, mut without) = (start(&with), start(&without));
    for query in QUERIES {
        let (own, left_out, none) =
            (dense(&mut with, query, true), dense(&mut with, query, false), dense(&mut without, query, true));
        assert_eq!(left_out, none, "{query}");
        assert_ne!(own, left_out, "{query}");
    }
    // The folder's name stands in the contexts alone.
    assert_eq!((words(&mut with, "projects", true) > 0, words(&mut with, "projects", false)), (true, 0));
    assert_eq!(words(&mut without, "projects", true), 0);
}

#[test]
fn contexts_that_are_off_are_kept_and_come_back_for_nothing() {
    let model = Model::start();
    let place = Place::with(&[("Atlas rollout.md", ATLAS)]);
    let on = format!("{}{SMALL_CHUNKS}", model.config("anthropic", ""));
    place.configure(&on);
    let mut daemon = start(&place);
    wait_written(&mut daemon);
    let (before, calls) = (QUERIES.map(|query| dense(&mut daemon, query, true)), model.calls());
    daemon.stop();

    place.configure(&format!("[context]\nprovider = \"none\"\n{SMALL_CHUNKS}"));
    let mut daemon = start(&place);
    daemon.decided("Atlas rollout.md", Reason::ContextualizerChanged);
    let off = QUERIES.map(|query| dense(&mut daemon, query, true));
    assert_ne!(before, off);
    assert_eq!(off, QUERIES.map(|query| dense(&mut daemon, query, false)));
    assert_eq!(daemon.ask(&StatsRequest::default()).contextualized, 3, "they are kept");
    let status = String::from_utf8(place.run(&["status"]).stdout).unwrap();
    assert!(status.contains("off: passages are searched as they are"), "{status}");
    // Also where a section is edited or moves meanwhile.
    place.write("Atlas rollout.md", ATLAS.replace("every clause", "each and every clause"));
    daemon.decided("Atlas rollout.md", Reason::BodyChanged);
    place.write("Atlas rollout.md", ATLAS);
    place.run(&["sync", "--wait"]);
    daemon.stop();

    place.configure(&on);
    let mut daemon = start(&place);
    wait_written(&mut daemon);
    daemon.decided("Atlas rollout.md", Reason::ContextualizerChanged);
    assert_eq!(before, QUERIES.map(|query| dense(&mut daemon, query, true)));
    assert_eq!(model.calls(), calls);
}
