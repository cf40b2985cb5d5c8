//! From a query to the chunks that may answer it, best first, in all vaults that it is asked of.
//!
//! All vaults are asked together, so that their scores can be compared: words are weighed by how frequent they are in
//! all ([`Corpus`]), and fused by the best of all ([`Scale`]). A word is corrected only if no vault has it, and the
//! answer says so once. All that differs from vault to vault is in its [`Part`].

mod called;
mod conditions;
mod emptied;
mod newest;
mod pasted;
mod timed;
mod together;
mod wider;

use std::collections::HashSet;

pub(super) use self::conditions::conditions;
use self::newest::{Listed, newest};
pub use self::pasted::{Shown, settled};
use super::answer::{Answer, finish};
use super::boost::boost;
use super::fuse::{self, Dense, Ranked, Scale};
use super::hit::placed;
use super::lanes::{self, Candidate};
use super::query::{LinePattern, Required};
use super::ranking::{Ranking, in_order};
use super::required::Chunks;
use super::rows::RowSet;
use super::{Mode, Options, Parsed};
use crate::together::HavingAll;
use crate::{Allowed, Corpus, Corrected, LexicalError, LexicalQuery, Meant, Row, Snapshot};
use vector::Vector;

/// The warning if a query has nothing but punctuation.
const SIGNS: &str = "signs alone are found by a regular expression: `/->/`";

/// A vault that a query is asked of.
#[derive(Clone)]
pub struct Part<'a> {
    /// What answers.
    pub snapshot: &'a Snapshot,
    /// The query: the same words for all vaults, with the notes that are hidden in this one.
    pub query: Parsed,
    /// The embedding of [`Parsed::text`] by this vault's embedder.
    pub vector: Option<Vector>,
    /// The options of the request, with this vault's links, and the weight that its embedder has for this query.
    pub options: Options,
}

/// Answers a query from one vault: [`rank`], then [`finish`].
pub fn search(
    snapshot: &Snapshot,
    vault: &str,
    query: &Parsed,
    vector: Option<&Vector>,
    options: &Options,
) -> Result<Answer, LexicalError> {
    finish(snapshot, vault, rank(snapshot, query, vector, options)?, options)
}

/// Asks the lanes of one vault and fuses what they say. `vector` is the embedding of [`Parsed::text`]; without one, or with
/// the zero vector, the words alone answer. Conditions hold in every lane. A query of conditions only gives the newest
/// notes that meet them, each with its first chunk, or the first that has the link or tag that is asked for.
///
/// # Errors
/// The word index fails, or the search is cancelled.
pub fn rank(
    snapshot: &Snapshot,
    query: &Parsed,
    vector: Option<&Vector>,
    options: &Options,
) -> Result<Ranking, LexicalError> {
    let part = Part { snapshot, query: query.clone(), vector: vector.cloned(), options: options.clone() };
    Ok(rank_together(&[part])?.pop().unwrap_or_default())
}

/// As [`rank`], of several vaults on one scale; a ranking for each.
///
/// # Errors
/// As [`rank`], if one of them fails.
pub fn rank_together(parts: &[Part<'_>]) -> Result<Vec<Ranking>, LexicalError> {
    Ok(ranked(parts, &corpus_of(parts), best, (&[], &[]))?.0)
}

/// The words of all vaults. What is hidden from the asker matters only if the query's words are still to be looked up.
pub(super) fn corpus_of<'a>(parts: &[Part<'a>]) -> Corpus<'a> {
    Corpus::hiding(parts.iter().map(|part| {
        let is_asked = part.query.meant.is_none();
        (part.snapshot, part.query.filter.hidden.as_deref().filter(|_| is_asked))
    }))
}

/// How many chunks each lane brings for a part: enough for the best hits.
pub(super) fn best(part: &Part<'_>) -> usize {
    lanes::depth(part.options.limit)
}

