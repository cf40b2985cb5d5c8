//! Searches in teams' collections, beside the vaults: they begin before the vaults are searched, and a search waits for
//! them until their timeout at most.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::time::Instant;

use super::Team;
use crate::handle::{CallError, Cancel};
use crate::patience::wait_for;
use ::team::point::Payload;
use ::team::{Answer, Asked, Condition, Failure, Found};
use index::embed::Vector;
use index::search::{FoundOutside, Options, Outside, Parsed, Required, keep_admitted};
use index::{Language, NoteEntry, Said};
use jiff::civil::Date;
use note::{FileStat, OwnDays, VaultPath};
use protocol::search::Mode;

/// Chunks that each lane is asked for, at least.
const DEPTH: usize = 60;

/// Factor for the number of chunks if some of them may be left out afterwards.
const NARROWED: usize = 4;

/// A search that is under way.
pub(crate) struct Question {
    /// The names of all that are searched.
    teams: Vec<String>,
    waits: Vec<(Arc<Team>, Receiver<Result<Answer, Failure>>)>,
    until: Instant,
    warnings: Vec<String>,
    /// The query: what it asks for besides words is checked in the chunks that come.
    query: Parsed,
    contextual: bool,
    /// How many chunks a lane returns at most, if some of them may be left out here.
    narrowed: Option<usize>,
}

/// Begins to ask the teams that are searched what the vaults are asked; `vector` is the query's, with the identity of
/// its embedder.
pub(super) fn begin(
    teams: &BTreeMap<String, Arc<Team>>,
    query: &Parsed,
    options: &Options,
    vector: Option<(String, Vector)>,
) -> Question {
    let mut question = Question {
        teams: teams.values().filter(|team| team.reader.is_some()).map(|team| team.name.clone()).collect(),
        waits: Vec::new(),
        until: Instant::now(),
        warnings: Vec::new(),
        query: query.clone(),
        contextual: options.contextual,
        narrowed: None,
    };
    let unknown = match query.unknown_elsewhere() {
        unknown if !unknown.is_empty() => {
            Some(format!("what is told of its notes does not answer `{}`", unknown.join("`, `")))
        }
        _ if !query.has_text() => Some("a team is asked for words, and the query has conditions only".to_owned()),
        _ => None,
    };
    let (asked, is_all) = asked(query, options, vector);
    question.narrowed = (!is_all).then_some(asked.depth);
    for team in teams.values() {
        let Some(reader) = team.reader.clone().filter(|_| query.filter.admits_team(&team.name)) else { continue };
        if let Some(why) = &unknown {
            question.warnings.push(format!("`{}` was not asked: {why}", team.name));
            continue;
        }
        let mut asked = asked.clone();
        // The notes here answer for what is published from here. A vault of another keeper's is another one.
        let own = team.kept.iter().filter(|kept| !kept.is_of_another());
        asked.without = own.map(|kept| kept.vault.clone()).collect();
        let (answer, answered) = mpsc::channel();
        let within = team.config.timeout;
        question.until = question.until.max(Instant::now() + within);
        team.urgent.spawn(async move {
            // The caller may have gone.
            let _ = answer.send(reader.search(&asked, within).await);
        });
        question.waits.push((team.clone(), answered));
    }
    question
}

impl Question {
    /// What was found, and warnings, such as about teams that did not answer in time.
    ///
    /// # Errors
    /// `cancel` is raised.
    pub(crate) fn wait(self, cancel: &Cancel) -> Result<(FoundOutside, Vec<String>), CallError> {
        let Question { teams, waits, until, mut warnings, query, contextual, narrowed } = self;
        let mut found = FoundOutside { teams, ..FoundOutside::default() };
        for (team, answered) in waits {
            match wait_for(&answered, until, cancel)? {
                Some(Ok(answer)) => {
                    warnings
                        .extend(answer.without_vectors.map(|why| format!("words alone asked `{}`: {why}", team.name)));
                    let full = narrowed.is_some_and(|most| answer.found.len() >= most);
                    warnings.extend(full.then(|| {
                        let (name, looked) = (&team.name, answer.found.len());
                        format!(
                            "`{name}`: what is asked for besides words was looked for in its best {looked} chunks only"
                        )
                    }));
                    let engine = found.statistics.len();
                    found.statistics.push(answer.statistics);
                    let chunks = answer.found.into_iter().filter_map(|found| outside(engine, &team.name, found));
                    found.chunks.extend(chunks);
                }
                Some(Err(failure)) => warnings.push(format!("without `{}`: {failure}", team.name)),
                None => {
                    let within = team.config.timeout.as_millis();
                    warnings.push(format!("without `{}`: no answer within {within} ms", team.name));
                }
            }
        }
        number(&mut found.chunks);
        keep_admitted(&query, &mut found.chunks, contextual);
        Ok((found, warnings))
    }
}

