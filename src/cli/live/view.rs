//! Draws the live search: the state goes in, widgets come out. Every text that is not the program's own is cleaned
//! here, and something can be drawn at every size.

mod passage;
mod words;

use std::ops::Range;

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::keys::HELP;
use super::state::{Link, Measures, Pane, State};
use crate::cli::print::{age, columns, cut, cut_front, headings, millis, padded, printable, wrap};

use passage::{excerpt, preview};
use protocol::hit::Hit;
use protocol::search::{Mode, SearchAnswer};

/// From this width on, list and preview are side by side: both have room for a line of prose.
const SIDE_BY_SIDE: u16 = 72;

/// Most rows of the message below the list.
const REMARK_ROWS: usize = 3;

/// Colours, or the styles that replace them if the user wants none.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Theme {
    /// Without colours: only bold, dim, underlined and reversed.
    pub plain: bool,
}

const DIM: Style = Style::new().add_modifier(Modifier::DIM);
const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);

impl Theme {
    fn coloured(self, color: Color) -> Style {
        if self.plain { Style::new() } else { Style::new().fg(color) }
    }

    fn path(self) -> Style {
        self.coloured(Color::Cyan)
    }

    fn warning(self) -> Style {
        self.coloured(Color::Yellow)
    }

    fn mark(self) -> Style {
        let style = self.coloured(Color::Yellow).add_modifier(Modifier::BOLD);
        if self.plain { style.add_modifier(Modifier::UNDERLINED) } else { style }
    }

    /// The style that shows which pane has the focus.
    fn accent(self) -> Style {
        self.coloured(Color::Cyan).add_modifier(Modifier::BOLD)
    }

    /// Light on dark whatever the terminal's own colours are: its text may be black.
    fn chosen(self) -> Style {
        if self.plain {
            return Style::new().add_modifier(Modifier::REVERSED);
        }
        Style::new().fg(Color::Indexed(252)).bg(Color::Indexed(236))
    }
}

/// Draws everything; returns what fitted. `now` is in seconds since 1970.
pub(super) fn draw(state: &State, theme: Theme, now: i64, frame: &mut Frame) -> Measures {
    let area = frame.area();
    let mut measures = Measures { top: state.measures.top, ..Measures::default() };
    if area.is_empty() {
        return measures;
    }
    let mut rest = area;
    let input = take_top(&mut rest, 1);
    query(state, theme, input, frame);
    let status = (area.height >= 3).then(|| take_bottom(&mut rest, 1));
    if let Some(status) = status {
        frame.render_widget(Paragraph::new(status_line(state, theme, usize::from(area.width))), status);
    }
    if let Some(said) = remark(state).filter(|_| rest.height >= 3) {
        let width = usize::from(rest.width);
        let mut lines = wrap(&said, width);
        // The list needs room, too.
        lines.truncate(usize::from(rest.height / 4).clamp(1, REMARK_ROWS));
        let last = lines.len().saturating_sub(1);
        let line = |(i, range): (usize, Range<usize>)| {
            let text = if i == last { cut(&said[range.start..], width) } else { said[range].to_owned() };
            Line::styled(text, theme.warning())
        };
        let lines: Vec<Line> = lines.into_iter().enumerate().map(line).collect();
        let area = take_bottom(&mut rest, lines.len() as u16);
        frame.render_widget(Paragraph::new(lines), area);
    }
    if area.height >= 10 {
        let line = take_top(&mut rest, 1);
        frame.render_widget(Paragraph::new(Span::styled("─".repeat(line.width.into()), DIM)), line);
    }
    body(state, theme, now, rest, frame, &mut measures);
    measures
}

fn take_top(area: &mut Rect, rows: u16) -> Rect {
    let rows = rows.min(area.height);
    let taken = Rect { height: rows, ..*area };
    (area.y, area.height) = (area.y + rows, area.height - rows);
    taken
}

fn take_bottom(area: &mut Rect, rows: u16) -> Rect {
    let rows = rows.min(area.height);
    area.height -= rows;
    Rect { y: area.y + area.height, height: rows, ..*area }
}

/// Draws the line that is typed, with the cursor in sight.
fn query(state: &State, theme: Theme, area: Rect, frame: &mut Frame) {
    const PROMPT: &str = "› ";
    let room = usize::from(area.width).saturating_sub(columns(PROMPT) + 1);
    let text = state.query.text();
    let before = cut_front(state.query.before(), room);
    let shown = if columns(state.query.before()) > room || columns(text) <= room {
        format!("{before}{}", &text[state.query.before().len()..])
    } else {
        cut(text, room.max(columns(&before)))
    };
    let hint = words::placeholder(state);
    let line = if text.is_empty() {
        Line::from(vec![Span::styled(PROMPT, theme.accent()), Span::styled(cut(&hint, room), DIM)])
    } else {
        Line::from(vec![Span::styled(PROMPT, theme.accent()), Span::raw(shown)])
    };
    frame.render_widget(Paragraph::new(line), area);
    if state.pane == Pane::List && !state.help {
        let x = area.x + (columns(PROMPT) + columns(&before)) as u16;
        frame.set_cursor_position(Position::new(x.min(area.right().saturating_sub(1)), area.y));
    }
}

