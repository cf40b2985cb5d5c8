//! The tools that find passages.

use serde_json::{Map, Value};

use super::super::caller::Caller;
use super::super::daemon::Trouble;
use super::super::params::{self, Filters, Related, Search};
use super::super::results::{Found, FoundPassage, Linked, Metadata, Omitted, TRUST};
use super::super::{clean, resources, show, size};
use super::{ToolResult, decimal, lines, names, vault};
use protocol::hit::{Hit, LinkedNotes};
use protocol::search::{
    BoostWeights, Contextual, Group, Include, RelatedRequest, SearchAnswer, SearchFilter, SearchRequest, TimeAsked,
};

/// Hits unless the caller says otherwise.
const USUAL: usize = 10;

/// The most hits: more than that is no result for a model's window.
const MOST: usize = 100;

/// Characters of a hit with its neighbours: `read_note` gives more.
const WINDOW: usize = 1_200;

/// The most characters of a query that the result repeats.
const QUERY: usize = 300;

/// Conditions as the daemon takes them.
pub(super) fn filter(filters: Option<&Filters>) -> Option<SearchFilter> {
    let Filters { path, tag, note_type, after, before } = filters?.clone();
    // As a result shows them, with hidden characters written out.
    let [path, tag, note_type] = [path, tag, note_type].map(|given| given.map(|given| clean::named(&given)));
    Some(SearchFilter { path, tag, note_type, after, before, ..SearchFilter::default() })
}

fn limit(asked: Option<usize>) -> Result<usize, Trouble> {
    match asked.unwrap_or(USUAL) {
        limit if (1..=MOST).contains(&limit) => Ok(limit),
        limit => Err(Trouble::invalid(format!("`limit` is {limit}: it may be 1 to {MOST}"))),
    }
}

/// Accepts `top_k` as another name of `limit`. The schema does not list it: every word of a schema is paid for.
pub(in crate::mcp) fn with_limit(mut given: Map<String, Value>) -> Result<Map<String, Value>, Trouble> {
    if let Some(top_k) = given.remove("top_k") {
        let limit = given.entry("limit").or_insert_with(|| top_k.clone());
        if *limit != top_k {
            return Err(Trouble::invalid("`limit` and `top_k` are the same, and say two numbers: leave one out"));
        }
    }
    Ok(given)
}

/// `search_notes`: the same search, each note once.
pub(in crate::mcp) async fn notes(asked: Search, caller: &Caller) -> Result<ToolResult, Trouble> {
    passages(Search { per_note: asked.per_note.or(Some(1)), ..asked }, caller).await
}

/// `search_with_contextual_retrieval`.
pub(in crate::mcp) async fn passages(asked: Search, caller: &Caller) -> Result<ToolResult, Trouble> {
    if asked.query.trim().is_empty() {
        return Err(Trouble::invalid("`query` is empty: say what is sought"));
    }
    if asked.score_threshold.is_some_and(|least| !(0.0..=1.0).contains(&least)) {
        return Err(Trouble::invalid("`score_threshold` may be 0 to 1: scores are"));
    }
    if asked.recency.is_some_and(|weight| !(0.0..=1.0).contains(&weight)) {
        return Err(Trouble::invalid("`recency` may be 0 to 1"));
    }
    if asked.per_note == Some(0) {
        return Err(Trouble::invalid("`per_note` is 0: it is 1 or more"));
    }
    let style = Style::of(&asked.include, Some(&asked.query), asked.max_chars)?;
    let mut include = vec![Include::Quality];
    include.extend(asked.include.contains(&params::Include::Links).then_some(Include::Links));
    let request = SearchRequest {
        query: clean::named(&asked.query),
        limit: Some(limit(asked.limit)?),
        per_note: asked.per_note,
        min_score: asked.score_threshold,
        contextual: asked.contextual.map(Contextual::Flag),
        vault: vault(asked.vault.as_ref()),
        filter: filter(asked.filters.as_ref()),
        mode: asked.mode,
        window_chars: Some(WINDOW),
        include,
        boosts: asked.recency.map(|recency| BoostWeights { recency: Some(recency), ..BoostWeights::default() }),
        ..SearchRequest::default()
    };
    found(caller.call(request).await?, style)
}

/// `related_notes`.
pub(in crate::mcp) async fn related(asked: Related, caller: &Caller) -> Result<ToolResult, Trouble> {
    if asked.path.is_some() == asked.text.is_some() {
        return Err(Trouble::invalid("give `path`, a note, or `text`, and not both"));
    }
    let style = Style { contexts: false, whole: 0, ..Style::of(&[], None, asked.max_chars)? };
    let named = match asked.path.as_deref() {
        Some(path) => Some(resources::named_now(path, asked.vault.as_ref(), caller).await?),
        None => None,
    };
    let (of_hit, path, vault) = match named {
        Some(named) => (named.lines, Some(named.path), named.vault),
        None => (None, None, vault(asked.vault.as_ref())),
    };
    let lines = (asked.line.is_none() && asked.end_line.is_none()).then_some(of_hit).flatten();
    let request = RelatedRequest {
        path,
        line: lines.map(|(first, _)| first).or(asked.line),
        end_line: lines.and_then(|(_, last)| last).or(asked.end_line),
        text: asked.text,
        vault,
        exclude_linked: asked.exclude_linked,
        group: Group::Note,
        limit: Some(limit(asked.limit)?),
        window_chars: Some(WINDOW),
        ..RelatedRequest::default()
    };
    found(caller.call(request).await?, style)
}

