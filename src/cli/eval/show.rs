//! The report as tables on a terminal.

use crate::cli::print::{Out, bold, counted, dim, padded};
use crate::cli::session::safe;
use index::eval::QueryMeasures;
use index::eval::report::{Comparison, Report, System};
use index::eval::stats::Interval;

/// Columns of a figure with its interval, and without.
const WIDE: usize = 19;
const NARROW: usize = 11;

/// Prints all of it.
pub(super) fn show(report: &Report, out: &mut Out) -> std::io::Result<()> {
    let Report { notes, chunks, queries, kinds, .. } = report;
    let kinds: Vec<String> = kinds.iter().map(|(kind, (_, drawn))| format!("{kind} {drawn}")).collect();
    let kinds = if kinds.is_empty() { String::new() } else { format!(" ({})", kinds.join(", ")) };
    out.wrapped(
        "",
        &format!(
            "{}: {} in {}, {}{kinds}",
            safe(&report.name),
            counted(*notes as u64, "note"),
            counted(*chunks as u64, "chunk"),
            if *queries == 1 { "1 query".to_owned() } else { format!("{queries} queries") }
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
        let cells: String =
            QueryMeasures::NAMES.iter().map(|name| padded(&cell(system.measure(name), wide), width)).collect();
        out.line(format!("{}{}", padded(name, column), cells.trim_end()))?;
    }
    if let Some(comparison) = &report.comparison {
        out.line("")?;
        compared(comparison, out)?;
    } else if let Some(best) = best(&report.systems).filter(|best| best.kinds.len() > 1) {
        let of_kind = |(kind, (_, measures)): (&String, &(usize, QueryMeasures))| {
            format!("{} {:.3}", safe(if kind.is_empty() { "other" } else { kind }), measures.ndcg_10)
        };
        let kinds: Vec<String> = best.kinds.iter().map(of_kind).collect();
        out.line("")?;
        out.wrapped("", &format!("nDCG@10 of {} by kind: {}", safe(&best.name()), kinds.join(", ")))?;
    }
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
    let brackets = if wide {
        "In brackets: where the mean lies with 95 % confidence."
    } else {
        "A wider terminal, --json and --html tell the intervals."
    };
    let lost = if report.lost > 0 {
        format!(" {} left out.", counted(report.lost as u64, "file or document"))
    } else {
        String::new()
    };
    out.wrapped("", &dim(format!("{brackets}{lost} It took {:.1} s.", report.took_s)))
}

fn cell(Interval { mean, low, high }: Interval, wide: bool) -> String {
    if wide { format!("{mean:.3} ({low:.2}–{high:.2})") } else { format!("{mean:.3}") }
}

fn best(systems: &[System]) -> Option<&System> {
    systems.iter().max_by(|a, b| a.measure("nDCG@10").mean.total_cmp(&b.measure("nDCG@10").mean))
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
