//! Plots as inline SVG, written by hand: no script, no font, no address of anything elsewhere.

use std::fmt::Write as _;

use super::stats::Interval;

/// Text that stands in HTML or SVG, also within quotes.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // What no XML may hold, and what turns text around.
            c if c.is_control() && c != '\n' && c != '\t' => out.push('\u{FFFD}'),
            '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' | '\u{FFFE}' | '\u{FFFF}' => out.push('\u{FFFD}'),
            c => out.push(c),
        }
    }
    out
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

/// Horizontal bars on a scale of 0 to 1, with intervals as whiskers where they have any width.
pub(super) fn bars(title: &str, bars: &[Bar<'_>]) -> String {
    let room = WIDTH - LABELS - FIGURES;
    let x = |value: f64| LABELS + room * value.clamp(0.0, 1.0);
    let height = ROW * bars.len() as f64 + 26.0;
    let mut svg = opened(title, height);
    for tick in 0..=5 {
        let at = f64::from(tick) / 5.0;
        let _ = write!(
            svg,
            "<line class=\"grid\" x1=\"{0:.1}\" y1=\"0\" x2=\"{0:.1}\" y2=\"{1:.1}\"/>\
             <text class=\"tick\" x=\"{0:.1}\" y=\"{2:.1}\" text-anchor=\"middle\">{at:.1}</text>",
            x(at),
            height - 20.0,
            height - 6.0
        );
    }
    for (i, bar) in bars.iter().enumerate() {
        let (top, middle) = (ROW * i as f64 + 3.0, ROW * i as f64 + ROW / 2.0);
        let Interval { mean, low, high } = bar.value;
        let _ = write!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\
             <rect class=\"{}\" x=\"{LABELS:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\"/>",
            LABELS - 8.0,
            middle + 4.0,
            escaped(&bar.name),
            escaped(bar.class),
            x(mean) - LABELS,
            ROW - 6.0
        );
        let mut figures = format!("{mean:.3}");
        if high > low {
            let _ = write!(
                svg,
                "<path class=\"whisker\" d=\"M{0:.1} {2:.1}H{1:.1}M{0:.1} {3:.1}V{4:.1}M{1:.1} {3:.1}V{4:.1}\"/>",
                x(low),
                x(high),
                middle,
                middle - 4.0,
                middle + 4.0
            );
            let _ = write!(figures, " ({low:.3}–{high:.3})");
        }
        let _ = write!(
            svg,
            "<text class=\"figure\" x=\"{:.1}\" y=\"{:.1}\">{figures}</text>",
            WIDTH - FIGURES + 8.0,
            middle + 4.0
        );
    }
    svg.push_str("</svg>");
    svg
}

/// Upright columns with their counts above and their names below.
pub(super) fn columns(title: &str, names: &[&str], counts: &[usize], class: &str) -> String {
    const HEIGHT: f64 = 150.0;
    let most = counts.iter().copied().max().unwrap_or(0).max(1) as f64;
    let step = WIDTH / names.len().max(1) as f64;
    let mut svg = opened(title, HEIGHT);
    for (i, (name, count)) in names.iter().zip(counts).enumerate() {
        let (middle, tall) = (step * (i as f64 + 0.5), (HEIGHT - 44.0) * *count as f64 / most);
        let top = HEIGHT - 22.0 - tall;
        let _ = write!(
            svg,
            "<rect class=\"{}\" x=\"{:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{tall:.1}\"/>\
             <text x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{count}</text>\
             <text class=\"tick\" x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            escaped(class),
            middle - step * 0.35,
            step * 0.7,
            top - 5.0,
            HEIGHT - 6.0,
            escaped(name)
        );
    }
    svg.push_str("</svg>");
    svg
}

fn opened(title: &str, height: f64) -> String {
    let title = escaped(title);
    format!("<svg viewBox=\"0 0 {WIDTH:.0} {height:.0}\" role=\"img\" aria-label=\"{title}\"><title>{title}</title>")
}

#[cfg(test)]
mod tests;
