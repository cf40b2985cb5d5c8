use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::KeyCode;

use super::*;
use crate::cli::live::state::Input;
use crate::cli::live::state::tests::{answer, arrival, control, find, hit, press, ready};
use protocol::hit::Hit;

const NOW: i64 = 1_000_000 + 3 * 86_400;

/// The screen as text, without the spaces at the ends of lines.
fn screen(state: &mut State, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    let mut measures = Measures::default();
    terminal.draw(|frame| measures = draw(state, Theme::default(), NOW, frame)).unwrap();
    state.measures = measures;
    let buffer = terminal.backend().buffer();
    let mut lines = Vec::new();
    for y in 0..height {
        let mut line = String::new();
        let mut skip = 0;
        for x in 0..width {
            let symbol = buffer[(x, y)].symbol();
            // A wide character takes the cell behind it too.
            if skip == 0 {
                line.push_str(symbol);
                skip = columns(symbol).saturating_sub(1);
            } else {
                skip -= 1;
            }
        }
        lines.push(line.trim_end().to_owned());
    }
    lines.join("\n") + "\n"
}

fn mark(text: &str, word: &str) -> Vec<(u32, u32)> {
    let found = text.match_indices(word).map(|(at, _)| (at as u32, (at + word.len()) as u32));
    found.collect()
}

fn hits() -> Vec<Hit> {
    let first = "The tide turns at noon. Slack tide lasts twenty minutes, and the barge has to be clear of the narrows by then.";
    let second = "Order the spare sensors before the spring tide.";
    let mut near = hit("Projects/Winter deployment.md", first, mark(first, "tide"));
    near.heading_path =
        vec!["Winter deployment".into(), "Risks".into(), "What the pilot said about the narrows".into()];
    let mut all = vec![
        near,
        hit("Notes/Ersatzteile bestellen.md", second, mark(second, "tide")),
        hit("Notes/潮汐の基礎.md", "潮汐は月と太陽の引力で起こる。", vec![(0, 6)]),
    ];
    all[1].stale = true;
    for i in 0..9 {
        all.push(hit(&format!("Daily/2026-11-0{i}.md"), "Slack tide at six.", vec![(6, 10)]));
    }
    all
}

fn found() -> State {
    let mut state = ready();
    find(&mut state, "tide", hits());
    state.side =
        vec![hit("Notes/Tidal resource primer.md", "x", Vec::new()), hit("Projects/Lagoon.md", "x", Vec::new())];
    state.side[1].linked = Some(true);
    state
}

fn assert_screen(state: &mut State, width: u16, height: u16, expected: &str) {
    let shown = screen(state, width, height);
    assert!(shown == expected, "at {width} × {height} it looks like this:\n{shown}");
}

#[test]
fn results_at_several_sizes() {
    assert_screen(&mut found(), 20, 5, include_str!("screens/found-20x5.txt"));
    assert_screen(&mut found(), 80, 24, include_str!("screens/found-80x24.txt"));
    assert_screen(&mut found(), 200, 50, include_str!("screens/found-200x50.txt"));
}

#[test]
fn other_pages() {
    let mut help = ready();
    press(&mut help, KeyCode::F(1));
    assert_screen(&mut help, 80, 24, include_str!("screens/help-80x24.txt"));
    let mut away = State::default();
    away.handle(Input::Away(
        "no daemon is running: start it with `situated run` (`situated run VAULT` where no configuration names one), or as a service (looked at /s)".into(),
    ));
    assert_screen(&mut away, 80, 24, include_str!("screens/away-80x24.txt"));
}

