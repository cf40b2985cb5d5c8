//! Builds the requests to a model and reads its answers. Pure, and stable to the byte: a provider's cache needs equal
//! prefixes.
//!
//! A request is three texts: instructions (ours and the user's), the note as a [`Document`] whose text cannot be
//! mistaken for anything else, and the question.

mod answer;
mod clean;
mod own;
mod render;
#[cfg(test)]
mod tests;
mod words;

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use note::fingerprint::Fields;

use super::document::{Document, Passage};
use super::models::Model;
use super::own_prompt::OwnPrompt;
use super::settings::{ContextConfig, ExpansionChoice, FormChoice, KindPrompt, Length};
use super::template::TEMPLATE;
use render::{Keep, Limits, Meter, Show};

pub use answer::{Caption, captions, schema};
pub use clean::clean;

/// Version of the fixed prompts: part of the generation.
pub const PROMPT: &str = "p1";

/// The same where questions and terms are asked for beside contexts.
pub const EXPANDED_PROMPT: &str = "p1q1";

/// The most passages asked for in one call.
const MOST_PASSAGES: usize = 24;

/// The same where questions and terms are asked for: fewer passages, so that the answer is no longer.
const MOST_EXPANDED: usize = 12;

/// Above so many tokens of a note, answers begin to mix passages up, so one call asks for fewer.
pub const LONG_NOTE: u32 = 6_000;

/// Passages asked for in one call about a longer note, where the provider's cache makes it cheap to show the note
/// again.
pub const PASSAGES_OF_LONG: usize = 8;

/// Tokens that a provider puts around the texts of a request, about.
const FRAME_TOKENS: u32 = 20;

/// Tokens around a passage in a question: its tags, number and section.
const PASSAGE_FRAME: u32 = 80;

/// Tokens before and after a passage that are shown with it if its note is too long to be shown. They are not cached
/// and cost anew for every passage, so they are kept to what a pronoun may refer to.
const WINDOW_TOKENS: u32 = 1_500;

/// Tokens of a whole simple request: what small local models are run with.
const SIMPLE_TOKENS: u32 = 4_096;

/// Characters of the note's beginning in a simple request.
const BEGINNING_CHARS: usize = 400;

/// The version of a kind's instructions if the user gave none.
const DEFAULT_VERSION: u32 = 1;

/// How a context was asked for.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize, strum::IntoStaticStr,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Form {
    /// The whole note, JSON for all passages that need a context.
    Note,
    /// The note as a cacheable prefix, one passage.
    Chunk,
    /// The passage with title, path and lead, without the note.
    #[default]
    Simple,
}

/// One request to a model.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Prompt {
    /// How it asks.
    pub form: Form,
    /// Instructions, the same for all notes of a kind.
    pub system: String,
    /// The note: the same bytes in every request about it. Empty in [`Form::Simple`].
    pub document: String,
    /// The question.
    pub task: String,
    /// Passages asked for, by number.
    pub wanted: Vec<u32>,
    /// Whether the answer is JSON after [`schema`]; plain text otherwise.
    pub json: bool,
    /// Whether questions and terms are asked for beside each context.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub expansion: bool,
    /// Tokens of the answer at most.
    pub max_tokens: u32,
    /// Whether more requests with this document follow, so that caching it pays.
    pub cache: bool,
    /// Whether the document was cut to fit.
    pub cut: bool,
    /// Tokens of the whole prompt, estimated for the model.
    pub tokens: u32,
}

/// Asks about notes in the way that a configuration says.
#[derive(Clone, Debug, PartialEq)]
pub struct Prompter {
    config: ContextConfig,
    model: Model,
}

/// What all requests per passage of a note share.
struct Prefix {
    system: String,
    document: String,
    cut: bool,
    /// Tokens of a passage in the question, and of what surrounds it if the document is cut.
    passage: u32,
    window: u32,
}

/// How many passages are asked for in one call at most.
pub fn most_passages(expansion: ExpansionChoice) -> usize {
    match expansion {
        ExpansionChoice::Off => MOST_PASSAGES,
        ExpansionChoice::Questions => MOST_EXPANDED,
    }
}

/// How many passages of a note of `note` tokens are asked for in one call: fewer of a long note, if the provider caches
/// it, so that reading it again costs little.
pub fn passages_at_once(model: &Model, config: &ContextConfig, note: u32) -> usize {
    let cached = model.min_cache_tokens.is_some_and(|least| note >= least);
    let few = config.form == FormChoice::Auto && note > LONG_NOTE && cached;
    if few { PASSAGES_OF_LONG } else { most_passages(config.expansion) }
}

