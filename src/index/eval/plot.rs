//! Plots as inline SVG: no script, no font, no address of anything elsewhere.

use maud::{Markup, html};

use super::stats::Interval;

/// Text without characters that XML forbids, and without those that turn the reading direction around.
pub(super) fn clean(text: &str) -> String {
    let clean = |c: char| match c {
        '\n' | '\t' => c,
        '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' | '\u{FFFE}' | '\u{FFFF}' => '\u{FFFD}',
        c if c.is_control() => '\u{FFFD}',
        c => c,
    };
    text.chars().map(clean).collect()
}

/// One bar: what it is called, its class for the colour, and how long it is.
pub(super) struct Bar<'a> {
    pub(super) name: String,
    pub(super) class: &'a str,
    pub(super) value: Interval,
}

/// Units of the drawing; the page scales it.
const WIDTH: f64 = 680.0;
const ROW: f64 = 22.0;
const LABELS: f64 = 150.0;
const FIGURES: f64 = 130.0;

/// A place in the drawing.
fn at(units: f64) -> String {
    format!("{units:.1}")
}

/// Horizontal bars on a scale of 0 to 1, with intervals as whiskers where they have any width.
pub(super) fn bars(title: &str, bars: &[Bar<'_>]) -> Markup {
    let height = ROW * bars.len() as f64 + 26.0;
    let ticks = (0..=5).map(|tick| f64::from(tick) / 5.0);
    let drawn = html! {
        @for tick in ticks {
            line class="grid" x1=(at(x(tick))) y1="0" x2=(at(x(tick))) y2=(at(height - 20.0)) {}
            text class="tick" x=(at(x(tick))) y=(at(height - 6.0)) text-anchor="middle" { (at(tick)) }
        }
        @for (i, bar) in bars.iter().enumerate() { (drawn(bar, ROW * i as f64)) }
    };
    framed(title, height, &drawn)
}

/// Where a value lies.
fn x(value: f64) -> f64 {
    LABELS + (WIDTH - LABELS - FIGURES) * value.clamp(0.0, 1.0)
}

fn drawn(bar: &Bar<'_>, top: f64) -> Markup {
    let middle = top + ROW / 2.0;
    let Interval { mean, low, high } = bar.value;
    let is_sure = high <= low;
    let figures = if is_sure { format!("{mean:.3}") } else { format!("{mean:.3} ({low:.3}–{high:.3})") };
    let whisker = format!(
        "M{0:.1} {2:.1}H{1:.1}M{0:.1} {3:.1}V{4:.1}M{1:.1} {3:.1}V{4:.1}",
        x(low),
        x(high),
        middle,
        middle - 4.0,
        middle + 4.0
    );
    html! {
        text x=(at(LABELS - 8.0)) y=(at(middle + 4.0)) text-anchor="end" { (clean(&bar.name)) }
        rect class=(clean(bar.class)) x=(at(LABELS)) y=(at(top + 3.0)) width=(at(x(mean) - LABELS)) height=(at(ROW - 6.0)) {}
        @if !is_sure { path class="whisker" d=(whisker) {} }
        text class="figure" x=(at(WIDTH - FIGURES + 8.0)) y=(at(middle + 4.0)) { (figures) }
    }
}

/// Upright columns with their counts above and their names below.
pub(super) fn columns(title: &str, names: &[&str], counts: &[usize], class: &str) -> Markup {
    const HEIGHT: f64 = 150.0;
    let most = counts.iter().copied().max().unwrap_or(0).max(1) as f64;
    let step = WIDTH / names.len().max(1) as f64;
    let place = |i: usize, count: usize| (step * (i as f64 + 0.5), (HEIGHT - 44.0) * count as f64 / most);
    let drawn = html! {
        @for (i, (name, count)) in names.iter().zip(counts).enumerate() {
            @let (middle, tall) = place(i, *count);
            @let top = HEIGHT - 22.0 - tall;
            rect class=(clean(class)) x=(at(middle - step * 0.35)) y=(at(top)) width=(at(step * 0.7)) height=(at(tall)) {}
            text x=(at(middle)) y=(at(top - 5.0)) text-anchor="middle" { (count) }
            text class="tick" x=(at(middle)) y=(at(HEIGHT - 6.0)) text-anchor="middle" { (clean(name)) }
        }
    };
    framed(title, HEIGHT, &drawn)
}

fn framed(title: &str, height: f64, drawn: &Markup) -> Markup {
    let title = clean(title);
    html! {
        svg viewBox={ "0 0 " (format!("{WIDTH:.0}")) " " (format!("{height:.0}")) } role="img" aria-label=(title) {
            title { (title) }
            (drawn)
        }
    }
}

#[cfg(test)]
mod tests;
