//! The picture in the README: drawn from what the live search shows on a real terminal, over the sample vault.
#![cfg(all(target_os = "linux", feature = "tui"))]

use std::fmt::Write as _;
use std::path::PathBuf;

use crate::screen::{Cell, Live, Style};
use crate::support::{Place, eventually};

const COLUMNS: u16 = 100;
const ROWS: u16 = 26;

/// The size of a character, and the room around all of them, in pixels.
const CELL: (usize, usize) = (8, 17);
const ROOM: usize = 12;

const INK: &str = "#d7dae0";
const PAPER: &str = "#1e2127";

/// What is typed.
const QUERY: &str = "strong wind on deployment day";

fn place_of_picture() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/looks/live-search.svg"))
}

/// A colour of the palette of 256.
fn colour(number: u8) -> String {
    const FIRST: [&str; 8] = ["#3f4451", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#d7dae0"];
    match number {
        0..=15 => FIRST[usize::from(number % 8)].to_owned(),
        232..=255 => format!("#{0:02x}{0:02x}{0:02x}", 8 + 10 * (number - 232)),
        number => {
            let part = |n: u8| if n == 0 { 0 } else { 55 + 40 * n };
            let cube = number - 16;
            format!("#{:02x}{:02x}{:02x}", part(cube / 36), part(cube / 6 % 6), part(cube % 6))
        }
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Runs of characters that look alike: where they begin, and what they are.
fn runs(line: &[Cell]) -> Vec<(usize, Style, String)> {
    let mut runs: Vec<(usize, Style, String)> = Vec::new();
    for (x, (c, style)) in line.iter().enumerate().filter_map(|(x, cell)| Some((x, (*cell)?))) {
        match runs.last_mut() {
            Some((_, last, text)) if *last == style => text.push(c),
            _ => runs.push((x, style, c.to_string())),
        }
    }
    runs
}

/// The screen as a picture whose text is text.
fn drawn(cells: &[Vec<Cell>]) -> String {
    let (width, height) = (usize::from(COLUMNS) * CELL.0 + 2 * ROOM, usize::from(ROWS) * CELL.1 + 2 * ROOM);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace\" font-size=\"13\">\n\
         <title>The live search of situated: {QUERY}</title>\n\
         <rect width=\"{width}\" height=\"{height}\" rx=\"8\" fill=\"{PAPER}\"/>\n"
    );
    for (y, line) in cells.iter().enumerate() {
        let top = ROOM + y * CELL.1;
        for (x, style, text) in runs(line) {
            if let Some(ground) = style.ground {
                let (left, length) = (ROOM + x * CELL.0, text.chars().count() * CELL.0);
                let fill = colour(ground);
                let _ = writeln!(
                    out,
                    "<rect x=\"{left}\" y=\"{top}\" width=\"{length}\" height=\"{}\" fill=\"{fill}\"/>",
                    CELL.1
                );
            }
        }
        let _ = write!(out, "<text y=\"{}\" xml:space=\"preserve\">", top + CELL.1 - 4);
        for (x, style, text) in runs(line).into_iter().filter(|(.., text)| !text.trim().is_empty()) {
            // Blanks at its ends are room, and no text.
            let (x, text) = (x + text.chars().take_while(|c| *c == ' ').count(), text.trim_matches(' '));
            let fill = style.colour.map_or_else(|| INK.to_owned(), colour);
            let weight = if style.bold { " font-weight=\"bold\"" } else { "" };
            let faint = if style.dim { " fill-opacity=\".6\"" } else { "" };
            let (left, length) = (ROOM + x * CELL.0, text.chars().count() * CELL.0);
            let _ = write!(
                out,
                "<tspan x=\"{left}\" textLength=\"{length}\" lengthAdjust=\"spacingAndGlyphs\" fill=\"{fill}\"{weight}{faint}>{}</tspan>",
                escaped(text)
            );
        }
        out.push_str("</text>\n");
    }
    out + "</svg>\n"
}

/// The words of a picture, but for times, which are others in every run.
fn words(picture: &str) -> Vec<String> {
    let mut text = String::new();
    for (n, part) in picture.split(['<', '>']).enumerate() {
        let is_text = n % 2 == 0;
        text.push_str(if is_text { part } else { " " });
    }
    let is_time = |word: &str| word.chars().all(|c| c.is_ascii_digit() || c == '.');
    text.split_whitespace().filter(|word| !is_time(word)).map(str::to_owned).collect()
}

/// Drawn anew with `UPDATE_LOOKS=1 cargo test --test it the_picture`.
#[test]
#[cfg_attr(not(has_terminal), ignore = "needs a terminal")]
fn the_picture_shows_what_the_program_shows() {
    let place = Place::with_sample();
    place.configure("");
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_idle();
    let mut live = Live::start(&place, COLUMNS, ROWS, &[("LANG", "C.UTF-8")]);
    live.wait("the daemon is there", |screen| screen.contains("notes"));
    live.press(QUERY);
    live.wait("the hits of the whole query", |screen| {
        screen.contains(QUERY) && screen.contains("hits in") && screen.contains("fifteen knots")
    });
    if std::env::var_os("UPDATE_LOOKS").is_some() {
        // The screen comes in pieces; whoever has it drawn looks at the picture.
        std::thread::sleep(std::time::Duration::from_secs(1));
        std::fs::create_dir_all(place_of_picture().parent().unwrap()).unwrap();
        std::fs::write(place_of_picture(), drawn(&live.cells())).unwrap();
    }
    let kept = std::fs::read_to_string(place_of_picture()).unwrap();
    eventually("the picture is what the program shows, or UPDATE_LOOKS=1 cargo test --test it the_picture", || {
        words(&kept) == words(&drawn(&live.cells()))
    });
    assert!(kept.len() < 60_000, "{} bytes", kept.len());
}