/// Share of the words that the simplest passage gets.
const SIMPLEST: f32 = 0.4;

/// How much there is to say about a passage, 0..=1: by its length, and by how many different words it has. From 150
/// words on, 80 of them different, it is 1.
fn complexity(text: &str) -> f32 {
    let words: Vec<String> = text.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).filter(|word| !word.is_empty()).collect();
    let different = words.iter().collect::<BTreeSet<_>>().len();
    f32::midpoint((words.len() as f32 / 150.0).min(1.0), (different as f32 / 80.0).min(1.0))
}

impl Prompter {
    /// For a configuration and what is known about its model.
    pub fn new(config: &ContextConfig, model: &Model) -> Self {
        Prompter { config: config.clone(), model: model.clone() }
    }

    /// The same prompter, asking for contexts only.
    #[must_use]
    pub fn without_expansion(&self) -> Self {
        let config = ContextConfig { expansion: ExpansionChoice::Off, ..self.config.clone() };
        Prompter { config, model: self.model.clone() }
    }

    /// Whether requests about notes of a kind ask for questions and terms. The user's own prompt asks for one text
    /// only.
    fn expands(&self, kind: Option<&str>) -> bool {
        let own = self.further(kind).is_some_and(|further| further.own.is_some());
        self.config.expansion == ExpansionChoice::Questions && !own
    }

    /// The generation of contexts of notes of a kind: provider, model, prompt version and what the user's
    /// instructions for the kind add, e.g. `anthropic/claude-haiku-5-5/p1` or `…/p1+3f2a91c0`.
    pub fn generation(&self, kind: Option<&str>) -> String {
        if !self.config.costs() {
            return TEMPLATE.to_owned();
        }
        let prompt = if self.expands(kind) { EXPANDED_PROMPT } else { PROMPT };
        let plain = format!("{}/{}/{prompt}", self.config.provider.name(), self.config.model());
        let default = ContextConfig::default();
        let (instructions, version) =
            self.further(kind).map_or(("", DEFAULT_VERSION), |further| (further.instructions.trim(), further.version));
        let own = self.further(kind).and_then(|further| further.own.as_ref()).map_or("", OwnPrompt::text);
        let ContextConfig { max_words, form, min_words, length, .. } = self.config;
        let newer = (own, min_words, length);
        if (instructions, version, max_words, form) == ("", DEFAULT_VERSION, default.max_words, default.form)
            && newer == ("", None, Length::Fixed)
        {
            return plain;
        }
        let form = match form {
            FormChoice::Auto => "auto",
            FormChoice::Note => "note",
            FormChoice::Chunk => "chunk",
        };
        let fields = Fields::new("prompt/1").bytes(instructions.as_bytes()).number(version.into());
        let fields = fields.number(max_words.into()).bytes(form.as_bytes());
        // Settings that older versions did not have change the hash only where they are used.
        let fields = match newer {
            ("", None, Length::Fixed) => fields,
            (own, least, length) => {
                let dynamic = u64::from(length == Length::Dynamic);
                fields.bytes(own.as_bytes()).number(least.unwrap_or(0).into()).number(dynamic)
            }
        };
        let [a, b, c, d, ..] = fields.finish();
        format!("{plain}+{a:02x}{b:02x}{c:02x}{d:02x}")
    }

    /// Requests for these passages of a note. Each shows the whole note, as far as the model reads it, and asks for
    /// several passages, or for one where the configuration says so. Numbers that the note does not have are left out.
    pub fn ask(&self, document: &Document, wanted: &[u32]) -> Vec<Prompt> {
        let asked: BTreeSet<u32> = wanted.iter().copied().collect();
        let wanted: Vec<&Passage> = document.passages.iter().filter(|p| asked.contains(&p.n)).collect();
        if wanted.is_empty() {
            return Vec::new();
        }
        if let Some(own) = self.own(document) {
            let fill = |passage: &&Passage| self.in_own_words(own, document, passage);
            let mut prompts: Vec<Prompt> = wanted.iter().map(fill).collect();
            let alike = prompts.windows(2).all(|pair| pair[0].document == pair[1].document);
            let pays = |prompt: &Prompt| self.caching_pays(&prompt.system, &prompt.document);
            let cache = prompts.len() > 1 && alike && prompts.first().is_some_and(pays);
            prompts.iter_mut().for_each(|prompt| prompt.cache = cache);
            return prompts;
        }
        let whole = render::whole(document);
        let tokens = self.meter().tokens(&whole);
        let system = self.system(Form::Note, document);
        let at_once = wanted.len().min(most_passages(self.config.expansion));
        // The question has a number for each passage.
        let answer = self.max_tokens(Form::Note, at_once, document);
        let room = self.room(&system, answer.saturating_add(4 * at_once as u32));
        if self.config.form == FormChoice::Chunk {
            let prefix = self.prefix(document, whole);
            let cache = wanted.len() > 1 && self.caching_pays(&prefix.system, &prefix.document);
            wanted.iter().map(|passage| self.about_passage(document, passage, &prefix, cache)).collect()
        } else if tokens <= room {
            // Each call asks for about as many passages as the others: models lose count in long answers.
            let calls = wanted.len().div_ceil(passages_at_once(&self.model, &self.config, tokens));
            let groups = wanted.chunks(wanted.len().div_ceil(calls));
            let cache = calls > 1 && self.caching_pays(&system, &whole);
            let ask = |group: &[&Passage]| self.about_note(&system, (document, &whole), group, cache, false);
            groups.map(ask).collect()
        } else {
            self.ask_in_parts(document, &wanted, &system, room)
        }
    }

