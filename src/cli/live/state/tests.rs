use ratatui::crossterm::event::{KeyCode, KeyModifiers};
use serde_json::json;

use super::*;
use protocol::jobs::{JobKind, JobState, Scope};

/// A hit without anything special.
pub(in crate::cli::live) fn hit(path: &str, snippet: &str, highlights: Vec<(u32, u32)>) -> Hit {
    let title = path.rsplit('/').next().unwrap().trim_end_matches(".md");
    serde_json::from_value(json!({
        "vault": "notes", "path": path, "line": 12, "end_line": 20, "title": title,
        "heading_path": [title, "Risks"], "score": 0.5, "snippet": snippet, "highlights": highlights,
        "text": snippet, "context": "", "window": format!("Before it.\n\n{snippet}\n\nAfter it."),
        "window_lines": [10, 24], "chunk": format!("chunk of {path}"), "mtime": 1_000_000, "stale": false,
    }))
    .unwrap()
}

/// An answer with these hits.
pub(in crate::cli::live) fn answer(hits: Vec<Hit>) -> SearchAnswer {
    SearchAnswer { hits, seq: 1, took_ms: 4.2, ..SearchAnswer::default() }
}

/// A daemon with one vault of 1,234 notes.
pub(in crate::cli::live) fn arrival(vaults: &[(&str, u64)]) -> Arrival {
    let vaults: Vec<_> = vaults
        .iter()
        .map(|(name, notes)| {
            json!({
                "name": name, "path": format!("/{name}"), "notes": notes, "chunks": 9, "seq": 1, "last_change": null,
                "pending": 0, "skipped": [], "skipped_total": 0, "conflicts": [], "warned": 0, "watch": "inotify",
                "watch_problem": null, "doubt": null, "index_bytes": 0, "decisions": [],
            })
        })
        .collect();
    let status = serde_json::from_value(json!({
        "state": "idle", "vaults": vaults, "problems": [], "leaves_machine": [], "contextualizer": "", "embedder": "",
        "uptime_s": 0, "rss_bytes": 0, "version": "", "pid": 1, "supervisor": "none", "socket": "/s"
    }));
    Arrival { status: status.unwrap(), job: None }
}

fn job(state: JobState, done: u64) -> Job {
    let mut job = Job::dry_run(JobKind::Rebuild, Scope::default(), Some(1000), None);
    (job.state, job.done) = (state, done);
    job
}

/// A machine that has a daemon.
pub(in crate::cli::live) fn ready() -> State {
    let mut state = State::default();
    assert_eq!(state.handle(Input::There(Box::new(arrival(&[("notes", 1234)])))), []);
    state
}

pub(in crate::cli::live) fn press(state: &mut State, code: KeyCode) -> Vec<Effect> {
    state.handle(Input::Key(KeyEvent::from(code)))
}

pub(in crate::cli::live) fn control(state: &mut State, c: char) -> Vec<Effect> {
    state.handle(Input::Key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL)))
}

fn asked(effects: &[Effect]) -> Vec<What> {
    let what = |effect: &Effect| match effect {
        Effect::Ask(ask) => Some(ask.what.clone()),
        _ => None,
    };
    effects.iter().filter_map(what).collect()
}

fn number(effects: &[Effect]) -> u64 {
    let number = |effect: &Effect| if let Effect::Ask(ask) = effect { Some(ask.number) } else { None };
    effects.iter().find_map(number).unwrap()
}

fn query(effects: &[Effect]) -> Option<String> {
    asked(effects).into_iter().find_map(|what| match what {
        What::Search { query, .. } => Some(query),
        What::Related { .. } => None,
    })
}

/// Types, has the last query answered with these hits, and what lies near the first with none.
pub(in crate::cli::live) fn find(state: &mut State, text: &str, hits: Vec<Hit>) {
    let effects = state.handle(Input::Paste(text.to_owned()));
    let side = state.handle(Input::Answer(number(&effects), Ok(Box::new(answer(hits)))));
    if !side.is_empty() {
        state.handle(Input::Answer(number(&side), Ok(Box::default())));
    }
}

fn three() -> Vec<Hit> {
    ["a.md", "b.md", "c.md"].into_iter().map(|path| hit(path, "text", Vec::new())).collect()
}

