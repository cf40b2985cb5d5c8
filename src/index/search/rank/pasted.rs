//! Which signs of a query are those of a text that was pasted: `[ERROR] refused` asks for no property, `rsync -avz` leaves
//! nothing out. The signs alone do not say so, but the notes do.

use std::sync::Arc;

use jiff::civil::Date;

use super::allowed;
use crate::search::filter::Filter;
use crate::search::limits::MAX_PHRASE_WORDS;
use crate::search::query::{AsWords, LinePattern};
use crate::search::{Options, Parsed};
use crate::{LexicalError, Snapshot, is_stop_word};
use note::Private;

/// Nobody types more conditions in brackets: of a text with more, the others are words.
const MOST_BRACKETS: usize = 8;

/// A vault that a query is asked of: its name, its notes, and which of them are hidden from the asker.
pub type Shown<'a> = (&'a str, &'a Snapshot, Option<Arc<Private>>);

/// The query as its asker means it, which `parse` reads again if some signs are words:
///
/// - brackets, if no note has a property of that name; what `teams` have besides is not known here;
/// - exclusions, and AND and OR beside them, if a passage that has all other words writes one of them with its sign.
///
/// # Errors
/// `parse` fails, or a word index cannot be read, or the search is cancelled.
pub fn settled<E: From<LexicalError>>(
    mut query: Parsed,
    parse: &dyn Fn(&AsWords) -> Result<Parsed, E>,
    (vaults, teams): (&[Shown<'_>], &[String]),
    options: &Options,
) -> Result<Parsed, E> {
    if vaults.is_empty() {
        return Ok(query);
    }
    let (mut as_words, mut said) = (AsWords::default(), Vec::new());
    for (at, (name, typed)) in query.doubtful.brackets.iter().enumerate() {
        if as_words.brackets.contains(name) || (at < MOST_BRACKETS && is_property(name, vaults, options)?) {
            continue;
        }
        as_words.brackets.push(name.clone());
        // What has a value, or stands alone, may have been meant as a condition; of several the first says enough.
        if said.is_empty() && (typed.contains(':') || !query.has_text()) {
            let names: Vec<String> = teams.iter().map(|team| format!("`{team}`")).collect();
            let why = match &names[..] {
                [] => "no note has such a property".to_owned(),
                [team] => format!("no note here has such a property, and {team} is not told of properties"),
                teams => {
                    format!("no note here has such a property, and {} are not told of properties", teams.join(", "))
                }
            };
            said.push(format!("{} is searched for as words: {why}", quoted(typed)));
        }
    }
    if !as_words.brackets.is_empty() {
        query = parse(&as_words)?;
    }
    let excluded: Vec<String> = query.doubtful.exclusions.iter().map(|typed| quoted(typed)).collect();
    let is_long = query.words.split_whitespace().nth(MAX_PHRASE_WORDS).is_some();
    if !excluded.is_empty() && !is_long {
        let words = parse(&AsWords { exclusions: true, ..as_words })?;
        let (are, leave, them) = if excluded.len() > 1 { ("are", "leave", "one") } else { ("is", "leaves", "it") };
        let excluded = excluded.join(", ");
        said.extend(if is_written(&query, vaults, options)? {
            query = words;
            Some(format!(
                "{excluded} {are} searched for as words, because a note writes {them} so; what stands in quotes is left out: \
                 `-\"word\"`"
            ))
        } else if query.shown().nth(1).is_some() {
            // Whoever joins words by operators knows what NOT is.
            None
        } else if query.has_text() {
            match having_all(&without_operator(words), vaults, options)? {
                0 => None,
                1 => Some(format!("{excluded} {leave} out a note that has all other words")),
                n => Some(format!("{excluded} {leave} out {n} notes that have all other words")),
            }
        } else {
            let only = query.filter.asks_nothing();
            only.then(|| format!("the query only leaves out {excluded}: of the other notes the newest are listed"))
        });
    }
    query.warnings.extend(said);
    Ok(query)
}

/// The query without the operator, which a note need not have to be left out.
fn without_operator(query: Parsed) -> Parsed {
    let words: Vec<&str> = query.words.split(' ').filter(|word| *word != "NOT").collect();
    Parsed { words: words.join(" "), ..query }
}

fn quoted(typed: &str) -> String {
    /// Characters that are shown.
    const SHOWN: usize = 60;
    format!("`{}`", typed.chars().take(SHOWN).collect::<String>())
}

/// Whether a note that the asker may see has a property of this name, with a value or without.
fn is_property(name: &str, vaults: &[Shown<'_>], options: &Options) -> Result<bool, LexicalError> {
    for (_, snapshot, hidden) in vaults {
        let mut having = Filter::default();
        // Without a letter it is no name.
        let is_name = having.add_property("", (name, "* OR null"), true, Date::default()).is_ok();
        having.hidden.clone_from(hidden);
        if is_name && !having.notes(snapshot, &options.cancel)?.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a passage that has all other words of the query has one of the exclusions as it was typed, sign and all.
fn is_written(query: &Parsed, vaults: &[Shown<'_>], options: &Options) -> Result<bool, LexicalError> {
    for typed in &query.doubtful.exclusions {
        let Ok(line) = LinePattern::new(&format!(r"(?:^|\W){}(?:\W|$)", regex::escape(typed))) else { continue };
        let word = typed.trim_start_matches("NOT ").trim_start_matches('-');
        // Of another option of the command (`-f`) it need not have the letter.
        let words: Vec<&str> = query.words.split(' ').filter(|other| other.len() > 1).chain([word]).collect();
        let words = words.join(" ");
        let patterns = query.patterns.iter().cloned().chain([(true, line)]).collect();
        let asked = Parsed { words, patterns, without: Vec::new(), required: None, ..query.clone() };
        if having_all(&asked, vaults, options)? > 0 {
            return Ok(true);
        }
    }
    Ok(false)
}

/// How many notes have a passage that meets the query and has each of its words; of those of a question the ones that say
/// what it is about.
fn having_all(query: &Parsed, vaults: &[Shown<'_>], options: &Options) -> Result<usize, LexicalError> {
    let words = || query.words.split_whitespace().filter(|word| crate::terms::has_words(word));
    let says_all = words().all(is_stop_word);
    let words = words().filter(|word| says_all || !is_stop_word(word)).map(str::to_owned);
    let phrases = query.phrases.iter().cloned().chain(words).collect();
    let asked = Parsed { phrases, ..query.clone() };
    let mut notes = 0;
    for (name, snapshot, hidden) in vaults {
        let mut asked = asked.clone();
        asked.of_vault(name);
        asked.filter.hidden.clone_from(hidden);
        let Some(rows) = allowed(snapshot, &asked, options)? else { continue };
        notes += snapshot.notes().filter(|note| note.rows.iter().any(|row| rows.contains(row))).count();
    }
    Ok(notes)
}
