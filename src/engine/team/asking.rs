//! Searches of teams' collections, beside the vaults: begun before these are asked, and waited for no longer than a search
//! may wait.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use super::Team;
use crate::handle::{CallError, Cancel};
use ::team::point::Payload;
use ::team::{Answer, Asked, Condition, Failure, Found};
use index::embed::Vector;
use index::search::{Options, Outside, Parsed};
use index::{Language, NoteEntry};
use jiff::civil::Date;
use note::{FileStat, OwnDays, VaultPath};
use protocol::search::Mode;

/// Chunks of each lane at least.
const DEPTH: usize = 60;

/// So many times as many, where some of them are left out afterwards.
const NARROWED: usize = 4;

/// How often is looked whether the caller has gone.
const LOOK: Duration = Duration::from_millis(20);

/// A search that is under way.
pub(crate) struct Question {
    waits: Vec<(Arc<Team>, Receiver<Result<Answer, Failure>>)>,
    until: Instant,
    warnings: Vec<String>,
    /// What must stand in a chunk, and what must not: looked for in what comes.
    phrases: Vec<String>,
    without: Vec<String>,
    contextual: bool,
}

/// Begins to ask the teams that are searched what is asked of the vaults; `vector` is the query's, with who made it.
pub(super) fn begin(
    teams: &BTreeMap<String, Arc<Team>>,
    query: &Parsed,
    options: &Options,
    vector: Option<(String, Vector)>,
) -> Question {
    let mut question = Question {
        waits: Vec::new(),
        until: Instant::now(),
        warnings: Vec::new(),
        phrases: query.phrases.clone(),
        without: query.without.clone(),
        contextual: options.contextual,
    };
    let asked = asked(query, options, vector);
    for team in teams.values() {
        let Some(reader) = team.reader.clone() else { continue };
        let Some(mut asked) = asked.clone() else {
            let name = &team.name;
            question
                .warnings
                .push(format!("`{name}` was not asked: it knows no AND, OR and NOT, patterns, links and properties"));
            continue;
        };
        asked.without = team.kept.iter().map(|kept| kept.vault.clone()).collect();
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
    /// What was found, and what is to be said of whom nobody waited for.
    ///
    /// # Errors
    /// `cancel` is raised.
    pub(crate) fn wait(self, cancel: &Cancel) -> Result<(Vec<Outside>, Vec<String>), CallError> {
        let Question { waits, until, mut warnings, phrases, without, contextual } = self;
        let mut found = Vec::new();
        for (team, answered) in waits {
            let answer = loop {
                cancel.check()?;
                let left = until.saturating_duration_since(Instant::now());
                match answered.recv_timeout(left.min(LOOK)) {
                    Ok(answer) => break Some(answer),
                    Err(RecvTimeoutError::Timeout) if !left.is_zero() => {}
                    Err(_) => break None,
                }
            };
            match answer {
                Some(Ok(answer)) => {
                    warnings
                        .extend(answer.without_vectors.map(|why| format!("words alone asked `{}`: {why}", team.name)));
                    found.extend(answer.found.into_iter().filter_map(|found| outside(&team.name, found)));
                }
                Some(Err(failure)) => warnings.push(format!("without `{}`: {failure}", team.name)),
                None => {
                    let within = team.config.timeout.as_millis();
                    warnings.push(format!("without `{}`: no answer within {within} ms", team.name));
                }
            }
        }
        let holds = |chunk: &Outside, phrase: &String| holds_phrase(chunk, phrase, contextual);
        found.retain(|chunk| {
            phrases.iter().all(|phrase| holds(chunk, phrase)) && !without.iter().any(|phrase| holds(chunk, phrase))
        });
        number(&mut found);
        Ok((found, warnings))
    }
}

/// What a team is asked; `None` if it cannot be asked for all that the query says.
fn asked(query: &Parsed, options: &Options, vector: Option<(String, Vector)>) -> Option<Asked> {
    let plain = query.patterns.is_empty() && query.required.is_none() && query.has_text();
    let filter = query.filter.elsewhere().filter(|_| plain)?;
    let day = |day: Option<Date>| day.map(::team::point::number);
    let paths = |paths: Vec<String>| {
        let with_ending = |path: String| [format!("{path}.md"), path];
        Condition::Paths(paths.into_iter().flat_map(with_ending).collect())
    };
    let mut conditions: Vec<Condition> = filter.tags.into_iter().map(|tag| Condition::Tags(vec![tag])).collect();
    conditions.extend((!filter.paths.is_empty()).then(|| paths(filter.paths)));
    conditions.extend((!filter.kinds.is_empty()).then_some(Condition::Kinds(filter.kinds)));
    let (from, to) = filter.days;
    conditions.extend((from.is_some() || to.is_some()).then(|| Condition::Days(day(from), day(to))));
    let [tags, without, kinds] = filter.without;
    let not = [(tags.is_empty(), Condition::Tags(tags)), (kinds.is_empty(), Condition::Kinds(kinds))];
    let not = not.into_iter().chain([(without.is_empty(), paths(without))]);
    conditions.extend(not.filter(|(empty, _)| !empty).map(|(_, condition)| Condition::Not(Box::new(condition))));
    // Words of phrases count like others; whether they stand in a row is seen in what comes.
    let words = [vec![query.words.clone()], query.phrases.clone()].concat().join(" ");
    let depth = DEPTH.max(options.limit * 3);
    let narrowed = !query.phrases.is_empty() || !query.without.is_empty();
    Some(Asked {
        words: if options.mode == Mode::Dense { String::new() } else { words },
        contextual: options.contextual,
        expansion: options.expansion_weight,
        vector: vector.filter(|_| options.mode != Mode::Lexical),
        conditions,
        depth: if narrowed { depth * NARROWED } else { depth },
        without: Vec::new(),
    })
}

/// A chunk of a team as the ranking takes it; `None` if its path is none.
fn outside(team: &str, found: Found) -> Option<Outside> {
    let Found { payload, lexical, dense } = found;
    let Payload {
        vault, path, title, aliases, headings, own_tags, links, kind, date, created, modified, mtime, ..
    } = payload;
    let day = |day: Option<String>| day.and_then(|day| day.parse().ok());
    let note = NoteEntry {
        no: 0,
        seq: payload.revision,
        path: VaultPath::parse(&path)?,
        stat: FileStat { mtime_ns: mtime.saturating_mul(1_000_000_000), ..FileStat::default() },
        title,
        aliases,
        tags: own_tags,
        kind,
        days: OwnDays { about: day(date), created: day(created), modified: day(modified) },
        properties: "{}".into(),
        links,
        conflict: false,
        rows: Vec::new(),
    };
    Some(Outside {
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

/// Whether a chunk has a phrase in one of the texts that it is found by.
fn holds_phrase(chunk: &Outside, phrase: &str, contextual: bool) -> bool {
    let Outside { note, heading_path, text, context, language, .. } = chunk;
    let names = [&note.title].into_iter().chain(&note.aliases).chain(heading_path).chain(&note.tags);
    let context = Some(context).filter(|_| contextual);
    [text].into_iter().chain(names).chain(context).any(|text| index::terms::holds(text, phrase, *language))
}

/// Gives each note a number of its own.
fn number(found: &mut [Outside]) {
    let mut known = std::collections::HashMap::new();
    for chunk in found {
        let next = known.len() as u32 + 1;
        chunk.note.no = *known.entry((chunk.vault.clone(), chunk.note.path.clone())).or_insert(next);
    }
}
