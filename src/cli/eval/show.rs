//! The report as tables on a terminal.

use crate::cli::print::{Out, bold, counted, dim, padded};
use crate::cli::session::safe;
use index::eval::QueryMeasures;
use index::eval::report::{Comparison, ENOUGH, Report};
use index::eval::stats::Interval;

/// Columns of a figure: with its interval behind it (`WIDE`), or below it (`NARROW`).
const WIDE: usize = 19;
const NARROW: usize = 11;

/// Prints the whole report.
pub(super) fn show(report: &Report, out: &mut Out) -> std::io::Result<()> {
    let Report { notes, chunks, queries, kinds, .. } = report;
    let asked = kinds.iter().filter(|(_, (_, drawn))| *drawn > 0);
    let kinds: Vec<String> = asked.map(|(kind, (_, drawn))| format!("{kind} {drawn}")).collect();
    let kinds = if kinds.is_empty() { String::new() } else { format!(" ({})", kinds.join(", ")) };
    let chunks = match &report.comparison {
        Some(Comparison { chunks: [a, b], .. }) if a != b => format!("{a} and {}", counted(*b as u64, "chunk")),
        _ => counted(*chunks as u64, "chunk"),
    };
    out.wrapped(
        "",
        &format!(
            "{}: {} in {chunks}, {}{kinds}",
            safe(&report.name),
            counted(*notes as u64, "note"),
            counted(*queries as u64, "query")
        ),
    )?;
    out.line("")?;
    let names: Vec<String> = report.systems.iter().map(|system| safe(&system.name())).collect();
    let column = names.iter().map(|name| super::super::print::columns(name)).max().unwrap_or(0).max(6) + 2;
    let wide = column + 4 * WIDE <= out.width();
    let width = if wide { WIDE } else { NARROW };
    let head: String = QueryMeasures::NAMES.iter().map(|name| padded(name, width)).collect();
    out.line(bold(format!("{}{}", padded("system", column), head.trim_end())))?;
    for (system, name) in report.systems.iter().zip(&names) {
        let cells = |cell: &dyn Fn(Interval) -> String| -> String {
            QueryMeasures::NAMES.iter().map(|name| padded(&cell(system.measure(name)), width)).collect()
        };
        if wide {
            out.line(format!(
                "{}{}",
                padded(name, column),
                cells(&|it| format!("{} ({})", mean(it), ends(it))).trim_end()
            ))?;
        } else {
            out.line(format!("{}{}", padded(name, column), cells(&mean).trim_end()))?;
            out.line(dim(format!("{}{}", padded("", column), cells(&ends).trim_end())))?;
        }
    }
    if let Some(comparison) = &report.comparison {
        out.line("")?;
        compared(comparison, out)?;
    }
    judged(report, out)?;
    for system in report.systems.iter().filter(|system| system.first_order > 0) {
        let late = format!(
            "{}: {} of {queries} queries were not reranked (no answer within rerank.deadline, or no budget) and count in \
             their first order.",
            safe(&system.name()),
            system.first_order
        );
        out.wrapped("", &late)?;
    }
    out.line("")?;
    let place = if wide { "In brackets" } else { "Below each figure" };
    let lost = if report.lost > 0 {
        format!(" {} left out.", counted(report.lost as u64, "file or document"))
    } else {
        String::new()
    };
    let what = "off: without contexts; template: with the free ones; model: with those that a model wrote; boosts: links, \
                age and kind of notes count too";
    let what = if report.comparison.is_some() { String::new() } else { format!(" {what}.") };
    let took = report.took_s;
    out.wrapped(
        "",
        &dim(format!("{place}: where the mean lies with 95 % confidence.{what}{lost} It took {took:.1} s.")),
    )
}

fn mean(Interval { mean, .. }: Interval) -> String {
    format!("{mean:.3}")
}

fn ends(Interval { low, high, .. }: Interval) -> String {
    // Sums of fractions miss 0 by a little, on either side.
    let plain = |end: f64| if end.abs() < 0.005 { 0.0 } else { end };
    format!("{:.2}–{:.2}", plain(low), plain(high))
}

/// Which system is the best, if the queries can tell, and how it did with each kind of them.
fn judged(report: &Report, out: &mut Out) -> std::io::Result<()> {
    if report.too_few() {
        let few = format!(
            "Too few to tell: {} cannot say which way of searching is the better one; {ENOUGH} or more can.",
            counted(report.queries as u64, "query")
        );
        out.line("")?;
        return out.wrapped("", &bold(few));
    }
    let Some(best) = &report.best else { return Ok(()) };
    let alike: Vec<String> = best.alike.iter().map(|name| format!("“{}”", safe(name))).collect();
    let alike = match &alike[..] {
        [] => "every other is surely worse".to_owned(),
        alike => format!("not to be told from it: {}", alike.join(", ")),
    };
    out.line("")?;
    out.wrapped("", &format!("Best by nDCG@10: “{}”; {alike}.", safe(&best.system)))?;
    let Some(system) = report.systems.iter().find(|system| system.name() == best.system) else { return Ok(()) };
    if system.kinds.len() > 1 {
        let of_kind = |(kind, (_, measures)): (&String, &(usize, QueryMeasures))| {
            format!("{} {:.3}", safe(if kind.is_empty() { "other" } else { kind }), measures.ndcg_10)
        };
        let kinds: Vec<String> = system.kinds.iter().map(of_kind).collect();
        out.wrapped("", &format!("Its nDCG@10 by kind: {}", kinds.join(", ")))?;
    }
    Ok(())
}

/// A line for each measure, and what to make of it.
fn compared(comparison: &Comparison, out: &mut Out) -> std::io::Result<()> {
    let (a, b) = (safe(&comparison.a), safe(&comparison.b));
    out.wrapped("", &bold(format!("{b} against {a}")))?;
    for name in QueryMeasures::NAMES {
        let Some((_, _, paired)) = comparison.measures.get(name) else { continue };
        let Interval { mean, low, high } = paired.difference;
        let sure = if paired.p < 0.05 { "" } else { ": may well be chance" };
        out.wrapped(
            "  ",
            &format!(
                "{} {mean:+.3} ({low:+.3} to {high:+.3}), p {:.4}, {} better, {} worse, {} alike{sure}",
                padded(name, 10),
                paired.p,
                paired.wins,
                paired.losses,
                paired.ties
            ),
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