fn body(state: &State, theme: Theme, now: i64, area: Rect, frame: &mut Frame, measures: &mut Measures) {
    if state.help {
        let lines = help(usize::from(area.width));
        return scrolled(lines, state.scroll.unwrap_or_default(), area, frame, measures);
    }
    if let Some(text) = words::instead_of_hits(state) {
        let width = usize::from(area.width).saturating_sub(2).max(1);
        let lines: Vec<Line> =
            wrap(&text, width).into_iter().map(|range| Line::raw(format!("  {}", &text[range]))).collect();
        frame.render_widget(Paragraph::new(lines), area);
        return;
    }
    let wide = area.width >= SIDE_BY_SIDE;
    if state.preview_hidden || (!wide && state.pane == Pane::List) {
        list(state, theme, now, area, frame, measures);
        return;
    }
    if !wide {
        passage(state, theme, area, frame, measures);
        return;
    }
    let left = (area.width * 9 / 20).clamp(32, 90);
    list(state, theme, now, Rect { width: left, ..area }, frame, measures);
    let bar = Rect { x: area.x + left, width: 1, ..area };
    let rows: Vec<Line> = (0..bar.height).map(|_| Line::styled("│", DIM)).collect();
    frame.render_widget(Paragraph::new(rows), bar);
    let mut right = Rect { x: bar.right() + 1, width: area.width.saturating_sub(left + 2), ..area };
    if !state.side.is_empty() && right.height >= 12 {
        let rows = (state.side.len() as u16 + 1).min(right.height / 3);
        let below = take_bottom(&mut right, rows);
        take_bottom(&mut right, 1);
        near(state, below, frame);
    }
    passage(state, theme, right, frame, measures);
}

/// Draws the hits, each in as many lines as there is room for.
fn list(state: &State, theme: Theme, now: i64, area: Rect, frame: &mut Frame, measures: &mut Measures) {
    let mut area = area;
    if let Some((hit, _)) = &state.near {
        let line = take_top(&mut area, 1);
        let of = cut(&format!("near {}", place(hit, false)), line.width.into());
        frame.render_widget(Paragraph::new(Span::styled(of, theme.accent())), line);
    }
    let hits = &state.list.answer.hits;
    let rows: u16 = match area.height {
        0..6 => 1,
        6..12 => 2,
        12..40 => 3,
        _ => 4,
    };
    let page = usize::from(area.height / rows).max(1);
    let last_top = hits.len().saturating_sub(page);
    let top = measures.top.clamp((state.list.selected + 1).saturating_sub(page), state.list.selected).min(last_top);
    (measures.page, measures.top) = (page, top);
    let width = usize::from(area.width);
    for (i, hit) in hits.iter().enumerate().skip(top).take(page) {
        let chosen = i == state.list.selected;
        let row = take_top(&mut area, rows);
        if row.is_empty() {
            break;
        }
        let mark = if chosen { Span::styled("▌", theme.accent()) } else { Span::raw(" ") };
        let lines = entry(hit, usize::from(rows), width.saturating_sub(2), state.several_vaults(), theme, now);
        let lines: Vec<Line> = lines
            .into_iter()
            .map(|mut line| {
                line.spans.insert(0, mark.clone());
                line
            })
            .collect();
        let style = if chosen { theme.chosen() } else { Style::new() };
        frame.render_widget(Paragraph::new(lines).style(style), row);
    }
}

/// A hit in `rows` lines: title and headings; where and when; the passage.
fn entry(hit: &Hit, rows: usize, width: usize, vault: bool, theme: Theme, now: i64) -> Vec<Line<'static>> {
    let (title, below) = headings(&hit.title, &hit.heading_path, width);
    let mut lines = vec![Line::from(vec![Span::styled(title, BOLD), Span::raw(below)])];
    if rows >= 3 {
        let when = format!("  {}{}", age(now, hit.mtime), if hit.stale { " changed" } else { "" });
        let place = cut_front(&place(hit, vault), width.saturating_sub(columns(&when)).max(8));
        lines.push(Line::from(vec![Span::styled(place, theme.path()), Span::styled(when, DIM)]));
    }
    if rows >= 2 {
        let room = rows - lines.len();
        lines.extend(excerpt(hit, width, room, theme.mark()));
    }
    lines.truncate(rows);
    lines
}

/// `notes: Projects/Plan.md:12`.
fn place(hit: &Hit, vault: bool) -> String {
    let vault = if vault { format!("{}: ", printable(&hit.vault)) } else { String::new() };
    format!("{vault}{}:{}", printable(&hit.path), hit.best_line())
}

