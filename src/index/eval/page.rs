//! The page that shows a report: one file that loads nothing from elsewhere.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::QueryMeasures;
use super::plot::{Bar, bars, clean, columns};
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
    let name = clean(&report.name);
    let chunks = match &report.comparison {
        Some(Comparison { chunks: [a, b], .. }) if a != b => format!("{a} and {}", counted(*b, "chunk")),
        _ => counted(report.chunks, "chunk"),
    };
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'";
                title { "How well " (name) " is found" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { "How well " (name) " is found" }
                p class="soft" {
                    (counted(report.notes, "note")) " in " (chunks) ", " (counted_queries(report.queries)) ", "
                    (clean(&report.date)) ". situated "
                    (clean(&report.version)) ", " (clean(&report.embedder)) "."
                }
                @if let Some(comparison) = &report.comparison { (compared(comparison)) }
                (judged(report))
                @if !report.systems.is_empty() {
                    (measures(&report.systems))
                    (ranks(report))
                    (kinds(report))
                }
                (misses(report))
                (method(report))
            }
        }
    };
    page.into_string()
}

/// `1 chunk`, `7 chunks`.
fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn counted_queries(queries: usize) -> String {
    format!("{queries} {}", if queries == 1 { "query" } else { "queries" })
}

/// Which system is the best, if the queries can tell.
fn judged(report: &Report) -> Markup {
    html! {
        @if report.too_few() {
            p {
                strong { "Too few to tell." } " " (counted_queries(report.queries)) " cannot say which way of searching is the better one; "
                (ENOUGH) " or more can."
            }
        }
        @if let Some(best) = &report.best {
            p {
                "Best by nDCG@10: " strong { (clean(&best.system)) }
                @if best.alike.is_empty() {
                    "; every other is surely worse."
                } @else {
                    "; not to be told from it (the interval of the difference holds 0): " (clean(&best.alike.join("; "))) "."
                }
            }
        }
    }
}

fn measures(systems: &[System]) -> Markup {
    let of =
        |name: &str| bars(name, &systems.iter().map(|system| bar(system, system.measure(name))).collect::<Vec<_>>());
    html! {
        h2 { "Systems" }
        @for name in QueryMeasures::NAMES { h3 { (name) } (of(name)) }
        div class="wide" {
            table {
                tr { th { "System" } @for name in QueryMeasures::NAMES { th { (name) } } th { "ms" } }
                @for system in systems {
                    tr {
                        td { (clean(&system.name())) }
                        @for name in QueryMeasures::NAMES { td { (sure(system.measure(name))) } }
                        td { (format!("{:.2}", system.p50_ms)) }
                    }
                }
            }
        }
    }
}

fn bar(system: &System, value: Interval) -> Bar<'_> {
    Bar { name: system.name(), class: &system.lane, value }
}

