//! Why a hit was found: in a few words for everybody, and in figures for those who ask.

use std::fmt::Write as _;

use super::print::printable;
use protocol::hit::{Boosted, Hit, LaneScore, Lanes, Rejudged};

/// A lane that gives a hit this rank or a better one is a reason, however the other lane ranks the hit.
const FIRST: u32 = 10;

/// `title + words + meaning`; empty if it is not known. A word of the query in title or headings is a separate reason.
pub(super) fn why(hit: &Hit, query: &str) -> String {
    let Some(lanes) = &hit.lanes else { return String::new() };
    let rank = |lane: &Option<LaneScore>| lane.as_ref().map(|lane| lane.rank);
    let (words, meaning) = (rank(&lanes.lexical), rank(&lanes.dense));
    let counts = |own: Option<u32>, other: Option<u32>| {
        own.is_some_and(|own| own <= FIRST || other.is_none_or(|other| own <= other.saturating_mul(2)))
    };
    let heads: Vec<String> =
        std::iter::once(&hit.title).chain(&hit.heading_path).map(|text| text.to_lowercase()).collect();
    let named = words.is_some() && query_words(query).any(|word| heads.iter().any(|head| has_word(head, &word)));
    // Matches in the body are marked in the passage; without any, the title or the context matched.
    let in_body = !hit.highlights.is_empty() || !named;
    // Notes that the query names get the same boost as the notes that are linked with them.
    let linked = lanes.boosts.links >= 0.0005 && !named;
    let reranked = matches!(&lanes.rerank, Some(Rejudged { before, rank: Some(rank), .. }) if rank < before);
    let reasons = [
        (named, "title"),
        (counts(words, meaning) && in_body, "words"),
        (counts(meaning, words), "meaning"),
        (linked, "linked"),
        (!lanes.in_questions.is_empty() && hit.highlights.is_empty(), "questions"),
        (reranked, "reranked"),
    ];
    let reasons: Vec<&str> = reasons.into_iter().filter(|(counts, _)| *counts).map(|(_, reason)| reason).collect();
    reasons.join(" + ")
}

/// The words of a query in lower case, without its filters and the words that it excludes.
fn query_words(query: &str) -> impl Iterator<Item = String> {
    let pieces = query.split_whitespace().filter(|piece| !piece.starts_with('-') && !piece.contains(':'));
    let words = pieces.flat_map(|piece| piece.split(|c: char| !c.is_alphanumeric()));
    // Every title contains some of the shortest words.
    words.filter(|word| word.chars().count() > 2 || !word.is_ascii()).map(str::to_lowercase)
}

/// Whether a text has a word that begins with this one; both in lower case.
fn has_word(text: &str, word: &str) -> bool {
    text.match_indices(word)
        .any(|(at, _)| !text[..at].chars().next_back().is_some_and(|c| c.is_alphanumeric() && c.is_ascii()))
}

/// Why a hit was found, in words.
pub(super) fn reasons(hit: &Hit, vault: Option<&str>) -> String {
    let mut reasons = judged(hit.lanes.as_ref(), hit.score, vault);
    let also: Vec<String> = hit.also.iter().map(|also| format!("line {} ({:.3})", also.line, also.score)).collect();
    if !also.is_empty() {
        reasons.push_str(&format!(" · also found in it: {}", also.join(", ")));
    }
    reasons
}

/// How the lanes judged, in words; `vault` is the one that they ranked, if there are several.
pub(super) fn judged(lanes: Option<&Lanes>, score: f32, vault: Option<&str>) -> String {
    let Some(lanes) = lanes else {
        return format!("score {score:.3}");
    };
    let of = vault.map(|vault| format!(" of {}", printable(vault))).unwrap_or_default();
    let lane = |name: &str, what: &str, score: &Option<LaneScore>| match score {
        Some(LaneScore { rank, score }) => format!("{name}: no. {rank}{of} ({what} {score:.2})"),
        None => format!("{name}: not among the best"),
    };
    let mut reasons = format!(
        "{} · {} · together {:.3}",
        lane("words", "BM25", &lanes.lexical),
        lane("meaning", "cosine", &lanes.dense),
        lanes.fused
    );
    let Boosted { graph, links, recency, date, kind, name, all_words } = lanes.boosts;
    for (name, boost) in
        [("place among links", graph), ("linked", links), ("new", recency), ("of that time", date), ("kind", kind)]
    {
        if boost >= 0.0005 {
            // Writing to a string cannot fail.
            let _ = write!(reasons, " · {name} +{boost:.3}");
        }
    }
    if name > 0.0 {
        reasons.push_str(" · the query is its name");
    }
    if all_words > 0.0 {
        reasons.push_str(" · its note has all words");
    }
    if !lanes.boosts.is_nothing() {
        let _ = write!(reasons, " · score {score:.3}");
    }
    if !lanes.in_questions.is_empty() {
        let words: Vec<_> = lanes.in_questions.iter().map(|word| printable(word)).collect();
        let _ = write!(reasons, " · in questions that a model wrote: {}", words.join(", "));
    }
    match &lanes.rerank {
        Some(Rejudged { before, rank: Some(rank), score: Some(score) }) => {
            reasons.push_str(&format!(" · reranked: no. {rank} ({score:.3}), before no. {before}"));
        }
        Some(Rejudged { before, .. }) => reasons.push_str(&format!(" · not reranked: no. {before}")),
        None => {}
    }
    reasons
}

#[cfg(test)]
mod tests;