    /// The request for one passage with the note before it: system and document are the same bytes for every passage of
    /// a note. A note that is too long is cut to outline and lead; then the question holds the passage's surroundings.
    /// [`Prompt::cache`] is not set, since only the caller knows whether more follow. For a number that the note does
    /// not have, it asks for nothing.
    pub fn ask_one(&self, document: &Document, n: u32) -> Prompt {
        if let Some((own, passage)) = self.own(document).zip(document.passage(n)) {
            return self.in_own_words(own, document, passage);
        }
        let prefix = self.prefix(document, render::whole(document));
        match document.passage(n) {
            Some(passage) => self.about_passage(document, passage, &prefix, false),
            None => self.prompt(Form::Chunk, document, [prefix.system, prefix.document, String::new()], Vec::new()),
        }
    }

    /// The request that small models can follow; it is also the last try. As a whole it takes at most 4,096 tokens (or
    /// what the model can read, if that is less).
    pub fn ask_simply(&self, document: &Document, n: u32) -> Prompt {
        let system = self.system(Form::Simple, document);
        let Some(passage) = document.passage(n) else {
            return self.prompt(Form::Simple, document, [system, String::new(), String::new()], Vec::new());
        };
        let mut task = format!("Note: {}", render::one_line(&document.title, 200));
        if let Some(date) = &document.date {
            task.push_str(&format!(" ({})", render::one_line(date, 40)));
        }
        let label = render::label(document, passage);
        if !label.is_empty() {
            task.push_str(&format!("\nSection: {label}"));
        }
        let beginning = document.text.char_indices().nth(BEGINNING_CHARS).map_or(document.text.len(), |(end, _)| end);
        // Only text before the passage: the passage itself follows.
        let beginning = document.text.floor_char_boundary(beginning.min(passage.span.start));
        if !document.text[..beginning].trim().is_empty() {
            task.push_str(&format!(
                "\nNote begins: {}",
                render::one_line(&document.text[..beginning], BEGINNING_CHARS)
            ));
        }
        let meter = self.meter();
        let taken = meter.tokens(&system).saturating_add(meter.tokens(&task)).saturating_add(PASSAGE_FRAME);
        let room = SIMPLE_TOKENS.min(self.model.context_size).saturating_sub(taken);
        let room = room.saturating_sub(self.max_tokens(Form::Simple, 1, document));
        let text = render::escaped(document.passage_text(passage));
        let (text, cut) = meter.fit(&text, room, Keep::Ends);
        task.push_str(&format!("\n<passage>\n{text}\n</passage>\n{}", words::SIMPLE_TASK));
        Prompt { cut, ..self.prompt(Form::Simple, document, [system, String::new(), task], vec![passage.n]) }
    }

