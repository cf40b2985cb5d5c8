//! `situated stats`: the state of the contexts, and the outcomes of asking models for them.

use super::args::OnlyVault;
use super::money::outcome;
use super::print::{Out, bold, counted, dim, grouped, millis};
use super::session::{CliFailure, Session, safe};
use context::cost::dollars;
use protocol::contexts::{Stats, StatsRequest};

/// `situated stats`.
pub(super) fn run(args: &OnlyVault, session: &mut Session) -> Result<u8, CliFailure> {
    let request = StatsRequest { vault: args.name(), ..StatsRequest::default() };
    session.show(session.client()?.ask(&request)?, print)
}

fn print(stats: &Stats, out: &mut Out) -> std::io::Result<()> {
    let status = match stats.status.as_str() {
        "idle" => "nothing to do",
        "running" if stats.elapsed_s.is_some() => "contexts are being written",
        // A note has to be quiet for a while before it is asked about.
        "running" => "contexts wait for the model, or are being written",
        "paused" => "paused; `situated resume` lets it go on",
        "held" => "nothing is asked at present; `situated status` says why",
        other => other,
    };
    out.line(bold(safe(status)))?;
    let mut row = |name: &str, value: String| out.row("", name, 16, &value);
    row("chunks", grouped(stats.total))?;
    row("up to date", format!("{} ({:.1} %)", grouped(stats.processed), stats.percentage))?;
    if stats.failed > 0 {
        row("given up", format!("{}; the free context serves", counted(stats.failed, "chunk")))?;
    }
    if let Some(elapsed) = stats.elapsed_s {
        let left = stats.remaining_s.map_or(String::new(), |s| format!(", about {} to go", millis(s * 1000.0)));
        row("rebuild", format!("for {}{left}", millis(elapsed * 1000.0)))?;
    }
    let written_by = format!("{} {}", safe(&stats.provider), safe(&stats.model));
    row("written by", written_by.trim_end().to_owned())?;
    if stats.contextualized > 0 {
        row("by a model", grouped(stats.contextualized))?;
        row(
            "on average",
            format!("{:.0} characters, quality {:.2}", stats.average_context_length, stats.average_quality),
        )?;
        row("tokens", grouped(stats.tokens))?;
        row("cost", cost(stats))?;
    }
    if !stats.outcomes.is_empty() {
        out.line("")?;
        out.line(dim("Since the daemon started"))?;
        for (name, count) in &stats.outcomes {
            out.row("  ", &grouped(*count), 8, &outcome(name))?;
        }
    }
    Ok(())
}

/// What the stored contexts have cost.
fn cost(stats: &Stats) -> String {
    let unpriced = counted(stats.unpriced, "context");
    match (stats.micro_dollars, stats.unpriced) {
        (0, 0) => "free".to_owned(),
        (micro, 0) => dollars(micro),
        (0, _) => format!("price unknown ({unpriced})"),
        (micro, _) => format!("{}, and {unpriced} of unknown price", dollars(micro)),
    }
}

#[cfg(test)]
mod tests;
