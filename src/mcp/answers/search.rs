//! What finds passages.

use super::super::caller::Caller;
use super::super::daemon::Trouble;
use super::super::params::{ContextualSearch, Filters, Related, SearchNotes};
use super::super::results::{Found, FoundPassage, Omitted, TRUST};
use super::super::{clean, show, size};
use super::{ToolResult, decimal, lines, vault};
use protocol::hit::Hit;
use protocol::search::{Contextual, Group, Mode, RelatedRequest, SearchAnswer, SearchFilter, SearchRequest};

/// Hits unless the caller says otherwise.
const USUAL: usize = 10;

/// Hits at most: more than that is no result for a model's window.
const MOST: usize = 100;

/// Characters of a hit with its neighbours: more is had with `read_note`.
const WINDOW: usize = 1_600;

/// Conditions as the daemon takes them.
pub(super) fn filter(filters: Option<&Filters>) -> Option<SearchFilter> {
    let Filters { path, tag, note_type, after, before } = filters?.clone();
    Some(SearchFilter { path, tag, note_type, after, before, ..SearchFilter::default() })
}

fn limit(asked: Option<usize>) -> Result<usize, Trouble> {
    match asked.unwrap_or(USUAL) {
        0 => Err(Trouble::invalid(format!("`limit` is 0: it may be 1 to {MOST}"))),
        more => Ok(more.min(MOST)),
    }
}

/// `limit`, or `top_k`, which is the same.
fn limit_of(asked: &ContextualSearch) -> Result<usize, Trouble> {
    match (asked.limit, asked.top_k) {
        (Some(limit), Some(top_k)) if limit != top_k => {
            Err(Trouble::invalid("`limit` and `top_k` are the same, and say two numbers"))
        }
        (limit, top_k) => self::limit(limit.or(top_k)),
    }
}

fn said(query: &str) -> Result<(), Trouble> {
    if query.trim().is_empty() { Err(Trouble::invalid("`query` is empty: say what is sought")) } else { Ok(()) }
}

pub(in crate::mcp) async fn notes(asked: SearchNotes, caller: &Caller) -> Result<ToolResult, Trouble> {
    said(&asked.query)?;
    let request = SearchRequest {
        query: asked.query,
        limit: Some(limit(asked.limit)?),
        per_note: Some(1),
        vault: vault(asked.vault.as_ref()),
        filter: filter(asked.filters.as_ref()),
        window_chars: Some(WINDOW),
        ..SearchRequest::default()
    };
    found(caller.call(request).await?, false, asked.max_chars)
}

pub(in crate::mcp) async fn contextual(asked: ContextualSearch, caller: &Caller) -> Result<ToolResult, Trouble> {
    said(&asked.query)?;
    let limit = limit_of(&asked)?;
    if asked.score_threshold.is_some_and(|least| !(0.0..=1.0).contains(&least)) {
        return Err(Trouble::invalid("`score_threshold` may be 0 to 1: scores are"));
    }
    let contextual = asked.contextual.unwrap_or(true);
    let request = SearchRequest {
        query: asked.query,
        limit: Some(limit),
        min_score: asked.score_threshold,
        contextual: Some(Contextual::Flag(contextual)),
        vault: vault(asked.vault.as_ref()),
        filter: filter(asked.filters.as_ref()),
        mode: asked.mode.map(Mode::from),
        window_chars: Some(WINDOW),
        ..SearchRequest::default()
    };
    found(caller.call(request).await?, contextual, asked.max_chars)
}

pub(in crate::mcp) async fn related(asked: Related, caller: &Caller) -> Result<ToolResult, Trouble> {
    let request = RelatedRequest {
        path: asked.path.as_deref().map(clean::named),
        line: asked.line,
        end_line: asked.end_line,
        text: asked.text,
        vault: vault(asked.vault.as_ref()),
        exclude_linked: asked.exclude_linked,
        group: Group::Note,
        limit: Some(limit(asked.limit)?),
        window_chars: Some(WINDOW),
        ..RelatedRequest::default()
    };
    found(caller.call(request).await?, false, asked.max_chars)
}