    /// Requests for passages of a note that is too long to be shown: outline, lead, the passages asked for, and
    /// their neighbours as far as there is room.
    fn ask_in_parts(&self, document: &Document, wanted: &[&Passage], system: &str, room: u32) -> Vec<Prompt> {
        let meter = self.meter();
        let limits = Limits::within(room, meter);
        let room = room.saturating_sub(meter.tokens(&render::head(document, Some(limits)))).saturating_sub(limits.lead);
        let tokens = |passage: &Passage| {
            meter.tokens(&render::escaped(document.passage_text(passage))).saturating_add(render::MARKS_TOKENS)
        };
        // A quarter is kept for neighbours.
        let most = room - room / 4;
        let mut groups: Vec<(u32, Vec<&Passage>)> = Vec::new();
        for passage in wanted {
            let needs = tokens(passage);
            match groups.last_mut() {
                Some((used, group))
                    if group.len() < most_passages(self.config.expansion) && used.saturating_add(needs) <= most =>
                {
                    *used += needs;
                    group.push(passage);
                }
                _ => groups.push((needs, vec![passage])),
            }
        }
        let ask = |(used, group): (u32, Vec<&Passage>)| {
            let mut used = used;
            let mut shown = vec![Show::No; document.passages.len()];
            if let Some(first) = shown.first_mut() {
                *first = Show::Lead;
            }
            let at = |passage: &Passage| document.passages.partition_point(|other| other.n < passage.n);
            for passage in &group {
                if let Some(show) = shown.get_mut(at(passage)) {
                    *show = Show::All;
                }
            }
            for place in group.iter().map(|passage| at(passage)) {
                for neighbour in [place.checked_sub(1), Some(place + 1)].into_iter().flatten() {
                    let places = (document.passages.get(neighbour), shown.get_mut(neighbour));
                    let (Some(passage), Some(show)) = places else { continue };
                    let needs = tokens(passage);
                    if *show != Show::All && used.saturating_add(needs) <= room {
                        used += needs;
                        *show = Show::All;
                    }
                }
            }
            // Only a passage that is alone in its group can be too long; the lead may cut it into three runs.
            let run = if used > room { room / 3 } else { u32::MAX };
            let text = render::parts(document, &shown, Limits { run, ..limits });
            self.about_note(system, (document, &text), &group, false, true)
        };
        groups.into_iter().map(ask).collect()
    }

    /// The user's own prompt for notes of this kind.
    fn own(&self, document: &Document) -> Option<&OwnPrompt> {
        self.further(document.kind.as_deref())?.own.as_ref()
    }

    /// The user's own prompt, filled in.
    fn in_own_words(&self, own: &OwnPrompt, document: &Document, passage: &Passage) -> Prompt {
        let system = words::of_own().to_owned();
        let answer = self.max_tokens(Form::Chunk, 1, document);
        let room = self.room(&system, answer).saturating_sub(self.meter().tokens(own.text()));
        let filled =
            own::fill(own, document, passage, self.words_for(document, passage).into_inner(), room, self.meter());
        let prompt = self.prompt(Form::Chunk, document, [system, filled.prefix, filled.task], vec![passage.n]);
        Prompt { cut: filled.cut, ..prompt }
    }

    /// The number of words that a passage's context is asked to have.
    fn words_for(&self, document: &Document, passage: &Passage) -> RangeInclusive<u32> {
        let (least, most) = self.config.words().into_inner();
        match self.config.length {
            Length::Fixed => least..=most,
            Length::Dynamic => {
                let share = SIMPLEST + (1.0 - SIMPLEST) * complexity(document.passage_text(passage));
                least..=((most as f32 * share).round() as u32).max(least)
            }
        }
    }

    fn about_note(
        &self,
        system: &str,
        (shown, document): (&Document, &str),
        group: &[&Passage],
        cache: bool,
        cut: bool,
    ) -> Prompt {
        let wanted: Vec<u32> = group.iter().map(|passage| passage.n).collect();
        let number = |passage: &&Passage| match self.config.length {
            Length::Fixed => passage.n.to_string(),
            Length::Dynamic => format!("{} (at most {} words)", passage.n, self.words_for(shown, passage).end()),
        };
        let numbers: Vec<String> = group.iter().map(number).collect();
        let task = format!("Write captions for passages: {}.", numbers.join(", "));
        let texts = [system.to_owned(), document.to_owned(), task];
        Prompt { cache, cut, ..self.prompt(Form::Note, shown, texts, wanted) }
    }

    /// Depends on the note alone, not on a passage.
    fn prefix(&self, document: &Document, whole: String) -> Prefix {
        let meter = self.meter();
        let system = self.system(Form::Chunk, document);
        let room = self.room(&system, self.max_tokens(Form::Chunk, 1, document));
        let tokens = |passage: &Passage| meter.tokens(&render::escaped(document.passage_text(passage)));
        let passage = document.passages.iter().map(tokens).max().unwrap_or(0).min(room / 3);
        let left = room.saturating_sub(passage.saturating_add(PASSAGE_FRAME));
        if meter.tokens(&whole) <= left {
            return Prefix { system, document: whole, cut: false, passage, window: 0 };
        }
        let limits = Limits::within(room, meter);
        let mut shown = vec![Show::No; document.passages.len()];
        if let Some(first) = shown.first_mut() {
            *first = Show::Lead;
        }
        let document = render::parts(document, &shown, limits);
        let window = left.saturating_sub(meter.tokens(&document)).min(WINDOW_TOKENS);
        Prefix { system, document, cut: true, passage, window }
    }