#[test]
fn only_the_newest_query_is_asked_and_shown() {
    let mut state = ready();
    let first = press(&mut state, KeyCode::Char('t'));
    assert_eq!(query(&first).as_deref(), Some("t"));
    assert_eq!(press(&mut state, KeyCode::Char('i')), []);
    assert_eq!(press(&mut state, KeyCode::Char('d')), []);
    assert!(state.is_waiting());
    let next = state.handle(Input::Answer(number(&first), Ok(Box::new(answer(three())))));
    assert_eq!(query(&next).as_deref(), Some("tid"));
    assert!(state.list.answer.hits.is_empty(), "hits of an old query are not shown");
    state.handle(Input::Answer(number(&next), Ok(Box::new(answer(three())))));
    assert_eq!(state.list.answer.hits.len(), 3);
    assert!(!state.is_waiting());
    // Once more the same answer, and one to nothing that was asked.
    for number in [number(&next), 99] {
        assert_eq!(state.handle(Input::Answer(number, Ok(Box::default()))), []);
    }
    assert_eq!(state.list.answer.hits.len(), 3);
}

#[test]
fn an_emptied_line_shows_nothing_and_asks_nothing() {
    let mut state = ready();
    let effects = press(&mut state, KeyCode::Char('t'));
    assert_eq!(press(&mut state, KeyCode::Backspace), []);
    assert_eq!(press(&mut state, KeyCode::Backspace), [], "nothing changes, nothing is asked");
    state.handle(Input::Answer(number(&effects), Ok(Box::new(answer(three())))));
    assert!(state.list.answer.hits.is_empty());
    assert_eq!(press(&mut state, KeyCode::Char(' ')), []);
}

#[test]
fn selecting_asks_what_lies_near() {
    let mut state = ready();
    find(&mut state, "tide", three());
    let effects = press(&mut state, KeyCode::Down);
    assert!(matches!(&asked(&effects)[..], [What::Related { chunk, .. }] if chunk == "chunk of b.md"), "{effects:?}");
    assert_eq!(control(&mut state, 'n'), [], "one request flies");
    assert_eq!(press(&mut state, KeyCode::Down), [], "the last stays the last");
    let next = state.handle(Input::Answer(number(&effects), Ok(Box::new(answer(three())))));
    assert!(state.side.is_empty(), "that was of another hit");
    state.handle(Input::Answer(number(&next), Ok(Box::new(answer(three())))));
    assert_eq!((state.list.selected, state.side.len()), (2, 3));
    state.measures.page = 2;
    press(&mut state, KeyCode::PageUp);
    assert_eq!(state.list.selected, 0);
    control(&mut state, 'p');
    assert_eq!(state.list.selected, 0);
}

#[test]
fn related_is_a_list_of_its_own_and_back() {
    let mut state = ready();
    find(&mut state, "tide", three());
    press(&mut state, KeyCode::Down);
    let waiting = control(&mut state, 'r');
    let landed = state.handle(Input::Answer(3, Ok(Box::default())));
    let effects = if waiting.is_empty() { landed } else { waiting };
    assert!(
        matches!(&asked(&effects)[..], [What::Related { chunk, limit: NEAR_LIST, .. }] if chunk == "chunk of b.md")
    );
    let side = state.handle(Input::Answer(number(&effects), Ok(Box::new(answer(vec![hit("d.md", "x", Vec::new())])))));
    assert_eq!(state.selected().unwrap().path, "d.md");
    state.handle(Input::Answer(number(&side), Ok(Box::default())));
    let back = press(&mut state, KeyCode::Esc);
    assert_eq!((state.selected().unwrap().path.as_str(), query(&back).as_deref()), ("b.md", Some("tide")));
    let side = state.handle(Input::Answer(number(&back), Ok(Box::new(answer(three())))));
    assert_eq!((state.selected().unwrap().path.as_str(), state.near.is_none()), ("b.md", true), "it stays selected");
    state.handle(Input::Answer(number(&side), Ok(Box::default())));
    assert_eq!(press(&mut state, KeyCode::Esc), [Effect::Leave(None)]);
    control(&mut state, 'r');
    press(&mut state, KeyCode::Char('s'));
    assert!(state.near.is_none(), "typing goes back to the query");
}