fn found(answer: SearchAnswer, contexts: bool, max_chars: Option<usize>) -> Result<ToolResult, Trouble> {
    let SearchAnswer { hits, truncated: more, warnings, .. } = answer;
    let snippets: Vec<String> = hits.iter().map(|hit| clean::line(&hit.snippet)).collect();
    let hits: Vec<FoundPassage> = hits.into_iter().map(|hit| passage(hit, contexts)).collect();
    let warnings = lines(&warnings);
    let sized = Sized { hits: &hits, snippets: &snippets, more, warnings: &warnings };
    let (text, found) = sized.within(size::limit(max_chars));
    ToolResult::new(text, &found)
}

fn passage(hit: Hit, contexts: bool) -> FoundPassage {
    let (shown, (line, end_line)) =
        if hit.window.is_empty() { (&hit.text, (hit.line, hit.end_line)) } else { (&hit.window, hit.window_lines) };
    FoundPassage {
        id: clean::line(&hit.chunk),
        has_context: !hit.context.is_empty(),
        vault: clean::name(&hit.vault),
        path: clean::name(&hit.path),
        title: size::cut(&clean::line(&hit.title), 200),
        heading_path: hit.heading_path.iter().take(8).map(|h| size::cut(&clean::line(h), 200)).collect(),
        line,
        end_line,
        score: decimal(hit.score),
        text: clean::text(shown),
        context: contexts.then(|| clean::text(&hit.context)).filter(|context| !context.is_empty()),
        modified: hit.mtime,
        stale: hit.stale,
        linked: hit.linked,
    }
}

/// Hits on their way into a window.
struct Sized<'a> {
    hits: &'a [FoundPassage],
    snippets: &'a [String],
    more: bool,
    warnings: &'a [String],
}

impl Sized<'_> {
    /// As many hits as there is room for, with as much of their texts.
    fn within(&self, limit: usize) -> (String, Found) {
        for count in (1..=self.hits.len()).rev() {
            if let Some(most) = size::longest(WINDOW * 8, &|most| self.size(count, most) <= limit) {
                return self.made(count, most);
            }
        }
        // One hit always comes, as short as it can be.
        self.made(self.hits.len().min(1), 100)
    }

    fn size(&self, count: usize, most: usize) -> usize {
        let (text, found) = self.made(count, most);
        text.chars().count() + size::of(&found)
    }

    /// The first `count` hits, with texts of at most so many characters.
    fn made(&self, count: usize, most: usize) -> (String, Found) {
        let shorten = |hit: &FoundPassage| FoundPassage {
            text: size::cut(&hit.text, most),
            context: hit.context.as_ref().map(|context| size::cut(context, most)),
            ..hit.clone()
        };
        let hits: Vec<FoundPassage> = self.hits[..count].iter().map(shorten).collect();
        let cut = hits.iter().zip(self.hits).filter(|(short, whole)| short.text != whole.text).count();
        let left = self.hits.len() - count;
        let what = match (cut, left) {
            (0, 0) => None,
            (cut, 0) => Some(format!("the ends of {cut} passages")),
            (0, left) => Some(format!("the last {left} hits")),
            (cut, left) => Some(format!("the last {left} hits, and the ends of {cut} passages")),
        };
        let how = "`read_note` with path and line reads on; fewer hits, or a larger `max_chars`, show more of each";
        let omitted = what.map(|what| Omitted::new(what, how));
        let snippets = &self.snippets[..count];
        let text = show::found(&hits, snippets, self.more || left > 0, self.warnings, omitted.as_ref());
        let warnings = self.warnings.to_vec();
        (text, Found { trust: TRUST.to_owned(), hits, more: self.more || left > 0, warnings, omitted })
    }
}

#[cfg(test)]
mod tests;