    fn about_passage(&self, document: &Document, passage: &Passage, prefix: &Prefix, cache: bool) -> Prompt {
        let meter = self.meter();
        let text = render::escaped(document.passage_text(passage));
        let (text, cut) = meter.fit(&text, prefix.passage, Keep::Ends);
        let (before, after) = render::around(document, passage, prefix.window, meter);
        let label = render::label(document, passage);
        let task = format!(
            "{before}<passage n=\"{}\" section=\"{label}\">\n{text}\n</passage>\n{after}{}",
            passage.n,
            self.one(document, passage)
        );
        let texts = [prefix.system.clone(), prefix.document.clone(), task];
        Prompt { cache, cut: prefix.cut || cut, ..self.prompt(Form::Chunk, document, texts, vec![passage.n]) }
    }

    /// The end of the question about one passage.
    fn one(&self, document: &Document, passage: &Passage) -> String {
        let expands = self.expands(document.kind.as_deref());
        let one = if expands { words::ONE_EXPANDED } else { words::ONE };
        match self.config.length {
            Length::Fixed => one.to_owned(),
            Length::Dynamic => {
                let it = if expands { "The caption" } else { "It" };
                format!("{one} {it} has at most {} words.", self.words_for(document, passage).end())
            }
        }
    }

    /// A request about a note, made of three texts: instructions, the note as it is shown, and the question.
    fn prompt(&self, form: Form, note: &Document, texts: [String; 3], wanted: Vec<u32>) -> Prompt {
        let meter = self.meter();
        let tokens = texts.iter().fold(FRAME_TOKENS, |sum, text| sum.saturating_add(meter.tokens(text)));
        let [system, document, task] = texts;
        // The last try asks for one text.
        let expansion = form != Form::Simple && self.expands(note.kind.as_deref());
        Prompt {
            form,
            tokens,
            max_tokens: self.max_tokens(form, wanted.len(), note),
            json: form == Form::Note || expansion,
            expansion,
            cache: false,
            cut: false,
            system,
            document,
            task,
            wanted,
        }
    }

    /// The instructions for notes of the document's kind; they hold nothing of the note itself.
    fn system(&self, form: Form, document: &Document) -> String {
        let expands = self.expands(document.kind.as_deref());
        let mut system = words::system(form, self.config.words(), expands);
        let further = self.further(document.kind.as_deref()).map_or("", |further| further.instructions.trim());
        if !further.is_empty() {
            system.push_str(words::FURTHER);
            system.push_str(further);
        }
        system
    }

    /// The user's instructions for a kind: its own, else those for all others.
    fn further(&self, kind: Option<&str>) -> Option<&KindPrompt> {
        let of = |name: &str| self.config.prompts.iter().find(|prompt| prompt.kind.eq_ignore_ascii_case(name));
        kind.and_then(of).or_else(|| of("*"))
    }

    /// Tokens of the answer about a note at most.
    fn max_tokens(&self, form: Form, wanted: usize, note: &Document) -> u32 {
        let tokens = u64::from(answer::answer_tokens(form, wanted));
        let scaled = tokens * u64::from(self.config.max_words.max(100)) / 100;
        let expands = form != Form::Simple && self.expands(note.kind.as_deref());
        let beside = if expands { answer::expansion_tokens(wanted) } else { 0 };
        u32::try_from(scaled).unwrap_or(u32::MAX).saturating_add(beside)
    }

    /// Tokens of the note that there is room for, beside instructions and an answer.
    fn room(&self, system: &str, answer: u32) -> u32 {
        let taken = self.meter().tokens(system).saturating_add(answer).saturating_add(2 * FRAME_TOKENS);
        self.model.shown(self.config.max_document_tokens).min(self.model.window().saturating_sub(taken))
    }

    /// Whether the provider caches a prefix as long as this; one that caches by itself is assumed to.
    fn caching_pays(&self, system: &str, document: &str) -> bool {
        let tokens = self.meter().tokens(system).saturating_add(self.meter().tokens(document));
        self.model.min_cache_tokens.is_none_or(|least| tokens >= least)
    }

    fn meter(&self) -> Meter {
        Meter { factor: self.model.token_factor }
    }
}

/// Why an answer holds no caption for a passage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unread {
    /// The answer has none.
    Missing,
    /// The answer has several.
    Doubled,
    /// The answer is not what was asked for at all.
    NotJson,
    /// Nothing is left of it.
    Empty,
}
