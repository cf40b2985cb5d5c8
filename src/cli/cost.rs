//! `situated cost`: what models have cost, on one screen.

use super::money::{spent, tokens};
use super::print::{Out, bold, columns, counted, cut_front, dim, grouped, padded};
use super::session::{CliFailure, Session, safe};
use context::cost::dollars;
use protocol::cost::{CostReport, Sums, TeamSaving};
use protocol::daemon::CostRequest;

/// Most rows of each list; `--json` has everything that the daemon reports.
const SHOWN: usize = 5;

/// Columns of a row's label.
const LABEL: usize = 34;

/// `situated cost`.
pub(super) fn run(session: &mut Session) -> Result<u8, CliFailure> {
    session.show(session.client()?.ask(&CostRequest {})?, print)
}

fn print(report: &CostReport, out: &mut Out) -> std::io::Result<()> {
    for (name, sums) in
        [("Today", &report.today), ("This month", &report.this_month), ("Last month", &report.last_month)]
    {
        print_sums(name, sums, out)?;
    }
    let purposes = report.by_purpose.iter().map(|row| (purpose(&row.purpose), &row.sums));
    print_list("This month on behalf of", purposes, 0, out)?;
    let reasons = report.by_reason.iter().map(|row| (safe(&row.reason), &row.sums));
    print_list("This month by reason", reasons, 0, out)?;
    let models = report.by_model.iter().map(|row| (format!("{} {}", safe(&row.provider), safe(&row.model)), &row.sums));
    print_list("This month by model", models, 0, out)?;
    let several = report.by_note.iter().any(|row| row.vault != report.by_note[0].vault);
    let note = |vault: &str, path: &str| match path {
        "" => "(no note of a vault)".to_owned(),
        path if several => format!("{}: {}", safe(vault), safe(path)),
        path => safe(path),
    };
    let notes = report.by_note.iter().map(|row| (note(&row.vault, &row.path), &row.sums));
    print_list("This month by note", notes, report.note_count, out)?;
    if !report.by_team.is_empty() {
        out.line("")?;
        out.line(dim("This month not bought, for a team had it"))?;
        for saving in &report.by_team {
            let label = padded(&cut_front(&safe(&saving.team), LABEL), LABEL.min(out.width() / 2));
            out.line(format!("  {label}  {}", saved(saving)))?;
        }
    }
    if report.damaged_lines > 0 {
        let lines = counted(report.damaged_lines, "line");
        out.line("")?;
        out.wrapped("", &format!("{lines} of the ledger cannot be read; what they said is in no sum"))?;
    }
    Ok(())
}

/// Prints the sums of one period.
fn print_sums(name: &str, sums: &Sums, out: &mut Out) -> std::io::Result<()> {
    out.line(format!("{}{}", padded(name, 12), bold(spent(sums))))?;
    if sums.calls == 0 {
        return Ok(());
    }
    let margin = "    ";
    let work = format!(
        "{}, {}; {}",
        counted(sums.calls, "call"),
        counted(sums.contexts, "context"),
        tokens(sums.tokens_in, sums.tokens_cached, sums.tokens_out)
    );
    out.wrapped(margin, &work)?;
    if sums.unsettled_calls > 0 {
        let reserved = match sums.unsettled_micro_dollars {
            0 => String::new(),
            micro => format!(" ({} at most)", dollars(micro)),
        };
        let calls = counted(sums.unsettled_calls, "call");
        out.wrapped(margin, &format!("of that reserved: {calls} without an answer yet{reserved}"))?;
    }
    if sums.failed > 0 {
        out.wrapped(margin, &format!("of that in vain: {}", counted(sums.failed, "call")))?;
    }
    if sums.estimated_calls > 0 {
        let calls = counted(sums.estimated_calls, "call");
        out.wrapped(margin, &format!("of that estimated: {calls} whose tokens the provider did not tell"))?;
    }
    Ok(())
}

/// What a team saved; the money is an estimate.
pub(super) fn saved(saving: &TeamSaving) -> String {
    let TeamSaving { contexts, calls, micro_dollars, .. } = saving;
    let money = if *micro_dollars > 0 { format!("about {}, ", dollars(*micro_dollars)) } else { String::new() };
    format!("{money}{}, {}", counted(*calls, "call"), counted(*contexts, "context"))
}

/// Prints the first of the rows; `total` says how many there are if the daemon reports only the dearest.
fn print_list<'a>(
    title: &str,
    rows: impl ExactSizeIterator<Item = (String, &'a Sums)>,
    total: u64,
    out: &mut Out,
) -> std::io::Result<()> {
    let reported = rows.len() as u64;
    let total = total.max(reported);
    let more = total.saturating_sub(SHOWN as u64);
    if rows.len() == 0 {
        return Ok(());
    }
    out.line("")?;
    out.line(dim(title))?;
    let room = LABEL.min(out.width() / 2);
    for (label, sums) in rows.take(SHOWN) {
        let label = padded(&cut_front(&label, room), room);
        let money = spent(sums);
        let calls = format!("{}, {}", counted(sums.calls, "call"), counted(sums.contexts, "context"));
        let whole = format!("  {label}  {}  {calls}", padded(&money, 10));
        // The money matters most: a narrow terminal shows nothing else.
        let fits = columns(&whole) <= out.width();
        out.line(if fits {
            format!("  {label}  {}  {}", padded(&money, 10), dim(calls))
        } else {
            format!("  {label}  {money}")
        })?;
    }
    if more > 0 {
        let listed = if reported < total { format!("the {reported} dearest") } else { "them".to_owned() };
        out.line(dim(format!("  and {} more; --json lists {listed}", grouped(more))))?;
    }
    Ok(())
}

/// What the calls were for, in words.
fn purpose(name: &str) -> String {
    let words = match name {
        "change" => "notes that changed",
        "sync" => "the look after stale contexts",
        "rebuild" => "rebuilds",
        "asked" => "contexts that were asked for",
        "probe" => "`situated doctor`, and how long an embedder's vectors are",
        "rerank" => "the order of searches",
        "ask" => "questions",
        "expand" => "other words for queries",
        "query" => "vectors of queries",
        other => return safe(other),
    };
    words.to_owned()
}

#[cfg(test)]
mod tests;