/// How hits are shown.
struct Style {
    /// The query, as far as the result repeats it.
    query: Option<String>,
    /// Whether contexts are shown.
    contexts: bool,
    /// Whether contexts are put before the passages, in one text, rather than beside them.
    joined: bool,
    /// How many of the best passages the text form shows whole. Of related notes it shows what they are about.
    whole: usize,
    /// The most characters of the result.
    limit: usize,
}

impl Style {
    fn of(include: &[params::Include], query: Option<&str>, max_chars: Option<usize>) -> Result<Self, Trouble> {
        Ok(Style {
            query: query.map(|query| size::cut(&clean::line(query), QUERY)),
            contexts: true,
            joined: include.contains(&params::Include::Contextualized),
            whole: show::WHOLE,
            limit: size::limit(max_chars)?,
        })
    }
}

fn found(answer: SearchAnswer, style: Style) -> Result<ToolResult, Trouble> {
    let SearchAnswer { hits, truncated: more, mut warnings, time, attachments, .. } = answer;
    if let Some(TimeAsked { words, read_as, .. }) = time {
        warnings
            .push(format!("`{words}` was read as {read_as}: notes of that time come first, and no other is left out"));
    }
    let files: Vec<String> = attachments.iter().map(|file| size::cut(&clean::name(&file.path), 200)).collect();
    let snippets: Vec<String> = hits.iter().map(|hit| clean::line(&hit.snippet)).collect();
    let hits: Vec<FoundPassage> = hits.into_iter().map(|hit| passage(hit, &style)).collect();
    let warnings = lines(&warnings);
    let Style { query, whole, limit, .. } = style;
    let sized = Sized { query, hits: &hits, snippets: &snippets, whole, more, files: &files, warnings: &warnings };
    let (text, found) = sized.within(limit);
    ToolResult::new(text, &found)
}

fn passage(hit: Hit, style: &Style) -> FoundPassage {
    let metadata = metadata(&hit);
    let (shown, (line, end_line)) =
        if hit.window.is_empty() { (&hit.text, (hit.line, hit.end_line)) } else { (&hit.window, hit.window_lines) };
    let context = Some(clean::text(&hit.context)).filter(|context| style.contexts && !context.is_empty());
    let (content, context) = match (clean::text(shown), context) {
        (content, Some(context)) if style.joined => (format!("{context}\n\n{content}"), None),
        both => both,
    };
    FoundPassage {
        id: clean::line(&hit.chunk),
        vault: clean::name(&hit.vault),
        path: clean::name(&hit.path),
        title: size::cut(&clean::line(&hit.title), 200),
        heading_path: hit.heading_path.iter().take(8).map(|h| size::cut(&clean::line(h), 200)).collect(),
        line,
        end_line,
        match_line: hit.best_line(),
        score: decimal(hit.score),
        content,
        context,
        metadata,
        stale: hit.stale,
        linked: hit.linked,
    }
}

fn metadata(hit: &Hit) -> Metadata {
    let said = |text: &Option<String>| text.as_deref().map(|text| size::cut(&clean::line(text), 60));
    let saved = jiff::Timestamp::from_second(hit.mtime).unwrap_or_default();
    let saved = saved.to_zoned(jiff::tz::TimeZone::system()).date().to_string();
    Metadata {
        has_context: hit.has_context,
        context_quality: hit.context_quality.map(decimal),
        note_type: said(&hit.kind),
        tags: hit.tags.iter().take(20).map(|tag| size::cut(&clean::line(tag), 60)).collect(),
        date: said(&hit.date),
        created: said(&hit.created),
        // Days in this form sort in the order of time.
        modified: said(&hit.modified).filter(|day| *day > saved).unwrap_or(saved),
        links: hit.links.as_ref().map(linked),
        backlinks: hit.backlinks.as_ref().map(linked),
    }
}

fn linked(notes: &LinkedNotes) -> Linked {
    Linked { count: notes.count, notes: notes.notes.iter().map(|path| clean::name(path)).collect() }
}

/// Hits that are being fitted into a model's window.
struct Sized<'a> {
    query: Option<String>,
    hits: &'a [FoundPassage],
    snippets: &'a [String],
    whole: usize,
    more: bool,
    files: &'a [String],
    warnings: &'a [String],
}

impl Sized<'_> {
    /// As many hits as there is room for, and as much of their texts as fits.
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
        size::of(&text, &found)
    }

    /// The first `count` hits, with texts of at most so many characters.
    fn made(&self, count: usize, most: usize) -> (String, Found) {
        let fitting =
            |linked: &Linked| Linked { count: linked.count, notes: names::fitting(linked.notes.iter().cloned(), most) };
        let shorten = |hit: &FoundPassage| FoundPassage {
            content: size::cut(&hit.content, most),
            context: hit.context.as_ref().map(|context| size::cut(context, most)),
            metadata: Metadata {
                links: hit.metadata.links.as_ref().map(fitting),
                backlinks: hit.metadata.backlinks.as_ref().map(fitting),
                ..hit.metadata.clone()
            },
            ..hit.clone()
        };
        let hits: Vec<FoundPassage> = self.hits[..count].iter().map(shorten).collect();
        let cut = hits.iter().zip(self.hits).filter(|(short, whole)| short.content != whole.content).count();
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
        let more = self.more || left > 0;
        let text = show::found(&hits, snippets, self.whole, more, self.files, self.warnings, omitted.as_ref());
        let mut warnings = self.warnings.to_vec();
        if !self.files.is_empty() {
            // A member of its own would take room in the definition of every tool that searches.
            warnings.push(format!("files without text whose names match: {}", self.files.join(", ")));
        }
        let found = Found {
            trust: TRUST.to_owned(),
            success: true,
            query: self.query.clone(),
            count,
            results: hits,
            more,
            warnings,
            omitted,
        };
        (text, found)
    }
}

#[cfg(test)]
mod tests;