/// As [`rank_together`], on one scale with what was found `outside`, of the teams of these names; also gives that scale.
/// `depth` says how many chunks each lane brings for a part.
pub(super) fn ranked(
    parts: &[Part<'_>],
    corpus: &Corpus<'_>,
    depth: impl Fn(&Part<'_>) -> usize,
    (outside, teams): (&[Candidate], &[String]),
) -> Result<(Vec<Ranking>, Scale), LexicalError> {
    let Some(first) = parts.first() else { return Ok((Vec::new(), Scale::of(outside))) };
    let words = first.query.asked_of(&first.options);
    let mut begun = parts.iter().map(Begun::new).collect::<Result<Vec<_>, _>>()?;
    let nothing = outside.is_empty() && begun.iter().all(|begun| begun.allowed.as_ref().is_some_and(RowSet::is_empty));
    let unmet = if nothing {
        emptied::emptied(parts, teams)?
    } else if teams.is_empty() {
        emptied::idle(parts)?
    } else {
        // What a team has besides is not known here.
        None
    };
    begun.iter_mut().take(1).for_each(|begun| begun.ranking.warnings.extend(unmet.clone()));
    let meant = match &first.query.meant {
        _ if !begun.iter().any(Begun::asks_words) => Meant::default(),
        Some(meant) => meant.clone(),
        None => corpus.meant(&words)?,
    };
    let (mut found, mut having) = (Vec::with_capacity(parts.len()), Vec::with_capacity(parts.len()));
    for (part, begun) in parts.iter().zip(&begun) {
        part.options.cancel.check()?;
        found.push(begun.candidates(part, corpus, (&words, &meant), depth(part))?);
        having.push(begun.having_all(part, corpus, &words)?);
    }
    first.options.cancel.check()?;
    let scale = Scale::of(found.iter().flatten().chain(outside));
    let asked = begun.iter().any(|begun| begun.lanes && begun.ranking.mode == Mode::Hybrid);
    let teller = begun.iter().position(|begun| begun.lanes);
    let of_time = parts.iter().zip(&begun).map(|(part, begun)| timed::rows(part, begun));
    let of_time = of_time.collect::<Result<Vec<_>, _>>()?;
    let has_time = of_time.iter().any(|rows| !rows.is_empty());
    newest::list(&mut begun);
    let ranked = parts.iter().zip(begun).zip(found).map(|((part, begun), candidates)| {
        let Begun { mut ranking, lanes, allowed, .. } = begun;
        if lanes {
            fuse_into(&mut ranking, (part, allowed.as_ref()), candidates, scale, &meant);
            if let Some(allowed) = allowed.as_ref().filter(|_| part.query.is_all_required()) {
                add_rest(&mut ranking, part, allowed);
            }
        }
        ranking
    });
    let mut rankings: Vec<Ranking> = ranked.collect();
    timed::put_first(parts, &mut rankings, &of_time);
    together::put_third(parts, &mut rankings, &having);
    together::put_second(parts, &mut rankings, &having);
    let mut said = corrections(&meant.corrected);
    if asked && !has_time && scale.has_no_word() && !first.query.words.is_empty() {
        let found = !outside.is_empty() || rankings.iter().any(|ranking| !ranking.ranked.is_empty());
        said.push(without_words(parts, found));
    }
    if let Some(teller) = teller.and_then(|at| rankings.get_mut(at)) {
        teller.warnings.append(&mut said);
    }
    Ok((rankings, scale))
}

/// What is known of a vault's part before any lane was asked.
struct Begun {
    ranking: Ranking,
    allowed: Option<RowSet>,
    /// Whether the lanes are to be asked.
    lanes: bool,
    /// What answers a query of conditions only.
    listed: Listed,
}

impl Begun {
    fn new(part: &Part<'_>) -> Result<Self, LexicalError> {
        let Part { snapshot, query, vector, options } = part;
        let vector = lanes::telling(vector.as_ref());
        let mode = lanes::effective(options.mode, vector);
        let (warnings, text) = (query.warnings.clone(), query.text());
        let (patterns, phrases) = (query.patterns_shown(), query.phrases_shown());
        let mut ranking = Ranking { mode, warnings, text, patterns, phrases, ..Ranking::default() };
        let allowed = allowed(snapshot, query, options)?;
        let nothing = allowed.as_ref().is_some_and(RowSet::is_empty);
        let (mut lanes, mut listed) = (false, Listed::new());
        if nothing {
            // No chunk meets the conditions.
        } else if !query.has_text() {
            match allowed.as_ref().filter(|_| query.has_conditions()) {
                Some(allowed) => {
                    listed = newest(snapshot.notes(), Some(allowed), query);
                    let lines = query.filter.lines(snapshot);
                    let lines: Vec<_> = lines.iter().filter_map(|line| LinePattern::new(line).ok()).collect();
                    newest::open_at(&mut listed[..], &lines, (snapshot, allowed), options)?;
                    ranking.patterns.extend(lines);
                }
                None if query.signs => ranking.warnings.push(SIGNS.to_owned()),
                None => ranking.warnings.push("the query is empty".to_owned()),
            }
        } else if mode == Mode::Dense && vector.is_none() {
            let why =
                if part.vector.is_some() { "the embedder knows no word of the query" } else { "no embedder answers" };
            ranking.warnings.push(format!("{why}; the lexical mode may find more"));
        } else {
            lanes = true;
        }
        Ok(Begun { ranking, allowed, lanes, listed })
    }

    fn asks_words(&self) -> bool {
        self.lanes && self.ranking.mode != Mode::Dense
    }

    /// The notes that have all words; the lanes by themselves answer as they are.
    fn having_all(
        &self,
        part: &Part<'_>,
        corpus: &Corpus<'_>,
        words: &LexicalQuery,
    ) -> Result<HavingAll, LexicalError> {
        if !self.lanes || self.ranking.mode != Mode::Hybrid {
            return Ok(HavingAll::default());
        }
        let allowed = self.allowed.as_ref().map(|rows| |row: Row| rows.contains(row));
        part.snapshot.having_all(corpus, words, allowed.as_ref().map(|allowed| allowed as &Allowed<'_>))
    }

    fn candidates(
        &self,
        part: &Part<'_>,
        corpus: &Corpus<'_>,
        words: (&LexicalQuery, &Meant),
        depth: usize,
    ) -> Result<Vec<Candidate>, LexicalError> {
        if !self.lanes {
            return Ok(Vec::new());
        }
        let vector = lanes::telling(part.vector.as_ref());
        let run = |allowed: Option<&RowSet>, depth: usize| {
            lanes::run(part.snapshot, corpus, words, vector, allowed, self.ranking.mode, depth)
        };
        let (allowed, cancel) = (self.allowed.as_ref(), &part.options.cancel);
        let found = run(allowed, depth)?;
        wider::widened(part, allowed, found, depth, &|rows, depth| {
            cancel.check()?;
            run(Some(rows), depth)
        })
    }
}

fn fuse_into(
    ranking: &mut Ranking,
    (part, allowed): (&Part<'_>, Option<&RowSet>),
    candidates: Vec<Candidate>,
    scale: Scale,
    meant: &Meant,
) {
    let Part { snapshot, query, options, .. } = part;
    for word in meant.corrected.iter().map(|corrected| &corrected.name).chain(meant.completed()) {
        ranking.text.push(' ');
        ranking.text.push_str(word);
    }
    ranking.ranked =
        fuse::fuse(candidates, scale, Dense { weight: options.dense_weight, familiarity: options.familiarity });
    boost(snapshot, &mut ranking.ranked, &ranking.text, &query.filter.zone, &options.boosts);
    if ranking.mode != Mode::Dense {
        called::put_first(part, &mut ranking.ranked, &called::called(part), allowed);
    }
    fuse::sort(&mut ranking.ranked, |a, b| in_order(snapshot, a, b));
    // They are shown in passages, but name no note.
    for word in meant.compounds_and_numbers() {
        ranking.text.push(' ');
        ranking.text.push_str(word);
    }
}

/// Appends the notes that meet `words OR condition` by the condition alone, newest first.
fn add_rest(ranking: &mut Ranking, part: &Part<'_>, allowed: &RowSet) {
    let Part { snapshot, query, options, .. } = part;
    let note_of = |row: Row| placed(snapshot, row).map(|(_, note)| note.no);
    let known: HashSet<_> = ranking.ranked.iter().filter_map(|ranked| note_of(ranked.candidate.row)).collect();
    if known.len() <= options.limit {
        let rest = newest(snapshot.notes(), Some(allowed), query).into_iter().map(|(_, row)| row);
        let rest = rest.filter(|row| note_of(*row).is_none_or(|no| !known.contains(&no)));
        ranking.ranked.extend(rest.map(Ranked::unscored));
    }
}

/// The warning if no chunk has a word of the query; `found` says whether there are hits all the same.
fn without_words(parts: &[Part<'_>], found: bool) -> String {
    let all_required = found && parts.iter().all(|part| part.query.is_all_required());
    // What the conditions leave out may have one.
    let narrowed = !all_required && parts.iter().any(|part| part.query.has_conditions());
    let who = if narrowed { "no note that meets the conditions" } else { "no note" };
    let then = if parts.iter().all(|part| part.options.familiarity <= 0.0) {
        ", and the embedder does not know its language"
    } else if !found {
        " or comes near in meaning"
    } else if all_required {
        "; these meet its conditions"
    } else {
        "; these are nearest in meaning, which may not be near"
    };
    format!("{who} has a word of this query{then}")
}

/// The warnings about words that no vault has.
fn corrections(corrected: &[Corrected]) -> Vec<String> {
    let said = |Corrected { typed, name, .. }: &Corrected| format!("`{typed}` is nowhere; searched for `{name}`");
    corrected.iter().map(said).collect()
}

/// The rows that every lane is restricted to; `None` if all are allowed.
///
/// Regular expressions come last, for they read the text of whatever is still admitted. Phrases and exclusions are
/// looked up in the word index, in separate queries without a limit: so the dense lane, which sees no words, is
/// restricted to exactly the same rows as the lexical lane.
pub(super) fn allowed(snapshot: &Snapshot, query: &Parsed, options: &Options) -> Result<Option<RowSet>, LexicalError> {
    allowed_of(snapshot, None, query, options)
}

/// The same, of these rows; `None` stands for all.
pub(super) fn allowed_of(
    snapshot: &Snapshot,
    among: Option<&RowSet>,
    query: &Parsed,
    options: &Options,
) -> Result<Option<RowSet>, LexicalError> {
    let (contextual, cancel) = (options.contextual, &options.cancel);
    let mut allowed = query.filter.rows(snapshot, cancel)?;
    if let Some(among) = among {
        allowed.get_or_insert_with(|| RowSet::full(snapshot.rows())).keep(among);
    }
    let holding = |phrases: Vec<String>, among: Option<&RowSet>| {
        let query = LexicalQuery { phrases, contextual, cancel: cancel.clone(), ..LexicalQuery::default() };
        let among = |row: Row| among.is_none_or(|rows| rows.contains(row));
        snapshot.lexical(&query, &among, snapshot.rows())
    };
    if !query.phrases.is_empty() {
        let rows = holding(query.phrases.clone(), allowed.as_ref())?;
        allowed = Some(RowSet::of(snapshot.rows(), rows.into_iter().map(|(row, _)| row)));
    }
    if let Some(wanted) = &query.required {
        let rows = of_required(wanted, query, snapshot, options)?;
        allowed.get_or_insert_with(|| RowSet::full(snapshot.rows())).keep(&rows);
    }
    for without in &query.without {
        let rows = holding(vec![without.clone()], allowed.as_ref())?;
        let allowed = allowed.get_or_insert_with(|| RowSet::full(snapshot.rows()));
        rows.into_iter().for_each(|(row, _)| allowed.remove(row));
    }
    for (holds, pattern) in &query.patterns {
        let among = |row: Row| allowed.as_ref().is_none_or(|rows| rows.contains(row));
        let rows = RowSet::of(snapshot.rows(), snapshot.matching(pattern.pattern(), &among, cancel)?);
        let allowed = allowed.get_or_insert_with(|| RowSet::full(snapshot.rows()));
        if *holds { allowed.keep(&rows) } else { allowed.drop_all(&rows) }
    }
    Ok(allowed)
}

/// The rows that meet what AND, OR and NOT of a query require.
fn of_required(
    required: &Required,
    query: &Parsed,
    snapshot: &Snapshot,
    options: &Options,
) -> Result<RowSet, LexicalError> {
    let full = || RowSet::full(snapshot.rows());
    let chunks = Chunks {
        rows: snapshot.rows(),
        meeting: &|query| Ok(allowed(snapshot, query, options)?.unwrap_or_else(full)),
        of_notes: &|rows| {
            let have = snapshot.notes().filter(|note| note.rows.iter().any(|row| rows.contains(row)));
            RowSet::of(snapshot.rows(), have.flat_map(|note| note.rows.iter()))
        },
    };
    chunks.having(required, query)
}