/// Draws the window of the selected hit, with matches marked.
fn passage(state: &State, theme: Theme, area: Rect, frame: &mut Frame, measures: &mut Measures) {
    let Some(hit) = state.selected() else { return };
    let mut area = area;
    if area.height >= 4 {
        let line = take_top(&mut area, 1);
        let (first, last) = hit.window_lines;
        let lines = format!("  {first}–{last}");
        let path = cut_front(&printable(&hit.path), usize::from(line.width).saturating_sub(columns(&lines)).max(4));
        let style = if state.pane == Pane::Preview { theme.accent() } else { theme.path() };
        frame
            .render_widget(Paragraph::new(Line::from(vec![Span::styled(path, style), Span::styled(lines, DIM)])), line);
    }
    let rows = preview(hit, usize::from(area.width), theme.mark(), theme.accent());
    // A few lines before the match give the eye a hold.
    let top = state.scroll.unwrap_or_else(|| rows.found.saturating_sub(usize::from(area.height) / 4));
    scrolled(rows.lines, top, area, frame, measures);
}

/// Draws lines from the one at `top`, or as far down as there are any.
fn scrolled(lines: Vec<Line<'_>>, top: usize, area: Rect, frame: &mut Frame, measures: &mut Measures) {
    let page = usize::from(area.height);
    let top = top.min(lines.len().saturating_sub(page));
    measures.preview_page = page;
    measures.preview_rows = lines.len();
    measures.preview_top = top;
    let shown: Vec<Line> = lines.into_iter().skip(top).take(page).collect();
    frame.render_widget(Paragraph::new(shown), area);
}

/// Notes near the selected hit.
fn near(state: &State, area: Rect, frame: &mut Frame) {
    let width = usize::from(area.width);
    let mut lines = vec![Line::styled(cut("near it", width), DIM)];
    for hit in &state.side {
        let linked = if hit.linked == Some(true) { "  linked" } else { "" };
        let room = width.saturating_sub(columns(linked));
        let title = cut(&printable(&hit.title), room);
        lines.push(Line::from(vec![Span::raw(title), Span::styled(linked, DIM)]));
    }
    frame.render_widget(Paragraph::new(lines), area);
}

/// What each key does; beside the keys if there is room.
fn help(width: usize) -> Vec<Line<'static>> {
    let column = HELP.iter().map(|(keys, _)| columns(keys)).max().unwrap_or(0) + 2;
    let mut lines = Vec::new();
    for (keys, what) in HELP {
        let is_wide = width >= column + 20;
        if !is_wide {
            lines.push(Line::styled(cut(keys, width), BOLD));
        }
        let margin = if is_wide { column + 2 } else { 1 };
        for (i, range) in wrap(what, width.saturating_sub(margin)).into_iter().enumerate() {
            let before = if is_wide && i == 0 { format!("  {keys}") } else { String::new() };
            lines.push(Line::from(vec![Span::styled(padded(&before, margin), BOLD), Span::raw(&what[range])]));
        }
    }
    lines
}

/// The message below the list, if there is one.
fn remark(state: &State) -> Option<String> {
    let warning = || state.list.answer.warnings.first();
    state.said.as_ref().or_else(warning).map(|text| printable(text).into_owned())
}

/// `1,234 notes · idle` on the left, `hybrid · all vaults · 4.2 ms · F1 help` on the right, as far as there is room.
fn status_line(state: &State, theme: Theme, width: usize) -> Line<'static> {
    let (left, attention) = words::daemon(state);
    let left = cut(&left, width);
    let mode = match state.mode {
        Mode::Hybrid => "hybrid",
        Mode::Lexical => "lexical",
        Mode::Dense => "dense",
    };
    let vault = match (&state.vault, &state.link) {
        (Some(name), _) => Some(printable(name).into_owned()),
        (None, Link::There { vaults, .. }) => match vaults.as_slice() {
            [(name, _)] if !state.several_vaults() => Some(printable(name).into_owned()),
            _ => Some("all vaults".to_owned()),
        },
        (None, _) => None,
    };
    let shown = matches!(state.link, Link::There { .. }) && !state.list.answer.hits.is_empty();
    let took = shown.then(|| {
        let SearchAnswer { hits, truncated, took_ms, .. } = &state.list.answer;
        let hits = match (hits.len(), truncated) {
            (1, false) => "1 hit".to_owned(),
            (n, truncated) => format!("{n}{} hits", if *truncated { "+" } else { "" }),
        };
        format!("{hits} in {}", millis(*took_ms))
    });
    let mut right: Vec<String> =
        [took, vault, Some(mode.to_owned()), Some("F1 help".to_owned())].into_iter().flatten().collect();
    // What matters least goes first.
    while !right.is_empty() && columns(&left) + 2 + columns(&right.join(" · ")) > width {
        right.pop();
    }
    let right = right.join(" · ");
    let gap = width.saturating_sub(columns(&left) + columns(&right));
    let style = if attention { theme.warning() } else { DIM };
    Line::from(vec![Span::styled(left, style), Span::raw(" ".repeat(gap)), Span::styled(right, DIM)])
}

#[cfg(test)]
mod tests;