fn sure(Interval { mean, low, high }: Interval) -> Markup {
    html! { (format!("{mean:.3}")) " " small { (format!("{low:.3}–{high:.3}")) } }
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

fn ranks(report: &Report) -> Markup {
    html! {
        h2 { "Where the answer stood" }
        p class="soft" { "Queries by the rank of the first relevant one." }
        @for system in one_of_each_lane(report) {
            h3 { (clean(&system.name())) }
            (columns(&system.name(), &RANKS, &system.ranks, &system.lane))
        }
    }
}

fn kinds(report: &Report) -> Markup {
    let Some(first) = report.systems.first().filter(|system| system.kinds.len() > 1) else { return Markup::default() };
    let plot = |kind: &String, queries: usize| {
        let of_kind = |system: &&'_ System| system.kinds.get(kind).map(|(_, measures)| measures.ndcg_10);
        let list: Vec<Bar<'_>> = one_of_each_lane(report)
            .into_iter()
            .filter_map(|system| of_kind(&system).map(|mean| bar(system, Interval { mean, low: mean, high: mean })))
            .collect();
        let label = if kind.is_empty() { "other" } else { kind };
        let title = format!("{label}: nDCG@10 of {}", counted_queries(queries));
        html! { h3 { (clean(&title)) } (bars(&title, &list)) }
    };
    html! {
        h2 { "By kind of query" }
        @for (kind, (queries, _)) in &first.kinds { (plot(kind, *queries)) }
    }
}

fn compared(comparison: &Comparison) -> Markup {
    let (a, b) = (clean(&comparison.a), clean(&comparison.b));
    let measured = QueryMeasures::NAMES.iter().filter_map(|name| Some((name, comparison.measures.get(*name)?)));
    let apart = |Interval { mean, low, high }: Interval| {
        html! { (format!("{mean:+.3}")) " " small { (format!("{low:+.3} to {high:+.3}")) } }
    };
    html! {
        h2 { (b) " against " (a) }
        div class="wide" {
            table {
                tr {
                    th { "Measure" } th { (a) } th { (b) } th { "Difference" } th { "p" } th { "Better" } th { "Worse" }
                    th { "Alike" }
                }
                @for (name, (of_a, of_b, paired)) in measured {
                    tr {
                        td { (name) } td { (sure(*of_a)) } td { (sure(*of_b)) } td { (apart(paired.difference)) }
                        td { (format!("{:.4}", paired.p)) } td { (paired.wins) } td { (paired.losses) } td { (paired.ties) }
                    }
                }
            }
        }
    }
}

fn misses(report: &Report) -> Markup {
    if report.misses.is_empty() {
        return Markup::default();
    }
    html! {
        h2 { "What was missed" }
        p class="soft" {
            "Queries that no system answered among the first 20. " code { "situated search --explain --expect NOTE" }
            " says why."
        }
        div class="wide" {
            table {
                tr {
                    th class="text" { "Query" } th class="text" { "Kind" } th class="text" { "Expected" } th { "Best rank" }
                }
                @for miss in &report.misses {
                    tr {
                        td class="text" { (clean(&miss.query)) }
                        td class="text" { (clean(&miss.kind)) }
                        td class="text" { (clean(&miss.expected.join(", "))) }
                        td { (miss.best.map_or("none".to_owned(), |best| best.to_string())) }
                    }
                }
            }
        }
    }
}

/// The documents that the set names but that are missing.
fn absent(report: &Report) -> Markup {
    if report.missing.is_empty() {
        return Markup::default();
    }
    let name = |missing: &Missing| format!("{} ({})", clean(&missing.id), missing.queries);
    let names: Vec<String> = report.missing.iter().map(name).collect();
    html! {
        p {
            (counted_queries(report.unanswerable)) @if report.unanswerable == 1 { " was" } @else { " were" }
            " left out, for nothing that is relevant to them is there. Documents that are not there, and how many queries \
             they are relevant to: " (names.join(", ")) "."
        }
    }
}

fn method(report: &Report) -> Markup {
    html! {
        h2 { "How it was measured" }
        @if report.source == "vault" {
            p {
                "The queries were made from the vault, without a model: texts of links that say more than the names of their \
                 target, aliases, descriptions, first sentences of notes, and those of sections where the others were too few \
                 to tell. Each was hidden where it stood (in an index of its own; the vault was \
                 not touched), and the one note that it means counts as the answer. Texts that mean two notes, or say \
                 too little, were left out. Other notes may answer as well, so the figures are a lower bound: compare \
                 systems by them, not vaults."
            }
            @for (kind, (found, drawn)) in &report.kinds {
                p class="soft" { (clean(kind)) ": " (counted_queries(*drawn)) " of " (found) " that there were." }
            }
        } @else {
            p { "Queries and judgements are those of the set." }
            (absent(report))
        }
        @if report.written > 0 {
            p { "Contexts of " (counted(report.written, "chunk")) " were written by a model; those that repeat a hidden text were left out." }
        }
        @if report.lost == 1 { p { "1 file or document was left out." } }
        @if report.lost > 1 { p { (report.lost) " files or documents were left out." } }
        p {
            "Recall counts what is relevant among the first 5 and 20, MRR takes one over the rank of the first \
             relevant one, nDCG has linear gains; each is a mean over queries. Intervals hold 95 % of " (RESAMPLES) " \
             resamples of the queries (percentile bootstrap). Boosts are the configuration's, for links, age and kind \
             of notes. Two configurations are compared query by query: p is \
             that of the two-sided randomisation test (" (PERMUTATIONS) " exchanges). Seed " (report.seed) ". It took "
            (format!("{:.1}", report.took_s)) " s."
        }
    }
}

#[cfg(test)]
mod tests;