#[test]
fn a_passage_that_an_edit_took_away_leads_back_to_the_results() {
    let mut state = ready();
    find(&mut state, "tide", three());
    let effects = control(&mut state, 'r');
    let side = state.handle(Input::Answer(number(&effects), Ok(Box::new(answer(three())))));
    state.handle(Input::Answer(number(&side), Ok(Box::default())));
    let news = Notice::Index { vault: "notes".into(), seq: 2, notes: 1234, chunks: 9 };
    let again = state.handle(Input::Notice(Box::new(news)));
    let back = state.handle(Input::Answer(number(&again), Err("chunk `x` is not known".into())));
    assert_eq!((query(&back).as_deref(), state.near.is_none(), &state.failure), (Some("tide"), true, &None));
    assert!(state.said.as_deref().unwrap().contains("has changed"));
}

#[test]
fn modes_and_vaults() {
    let mut state = State::default();
    state.handle(Input::There(Box::new(arrival(&[("home", 1), ("work", 2)]))));
    find(&mut state, "tide", Vec::new());
    let effects = control(&mut state, 't');
    let mode = Mode::Lexical;
    assert_eq!(asked(&effects), [What::Search { query: "tide".into(), mode, vault: None }]);
    state.handle(Input::Answer(number(&effects), Err("no".into())));
    assert_eq!(state.failure.as_deref(), Some("no"));
    for expected in [Some("home"), Some("work"), None] {
        control(&mut state, 'v');
        assert_eq!(state.vault.as_deref(), expected);
    }
    let mut alone = ready();
    assert_eq!(control(&mut alone, 'v'), []);
    assert!(alone.said.is_some());
}

#[test]
fn leaving_and_taking_along() {
    let mut state = ready();
    assert_eq!(press(&mut state, KeyCode::Enter), []);
    assert_eq!(control(&mut state, 'y'), []);
    find(&mut state, "tide", three());
    assert!(
        matches!(&press(&mut state, KeyCode::Enter)[..], [Effect::Open { hit, obsidian: false }] if hit.path == "a.md")
    );
    assert!(matches!(&control(&mut state, 'o')[..], [Effect::Open { obsidian: true, .. }]));
    assert!(matches!(&control(&mut state, 'y')[..], [Effect::Leave(Some(hit))] if hit.path == "a.md"));
    assert_eq!(control(&mut state, 'c'), [Effect::Leave(None)]);
    assert_eq!(state.handle(Input::End), [Effect::Leave(None)]);
    press(&mut state, KeyCode::F(1));
    assert!(state.help);
    assert_eq!(press(&mut state, KeyCode::Esc), []);
    assert!(!state.help);
}

#[test]
fn a_daemon_that_goes_and_comes() {
    let mut state = ready();
    find(&mut state, "tide", three());
    press(&mut state, KeyCode::Down);
    state.handle(Input::Answer(3, Ok(Box::default())));
    assert_eq!(state.handle(Input::Away("gone".into())), []);
    assert_eq!(state.link, Link::Away("gone".into()));
    let effects = state.handle(Input::There(Box::new(arrival(&[("notes", 1235)]))));
    assert_eq!(query(&effects).as_deref(), Some("tide"), "what is typed is asked again");
    let mut hits = three();
    hits.rotate_left(1);
    state.handle(Input::Answer(number(&effects), Ok(Box::new(answer(hits)))));
    assert_eq!(state.selected().unwrap().path, "b.md", "what was selected stays selected");
}

#[test]
fn a_vault_that_is_gone_is_not_searched_any_more() {
    let mut state = State::default();
    state.handle(Input::There(Box::new(arrival(&[("home", 1), ("work", 2)]))));
    find(&mut state, "tide", three());
    let narrowed = control(&mut state, 'v');
    state.handle(Input::Answer(number(&narrowed), Ok(Box::default())));
    assert_eq!(state.vault.as_deref(), Some("home"));
    let effects = state.handle(Input::There(Box::new(arrival(&[("house", 1), ("work", 2)]))));
    assert_eq!((query(&effects).as_deref(), &state.vault), (Some("tide"), &None));
}

#[test]
fn who_has_not_moved_stays_at_the_best() {
    let mut state = ready();
    find(&mut state, "tide", three());
    let news = Input::Notice(Box::new(Notice::Index { vault: "notes".into(), seq: 2, notes: 1240, chunks: 9 }));
    let effects = state.handle(news);
    let mut hits = three();
    hits.rotate_right(1);
    let best = hits[0].path.clone();
    state.handle(Input::Answer(number(&effects), Ok(Box::new(answer(hits)))));
    assert_eq!(state.selected().unwrap().path, best);
}

