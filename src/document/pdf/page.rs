//! The text of a page, from where its signs stand: along and across the line on which each is written, whichever way
//! the line runs, and in the order of reading.

use pdf_extract::{MediaBox, OutputDev, OutputError, Transform};

/// A distance to the sign before, in ems of the sign, that is a space.
const SPACE: f64 = 0.1;

/// A step back on a line, in ems, after which another word begins. Accents are set by a smaller one.
const BACK: f64 = 1.0;

/// A distance to the line of the sign before, in heights of the larger, that makes another line. Raised signs are nearer.
const LINE: f64 = 0.5;

/// The least cosine of the angle between two signs of one line, which may run along a curve.
const STRAIGHT: f64 = 0.9;

/// A sign of the line that is being read. Lengths are those of the page.
struct Sign {
    text: String,
    /// The way in which its line runs, of length 1.
    way: (f64, f64),
    /// Where it begins and ends along its line.
    start: f64,
    end: f64,
    /// Where its line is.
    across: f64,
    em: f64,
    height: f64,
    /// The program left a space before it.
    is_apart: bool,
}

/// Reads a page.
#[derive(Default)]
pub(super) struct Page {
    text: String,
    line: Vec<Sign>,
    /// The next sign is the first of a piece of text, which may stand anywhere.
    begins: bool,
}

impl Page {
    /// The text, a line of the page on each line.
    pub(super) fn text(mut self) -> String {
        self.finish_line();
        self.text
    }

    fn finish_line(&mut self) {
        let mut line = std::mem::take(&mut self.line);
        let is_leftward = line.iter().any(|sign| kind(&sign.text) == Kind::Leftward);
        if is_leftward {
            by_place(&mut line);
        }
        let parts = line.iter().flat_map(|sign| [if sign.is_apart { " " } else { "" }, &sign.text]);
        let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
        self.text.extend(if is_leftward { as_read(&parts) } else { parts });
        self.text.push('\n');
    }
}

impl OutputDev for Page {
    fn begin_page(&mut self, _: u32, _: &MediaBox, _: Option<(f64, f64, f64, f64)>) -> Result<(), OutputError> {
        Ok(())
    }

    fn end_page(&mut self) -> Result<(), OutputError> {
        Ok(())
    }

    fn output_character(
        &mut self,
        at: &Transform,
        width: f64,
        spacing: f64,
        size: f64,
        text: &str,
    ) -> Result<(), OutputError> {
        let em = (at.m11 * size).hypot(at.m12 * size);
        // A sign without a size is not seen.
        if em.is_nan() || em <= 0.0 {
            return Ok(());
        }
        let way = (at.m11 * size / em, at.m12 * size / em);
        let start = at.m31 * way.0 + at.m32 * way.1;
        let across = at.m32 * way.0 - at.m31 * way.1;
        let end = start + (width + spacing / size) * em;
        let height = (at.m21 * size).hypot(at.m22 * size);
        let mut is_apart = false;
        if let Some(last) = self.line.last().filter(|_| self.begins) {
            let is_turned = way.0 * last.way.0 + way.1 * last.way.1 < STRAIGHT;
            if is_turned || (across - last.across).abs() > LINE * height.max(last.height) {
                self.finish_line();
            } else {
                is_apart = start > last.end + SPACE * em || start < last.end - BACK * em;
            }
        }
        self.begins = false;
        self.line.push(Sign { text: text.to_owned(), way, start, end, across, em, height, is_apart });
        Ok(())
    }

    fn begin_word(&mut self) -> Result<(), OutputError> {
        self.begins = true;
        Ok(())
    }

    fn end_word(&mut self) -> Result<(), OutputError> {
        Ok(())
    }

    fn end_line(&mut self) -> Result<(), OutputError> {
        Ok(())
    }
}

/// The direction of a sign (Unicode's Annex 9, in outline).
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A letter of a script that is written from right to left.
    Leftward,
    /// Any other letter.
    Rightward,
    Number,
    /// It goes with those around it.
    Neutral,
}

fn kind(text: &str) -> Kind {
    let kind = |c: char| match c {
        _ if c.is_numeric() => Kind::Number,
        _ if !c.is_alphabetic() => Kind::Neutral,
        '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{feff}' => Kind::Leftward,
        '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}' => Kind::Leftward,
        _ => Kind::Rightward,
    };
    text.chars().map(kind).find(|kind| *kind != Kind::Neutral).unwrap_or(Kind::Neutral)
}

/// Puts signs in the order in which they stand: programs draw letters that are read from right to left in either order.
fn by_place(line: &mut [Sign]) {
    // A mark ends above its letter, and is read behind it.
    line.sort_by(|a, b| a.end.total_cmp(&b.end));
    let mut end = f64::INFINITY;
    for sign in line {
        sign.is_apart = sign.start > end + SPACE * sign.em;
        end = if end.is_finite() { end.max(sign.end) } else { sign.end };
    }
}

/// What stands from left to right, in the order of reading (rule L2 of the Annex, backwards).
fn as_read<'a>(parts: &[&'a str]) -> Vec<&'a str> {
    let mut kinds: Vec<Kind> = parts.iter().map(|part| kind(part)).collect();
    let count = |wanted| kinds.iter().filter(|kind| **kind == wanted).count();
    let is_mostly_leftward = count(Kind::Leftward) >= count(Kind::Rightward);
    let of_line = if is_mostly_leftward { Kind::Leftward } else { Kind::Rightward };
    // What stands between the digits of a number belongs to it.
    for (n, part) in parts.iter().enumerate().take(parts.len().saturating_sub(1)).skip(1) {
        let is_between = kinds[n - 1] == Kind::Number && kinds[n + 1] == Kind::Number;
        if is_between && *part != " " {
            kinds[n] = Kind::Number;
        }
    }
    // What has no direction takes that of both its neighbours, or that of the line.
    let level = |kind: Kind, way: Kind| match (kind, way) {
        (Kind::Number, Kind::Leftward) => 2,
        (_, Kind::Leftward) => 1,
        _ => {
            if is_mostly_leftward {
                2
            } else {
                0
            }
        }
    };
    let is_letter = |kind: &Kind| matches!(kind, Kind::Leftward | Kind::Rightward);
    let (mut levels, mut before) = (Vec::with_capacity(kinds.len()), of_line);
    while levels.len() < kinds.len() {
        let rest = &kinds[levels.len()..];
        let end = rest.iter().position(is_letter).unwrap_or(rest.len());
        let after = rest.get(end).copied().unwrap_or(of_line);
        let way = if before == after { after } else { of_line };
        levels.extend(rest[..end].iter().map(|kind| level(*kind, way)));
        levels.extend(rest.get(end).map(|kind| level(*kind, *kind)));
        before = after;
    }
    let mut read: Vec<(u8, &str)> = levels.into_iter().zip(parts.iter().copied()).collect();
    for least in [2, 1] {
        for run in read.chunk_by_mut(|a, b| (a.0 >= least) == (b.0 >= least)) {
            if run[0].0 >= least {
                run.reverse();
            }
        }
    }
    read.into_iter().map(|(_, part)| part).collect()
}