/// What a team is asked, and whether that is all that the query asks for.
fn asked(query: &Parsed, options: &Options, vector: Option<(String, Vector)>) -> (Asked, bool) {
    let (conditions, is_all) = pushed(query);
    // Words of phrases count like others; whether they stand in a row is checked in the chunks that come.
    let words = [vec![query.words.clone()], query.phrases.clone()].concat().join(" ");
    let depth = DEPTH.max(options.limit * 3);
    let asked = Asked {
        words: if options.mode == Mode::Dense { String::new() } else { words },
        contextual: options.contextual,
        expansion: options.expansion_weight,
        vector: vector.filter(|_| options.mode != Mode::Lexical),
        conditions,
        depth: if is_all { depth } else { depth * NARROWED },
        without: Vec::new(),
    };
    (asked, is_all)
}

/// The conditions of a query that a team can be asked for: every chunk that meets the query meets them. Also whether
/// the query asks for nothing besides them and its free words.
fn pushed(query: &Parsed) -> (Vec<Condition>, bool) {
    let filter = query.filter.elsewhere();
    let day = |day: Option<Date>| day.map(::team::point::number);
    let mut conditions: Vec<Condition> = filter.tags.into_iter().map(Condition::Tags).collect();
    conditions.extend((!filter.paths.is_empty()).then_some(Condition::Paths(filter.paths)));
    conditions.extend((!filter.kinds.is_empty()).then_some(Condition::Kinds(filter.kinds)));
    let (from, to) = filter.days;
    conditions.extend((from.is_some() || to.is_some()).then(|| Condition::Days(day(from), day(to))));
    let [tags, without, kinds] = filter.without;
    let not = [(tags.is_empty(), Condition::Tags(tags)), (kinds.is_empty(), Condition::Kinds(kinds))];
    let not = not.into_iter().chain([(without.is_empty(), Condition::Paths(without))]);
    conditions.extend(not.filter(|(empty, _)| !empty).map(|(_, condition)| Condition::Not(Box::new(condition))));
    let mut is_all = filter.is_all && query.phrases.is_empty() && query.without.is_empty() && query.patterns.is_empty();
    if let Some(required) = &query.required {
        let (condition, all) = required_of(required);
        conditions.extend(condition);
        is_all &= all;
    }
    (conditions, is_all)
}

/// The same for what AND, OR and NOT ask for.
fn required_of(required: &Required) -> (Option<Condition>, bool) {
    let each = |parts: &[Required]| parts.iter().map(required_of).collect::<(Vec<_>, Vec<_>)>();
    match required {
        Required::One { query, .. } => {
            let (conditions, is_all) = pushed(query);
            ((!conditions.is_empty()).then_some(Condition::All(conditions)), is_all)
        }
        // Only an exact condition can be negated: one that admits more than the part would exclude too much.
        Required::Not(part) => match required_of(part) {
            (Some(condition), true) => (Some(Condition::Not(Box::new(condition))), true),
            _ => (None, false),
        },
        Required::All(parts) => {
            let (conditions, all) = each(parts);
            let conditions: Vec<Condition> = conditions.into_iter().flatten().collect();
            ((!conditions.is_empty()).then_some(Condition::All(conditions)), all.iter().all(|all| *all))
        }
        Required::Any(parts) => {
            let (conditions, all) = each(parts);
            let conditions: Option<Vec<Condition>> = conditions.into_iter().collect();
            let is_all = conditions.is_some() && all.iter().all(|all| *all);
            (conditions.map(Condition::Any), is_all)
        }
    }
}

/// A chunk of a team as the ranking takes it; `None` if its path is not valid.
fn outside(engine: usize, team: &str, found: Found) -> Option<Outside> {
    let Found { payload, lexical, dense } = found;
    let Payload {
        vault, path, title, aliases, headings, own_tags, links, kind, date, created, modified, mtime, ..
    } = payload;
    let day = |day: Option<String>| day.and_then(|day| day.parse().ok());
    let (title, kind) = (&*title, kind.as_deref());
    let texts = Said { title, kind, aliases: &aliases, tags: &own_tags, links: &links, ..Said::default() };
    let note = NoteEntry {
        stat: FileStat { mtime_ns: mtime.saturating_mul(1_000_000_000), ..FileStat::default() },
        texts: texts.pack(),
        days: OwnDays { about: day(date), created: day(created), modified: day(modified) },
        ..NoteEntry::new(0, payload.revision, VaultPath::parse(&path)?)
    };
    Some(Outside {
        engine,
        vault: format!("{team}/{vault}"),
        note,
        chunk: payload.chunk,
        heading_path: headings,
        lines: payload.lines,
        text: payload.text,
        context: payload.context,
        language: Language::of_code(&payload.language).unwrap_or_default(),
        lexical,
        dense,
    })
}

/// Gives each note a number of its own.
fn number(found: &mut [Outside]) {
    let mut known = std::collections::HashMap::new();
    for chunk in found {
        let next = known.len() as u32 + 1;
        chunk.note.no = *known.entry((chunk.vault.clone(), chunk.note.path.clone())).or_insert(next);
    }
}