#[test]
fn keys_and_messages_are_shown_to_their_ends_where_there_is_little_room() {
    for (width, height) in [(80, 15), (40, 10), (20, 6)] {
        let mut state = ready();
        press(&mut state, KeyCode::F(1));
        let mut seen = screen(&mut state, width, height);
        for _ in 0..40 {
            press(&mut state, KeyCode::PageDown);
            seen.push_str(&screen(&mut state, width, height));
        }
        let words = seen.split_whitespace().collect::<Vec<_>>().join(" ");
        let shown =
            ["hybrid, lexical", "nothing is typed", "Ctrl-C", "and leave"].map(|words_of| words.contains(words_of));
        assert!(state.help && shown == [true; 4], "{width} × {height}: {shown:?} {seen}");
        press(&mut state, KeyCode::Esc);
        assert!(!state.help);
    }
    let mut state = found();
    state.said = Some("`xdg-open` cannot be started (No such file or directory); the address is obsidian://open?vault=notes&file=Plan".into());
    assert!(screen(&mut state, 80, 24).contains("file=Plan"));
    assert!(screen(&mut state, 80, 8).contains('…'));
}

#[test]
fn there_is_no_size_at_which_it_cannot_be_drawn() {
    let mut states = [State::default(), ready(), found(), found(), found(), found()];
    press(&mut states[1], KeyCode::F(1));
    press(&mut states[3], KeyCode::Tab);
    control(&mut states[4], 'r');
    press(&mut states[5], KeyCode::Char('日'));
    states[5].failure = Some("the query is wrong".into());
    for state in &mut states {
        for width in [1, 2, 3, 8, 20, 33, 71, 72, 73, 100, 300] {
            for height in [1, 2, 3, 4, 5, 6, 9, 10, 11, 24, 60] {
                let shown = screen(state, width, height);
                assert_eq!(shown.lines().count(), usize::from(height));
            }
        }
    }
}

#[test]
fn nothing_of_a_note_reaches_the_screen_as_it_is() {
    let evil = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31m\u{202e}\u{2066}\u{200b}\u{e0041}evil";
    let mut state = State::default();
    state.handle(Input::There(Box::new(arrival(&[(evil, 3), ("b", 1)]))));
    let mut bad = hit(&format!("{evil}.md"), &format!("tide {evil}"), vec![(0, 4)]);
    (bad.title, bad.heading_path, bad.vault) = (evil.into(), vec![evil.into()], evil.into());
    (bad.window, bad.text) = (format!("{evil}\n{evil}"), evil.into());
    find(&mut state, "tide", vec![bad.clone()]);
    state.side = vec![bad];
    state.said = Some(evil.into());
    state.list.answer.warnings = vec![evil.into()];
    let away = |text: &str| {
        let mut state = State::default();
        state.handle(Input::Away(text.into()));
        state
    };
    let mut near = state.clone();
    control(&mut near, 'r');
    near.list.answer = answer(hits());
    for (width, height) in [(20, 5), (80, 24), (200, 50)] {
        for state in [&mut state, &mut away(evil), &mut near] {
            let shown = screen(state, width, height);
            let wild = |c: &char| {
                (c.is_control() && *c != '\n')
                    || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200b}' | '\u{e0000}'..='\u{e0fff}')
            };
            assert_eq!(shown.chars().find(wild), None, "{shown:?}");
        }
    }
}

#[test]
fn the_selected_hit_is_in_sight() {
    let mut state = found();
    for _ in 0..11 {
        press(&mut state, KeyCode::Down);
        let shown = screen(&mut state, 80, 12);
        let title = state.selected().unwrap().title.chars().take(8).collect::<String>();
        assert!(shown.lines().any(|line| line.starts_with('▌') && line.contains(&title)), "{title}:\n{shown}");
    }
}

#[test]
fn without_colours_there_are_none() {
    let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
    let state = found();
    terminal.draw(|frame| _ = draw(&state, Theme { plain: true }, NOW, frame)).unwrap();
    let coloured = terminal
        .backend()
        .buffer()
        .content()
        .iter()
        .any(|cell| cell.fg != ratatui::style::Color::Reset || cell.bg != ratatui::style::Color::Reset);
    assert!(!coloured);
}
