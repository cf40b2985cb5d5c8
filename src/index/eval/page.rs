//! The page that shows a report: one file, nothing in it comes from elsewhere.

use std::fmt::Write as _;

use super::QueryMeasures;
use super::plot::{Bar, bars, columns, escaped};
use super::report::{Comparison, ENOUGH, RANKS, Report, System};
use super::set::Missing;
use super::stats::{Interval, PERMUTATIONS, RESAMPLES};

const STYLE: &str = "
:root{color-scheme:light dark;--ink:#1d2129;--paper:#fff;--soft:#667;--line:#d5d8de;--lexical:#c28b2c;--dense:#4a78b5;--hybrid:#3d8f6a}
@media(prefers-color-scheme:dark){:root{--ink:#e4e6ea;--paper:#16181d;--soft:#99a;--line:#363a44;--lexical:#d9a64e;--dense:#7aa5dd;--hybrid:#63bd93}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:60rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2.2rem}h3{font-size:1rem;margin-bottom:.3rem}
table{border-collapse:collapse;font-size:.9rem}th,td{padding:.2rem .7rem .2rem 0;text-align:right;border-bottom:1px solid var(--line);font-variant-numeric:tabular-nums}
th:first-child,td:first-child,td.text,th.text{text-align:left;overflow-wrap:anywhere}
small,.soft,caption{color:var(--soft)}
div.wide{overflow-x:auto}
svg{width:100%;max-width:46rem;height:auto;display:block;margin:.4rem 0 1rem;font:12px system-ui,sans-serif}
svg text{fill:var(--ink)}svg .tick{fill:var(--soft);font-size:11px}svg .figure{font-size:11px}
svg .grid{stroke:var(--line)}svg .whisker{stroke:var(--ink);fill:none;stroke-width:1.3}
svg .lexical{fill:var(--lexical)}svg .dense{fill:var(--dense)}svg .hybrid{fill:var(--hybrid)}
";

/// The report as one HTML page: plots, tables, the worst queries, and how it was measured.
pub fn page(report: &Report) -> String {
    let mut out = String::with_capacity(64 << 10);
    let name = escaped(&report.name);
    let _ = write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\"/>\
         <title>How well {name} is found</title><style>{STYLE}</style></head><body>\n<h1>How well {name} is found</h1>\n\
         <p class=\"soft\">{} notes in {} chunks, {} queries, {}. situated {}, {}.</p>\n",
        report.notes,
        report.chunks,
        report.queries,
        escaped(&report.date),
        escaped(&report.version),
        escaped(&report.embedder)
    );
    if let Some(comparison) = &report.comparison {
        compared(comparison, &mut out);
    }
    judged(report, &mut out);
    if !report.systems.is_empty() {
        measures(&report.systems, &mut out);
        ranks(report, &mut out);
        kinds(report, &mut out);
    }
    misses(report, &mut out);
    method(report, &mut out);
    out.push_str("</body></html>\n");
    out
}

/// Which system is the best, if the queries can tell.
fn judged(report: &Report, out: &mut String) {
    if report.too_few() {
        let _ = writeln!(
            out,
            "<p><strong>Too few to tell.</strong> {} queries cannot say which way of searching is the better one; {ENOUGH} \
             or more can.</p>",
            report.queries
        );
    }
    let Some(best) = &report.best else { return };
    let _ = write!(out, "<p>Best by nDCG@10: <strong>{}</strong>", escaped(&best.system));
    let alike: Vec<String> = best.alike.iter().map(|name| escaped(name)).collect();
    let _ = match &alike[..] {
        [] => writeln!(out, "; every other is surely worse.</p>"),
        alike => writeln!(
            out,
            "; not to be told from it (the interval of the difference holds 0): {}.</p>",
            alike.join("; ")
        ),
    };
}

fn measures(systems: &[System], out: &mut String) {
    out.push_str("<h2>Systems</h2>\n");
    for name in QueryMeasures::NAMES {
        let list: Vec<Bar<'_>> = systems.iter().map(|system| bar(system, system.measure(name))).collect();
        let _ = write!(out, "<h3>{name}</h3>\n{}\n", bars(name, &list));
    }
    out.push_str("<div class=\"wide\"><table><tr><th>System</th>");
    for name in QueryMeasures::NAMES {
        let _ = write!(out, "<th>{name}</th>");
    }
    out.push_str("<th>ms</th></tr>\n");
    for system in systems {
        let _ = write!(out, "<tr><td>{}</td>", escaped(&system.name()));
        for name in QueryMeasures::NAMES {
            let _ = write!(out, "<td>{}</td>", sure(system.measure(name)));
        }
        let _ = writeln!(out, "<td>{:.2}</td></tr>", system.p50_ms);
    }
    out.push_str("</table></div>\n");
}

fn bar(system: &System, value: Interval) -> Bar<'_> {
    Bar { name: system.name(), class: &system.lane, value }
}

fn sure(Interval { mean, low, high }: Interval) -> String {
    format!("{mean:.3} <small>{low:.3}–{high:.3}</small>")
}

/// The best system of each lane, by nDCG; the last of each where the queries are too few to tell.
fn one_of_each_lane(report: &Report) -> Vec<&System> {
    let mut shown: Vec<&System> = Vec::new();
    for system in &report.systems {
        let ndcg = |system: &System| system.measure("nDCG@10").mean;
        match shown.iter_mut().find(|other| other.lane == system.lane) {
            Some(other) if !report.too_few() && ndcg(other) >= ndcg(system) => {}
            Some(other) => *other = system,
            None => shown.push(system),
        }
    }
    shown
}

fn ranks(report: &Report, out: &mut String) {
    out.push_str(
        "<h2>Where the answer stood</h2>\n<p class=\"soft\">Queries by the rank of the first relevant one.</p>\n",
    );
    for system in one_of_each_lane(report) {
        let name = system.name();
        let _ = write!(out, "<h3>{}</h3>\n{}\n", escaped(&name), columns(&name, &RANKS, &system.ranks, &system.lane));
    }
}

fn kinds(report: &Report, out: &mut String) {
    let Some(first) = report.systems.first().filter(|system| system.kinds.len() > 1) else { return };
    out.push_str("<h2>By kind of query</h2>\n");
    for (kind, (queries, _)) in &first.kinds {
        let label = if kind.is_empty() { "other" } else { kind };
        let of_kind = |system: &&'_ System| system.kinds.get(kind).map(|(_, measures)| measures.ndcg_10);
        let list: Vec<Bar<'_>> = one_of_each_lane(report)
            .into_iter()
            .filter_map(|system| of_kind(&system).map(|mean| bar(system, Interval { mean, low: mean, high: mean })))
            .collect();
        let title = format!("{label}: nDCG@10 of {queries} queries");
        let _ = write!(out, "<h3>{}</h3>\n{}\n", escaped(&title), bars(&title, &list));
    }
}

fn compared(comparison: &Comparison, out: &mut String) {
    let (a, b) = (escaped(&comparison.a), escaped(&comparison.b));
    let _ = write!(
        out,
        "<h2>{b} against {a}</h2>\n<div class=\"wide\"><table><tr><th>Measure</th><th>{a}</th><th>{b}</th>\
         <th>Difference</th><th>p</th><th>Better</th><th>Worse</th><th>Alike</th></tr>\n"
    );
    for name in QueryMeasures::NAMES {
        let Some((of_a, of_b, paired)) = comparison.measures.get(name) else { continue };
        let Interval { mean, low, high } = paired.difference;
        let _ = writeln!(
            out,
            "<tr><td>{name}</td><td>{}</td><td>{}</td><td>{mean:+.3} <small>{low:+.3} to {high:+.3}</small></td>\
             <td>{:.4}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            sure(*of_a),
            sure(*of_b),
            paired.p,
            paired.wins,
            paired.losses,
            paired.ties
        );
    }
    out.push_str("</table></div>\n");
}

fn misses(report: &Report, out: &mut String) {
    if report.misses.is_empty() {
        return;
    }
    out.push_str(
        "<h2>What was missed</h2>\n<p class=\"soft\">Queries that no system answered among the first 20. \
         <code>situated search --explain --expect NOTE</code> says why.</p>\n<div class=\"wide\"><table>\
         <tr><th class=\"text\">Query</th><th class=\"text\">Kind</th><th class=\"text\">Expected</th><th>Best rank</th></tr>\n",
    );
    for miss in &report.misses {
        let best = miss.best.map_or("none".to_owned(), |best| best.to_string());
        let _ = writeln!(
            out,
            "<tr><td class=\"text\">{}</td><td class=\"text\">{}</td><td class=\"text\">{}</td><td>{best}</td></tr>",
            escaped(&miss.query),
            escaped(&miss.kind),
            escaped(&miss.expected.join(", "))
        );
    }
    out.push_str("</table></div>\n");
}

/// What the set names and is not there.
fn absent(report: &Report, out: &mut String) {
    if report.missing.is_empty() {
        return;
    }
    let name = |missing: &Missing| format!("{} ({})", escaped(&missing.id), missing.queries);
    let names: Vec<String> = report.missing.iter().map(name).collect();
    let _ = writeln!(
        out,
        "<p>{} queries were left out, for nothing that is relevant to them is there. Documents that are not there, and \
         how many queries they are relevant to: {}.</p>",
        report.unanswerable,
        names.join(", ")
    );
}

fn method(report: &Report, out: &mut String) {
    out.push_str("<h2>How it was measured</h2>\n");
    if report.source == "vault" {
        out.push_str(
            "<p>The queries were made from the vault, without a model: texts of links that say more than the names of their \
             target, aliases, descriptions, first sentences of notes, and those of sections where the others were too few \
             to tell. Each was hidden where it stood (in an index of its own; the vault was \
             not touched), and the one note that it means counts as the answer. Texts that mean two notes, or say \
             too little, were left out. Other notes may answer as well, so the figures are a lower bound: compare \
             systems by them, not vaults.</p>\n",
        );
        for (kind, (found, drawn)) in &report.kinds {
            let _ =
                writeln!(out, "<p class=\"soft\">{}: {drawn} queries of {found} that there were.</p>", escaped(kind));
        }
    } else {
        out.push_str("<p>Queries and judgements are those of the set.</p>\n");
        absent(report, out);
    }
    if report.written > 0 {
        let _ = writeln!(
            out,
            "<p>Contexts of {} chunks were written by a model; those that repeat a hidden text were left out.</p>",
            report.written
        );
    }
    if report.lost > 0 {
        let _ = writeln!(out, "<p>{} files or documents were left out.</p>", report.lost);
    }
    let _ = writeln!(
        out,
        "<p>Recall counts what is relevant among the first 5 and 20, MRR takes one over the rank of the first \
         relevant one, nDCG has linear gains; each is a mean over queries. Intervals hold 95 % of {RESAMPLES} \
         resamples of the queries (percentile bootstrap). Boosts are the configuration's, for links, age and kind \
         of notes. Two configurations are compared query by query: p is \
         that of the two-sided randomisation test ({PERMUTATIONS} exchanges). Seed {}. It took {:.1} s.</p>",
        report.seed, report.took_s
    );
}

#[cfg(test)]
mod tests;