#[test]
fn news_keeps_the_list_current() {
    let mut state = ready();
    find(&mut state, "tide", three());
    let index = |notes| Input::Notice(Box::new(Notice::Index { vault: "notes".into(), seq: 2, notes, chunks: 9 }));
    let effects = state.handle(index(1240));
    assert_eq!(query(&effects).as_deref(), Some("tide"));
    assert_eq!(state.handle(index(1241)), [], "one look at a time");
    let again = state.handle(Input::Answer(number(&effects), Ok(Box::new(answer(three())))));
    assert_eq!(query(&again).as_deref(), Some("tide"), "that answer may not have known of it");
    let side = state.handle(Input::Answer(number(&again), Ok(Box::new(answer(three())))));
    assert_eq!(query(&side), None);
    state.handle(Input::Answer(number(&side), Ok(Box::default())));
    let decided = |reason: &str| {
        let decision = json!({
            "kind": "decision", "vault": "notes", "path": "a.md", "reason": reason, "kept": 0, "reembedded": 0,
            "regenerated": 1, "removed": 0, "steps": [], "seq": 3, "took_ms": 1.0, "at": 1,
        });
        Input::Notice(Box::new(serde_json::from_value(decision).unwrap()))
    };
    let effects = state.handle(decided("NewNote"));
    assert_eq!(query(&effects).as_deref(), Some("tide"));
    state.handle(decided("NoteRemoved"));
    assert_eq!(state.link, Link::There { daemon: Daemon::Idle, vaults: vec![("notes".into(), 1241)] });
    state.handle(Input::Notice(Box::new(Notice::Job { job: Box::new(job(JobState::Running, 5)) })));
    assert_eq!(state.job.as_ref().map(|job| job.done), Some(5));
    state.handle(Input::Notice(Box::new(Notice::Job { job: Box::new(job(JobState::Done, 9)) })));
    assert_eq!(state.job, None);
}

#[test]
fn the_preview_scrolls_within_its_bounds() {
    let mut state = ready();
    find(&mut state, "tide", three());
    press(&mut state, KeyCode::Tab);
    assert_eq!(state.pane, Pane::Preview);
    state.measures = Measures { preview_page: 10, preview_rows: 25, preview_top: 3, ..Measures::default() };
    press(&mut state, KeyCode::Down);
    assert_eq!(state.scroll, Some(4));
    press(&mut state, KeyCode::PageDown);
    press(&mut state, KeyCode::PageDown);
    assert_eq!(state.scroll, Some(15));
    press(&mut state, KeyCode::PageUp);
    press(&mut state, KeyCode::PageUp);
    assert_eq!(state.scroll, Some(0));
    press(&mut state, KeyCode::F(2));
    assert!(state.preview_hidden && state.pane == Pane::List);
    press(&mut state, KeyCode::Tab);
    assert!(!state.preview_hidden);
}

#[test]
fn a_teams_hit_names_its_vault_beside_the_only_one_here() {
    let mut state = ready();
    let in_vault = |vault: &str| vec![Hit { vault: vault.to_owned(), ..hit("a.md", "x", Vec::new()) }];
    find(&mut state, "x", in_vault("notes"));
    assert!(!state.several_vaults());
    find(&mut state, "y", in_vault("handbook/notes"));
    assert!(state.several_vaults());
}

#[test]
fn an_error_for_what_the_index_has_moved_on_from_is_asked_again() {
    let mut state = ready();
    let flying = state.handle(Input::Paste("tide".to_owned()));
    let news = Notice::Index { vault: "notes".into(), seq: 2, notes: 1234, chunks: 9 };
    assert_eq!(state.handle(Input::Notice(Box::new(news))), []);
    let again = state.handle(Input::Answer(number(&flying), Err("the daemon closed the connection".into())));
    assert_eq!(query(&again).as_deref(), Some("tide"));
    state.handle(Input::Answer(number(&again), Err("busy".into())));
    assert_eq!(state.failure.as_deref(), Some("busy"), "it is asked once more, not for ever");
}
