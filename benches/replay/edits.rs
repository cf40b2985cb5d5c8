//! What somebody does to a vault in a month, from a seed: mostly small edits of bodies, a new note or two a
//! day, a daily note that fills in, now and then a heading; and what comes seldom (moves, undos, a folder
//! renamed, another branch checked out and back).

use std::collections::BTreeMap;

use note::VaultPath;
use note::{BlockKind, Note, NoteRules};

use crate::common::rng::Rng;
use crate::common::vault::{LENGTH, Writer, capital};

/// Body edits of a day.
pub(crate) const BODIES: usize = 10;
/// Times a daily note is saved after it was born.
const FILLS: usize = 5;
/// Notes that another branch has otherwise, and those of them with other headings.
const BRANCH: (usize, usize) = (30, 5);
/// Notes that are likelier to be edited again.
const RECENT: usize = 10;

/// What a save does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// From a word to a paragraph, headings untouched.
    Body,
    /// A note that was not there.
    New,
    /// A daily note is born from a template, or goes on.
    Daily,
    /// A heading is added, renamed, removed, or moved with its section.
    Structure,
    /// A note goes to another folder, or a folder gets another name.
    Move,
    /// What the save before did is taken back.
    Undo,
    /// Many notes become others at once, and what they were.
    Checkout,
}

impl Kind {
    /// In the order of the table.
    pub(crate) const ALL: [Kind; 7] =
        [Kind::Body, Kind::New, Kind::Daily, Kind::Structure, Kind::Move, Kind::Undo, Kind::Checkout];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Body => "body edits",
            Kind::New => "new notes",
            Kind::Daily => "daily notes",
            Kind::Structure => "headings changed",
            Kind::Move => "moves, a folder renamed",
            Kind::Undo => "undos",
            Kind::Checkout => "checkouts",
        }
    }
}

/// What happens at one time.
#[derive(Debug)]
pub(crate) struct Save {
    pub(crate) kind: Kind,
    /// Notes that lie elsewhere from now on.
    pub(crate) moves: Vec<(String, String)>,
    /// Notes and what they read from now on.
    pub(crate) writes: Vec<(String, String)>,
}

/// What is planned for a day; what it does is decided when its turn comes, on the notes as they are then.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Planned {
    Body,
    New,
    /// The daily note's `n`-th save.
    Daily(usize),
    Structure,
    Move,
    RenameFolder,
    Undo,
    Leave,
    Return,
}

/// The vault as it should be on the disk, and who edits it.
pub(crate) struct Vault {
    pub(crate) notes: BTreeMap<String, String>,
    writer: Writer,
    rng: Rng,
    /// Notes that the writer has written.
    written: usize,
    recent: Vec<String>,
    /// The note that was edited last and what it read before.
    before: Option<(String, String)>,
    /// What the other branch has otherwise, as it is here.
    branch: Vec<(String, String)>,
    daily: Option<(String, usize)>,
}

impl Vault {
    /// A vault of `notes` notes; there are at most `days` days to come.
    pub(crate) fn new(notes: usize, days: usize, seed: u64) -> Self {
        let mut writer = Writer::new(notes + 2 * days, seed);
        let mut texts = BTreeMap::new();
        for index in 0..notes {
            let text = writer.note(index);
            texts.insert(writer.path(index).to_owned(), text);
        }
        Vault {
            notes: texts,
            writer,
            rng: Rng::new(seed ^ 0x0e17),
            written: notes,
            recent: Vec::new(),
            before: None,
            branch: Vec::new(),
            daily: None,
        }
    }

    /// What is planned for a day, counted from 0; months have 30.
    pub(crate) fn day(&mut self, day: usize) -> Vec<Planned> {
        let mut plans = vec![Planned::Body; BODIES];
        plans.resize(plans.len() + self.rng.between(1, 2), Planned::New);
        for i in (1..plans.len()).rev() {
            plans.swap(i, self.rng.below(i + 1));
        }
        // Its saves keep their order among the others.
        let mut at = 0;
        for n in 0..=FILLS {
            at = self.rng.between(at, plans.len());
            plans.insert(at, Planned::Daily(n));
            at += 1;
        }
        if self.rng.chance(0.5) {
            plans.push(Planned::Structure);
        }
        match day % 30 {
            3 => plans.extend([Planned::Body, Planned::Undo]),
            8 | 25 => plans.extend([Planned::Structure, Planned::Undo]),
            5 | 14 | 22 => plans.push(Planned::Move),
            11 => plans.push(Planned::RenameFolder),
            18 => plans.extend([Planned::Leave, Planned::Return]),
            _ => {}
        }
        plans
    }

    /// Does what is planned for a day; `None` if there is nothing it could be done to.
    pub(crate) fn carry_out(&mut self, plan: Planned, day: usize) -> Option<Save> {
        let mut save = Save { kind: Kind::Body, moves: Vec::new(), writes: Vec::new() };
        match plan {
            Planned::Body => {
                let path = self.choose();
                save.writes.push((path.clone(), self.edit_body(&path)?));
                self.remember(path);
            }
            Planned::Structure => {
                save.kind = Kind::Structure;
                let path = self.choose();
                save.writes.push((path.clone(), self.edit_outline(&path)?));
                self.remember(path);
            }
            Planned::New => {
                save.kind = Kind::New;
                let text = self.writer.note(self.written);
                save.writes.push((self.writer.path(self.written).to_owned(), text));
                self.written += 1;
            }
            Planned::Daily(n) => {
                save.kind = Kind::Daily;
                save.writes.push(self.fill_in(day, n)?);
            }
            Planned::Move => {
                save.kind = Kind::Move;
                let path = self.choose();
                let name = path.rsplit('/').next().unwrap_or(&path);
                save.moves.push((path.clone(), format!("archive/{name}")));
            }
            Planned::RenameFolder => {
                save.kind = Kind::Move;
                let folder = self.notes.keys().find(|path| path.starts_with("projects"))?.split('/').next()?.to_owned();
                let inside = self.notes.keys().filter(|path| path.starts_with(&format!("{folder}/")));
                save.moves = inside
                    .map(|path| (path.clone(), format!("projects {}/{}", day / 30 + 1, &path[folder.len() + 1..])))
                    .collect();
            }
            Planned::Undo => {
                save.kind = Kind::Undo;
                save.writes.push(self.before.take()?);
            }
            Planned::Leave => {
                save.kind = Kind::Checkout;
                self.branch.clear();
                for n in 0..BRANCH.0 {
                    let path = self.rng.pick(&self.notes.keys().cloned().collect::<Vec<_>>()).clone();
                    let text = if n < BRANCH.1 { self.edit_outline(&path) } else { self.edit_body(&path) };
                    if let Some(text) = text.filter(|_| self.branch.iter().all(|(other, _)| *other != path)) {
                        self.branch.push((path.clone(), self.notes[&path].clone()));
                        save.writes.push((path, text));
                    }
                }
            }
            Planned::Return => {
                save.kind = Kind::Checkout;
                save.writes = std::mem::take(&mut self.branch);
            }
        }
        for (from, to) in &save.moves {
            let text = self.notes.remove(from)?;
            self.notes.insert(to.clone(), text);
        }
        self.notes.extend(save.writes.iter().cloned());
        Some(save)
    }

    /// A note to edit: every other time one that was edited lately.
    fn choose(&mut self) -> String {
        let recent: Vec<String> = self.recent.iter().filter(|path| self.notes.contains_key(*path)).cloned().collect();
        if !recent.is_empty() && self.rng.chance(0.5) {
            return self.rng.pick(&recent).clone();
        }
        let paths: Vec<&String> = self.notes.keys().collect();
        (*self.rng.pick(&paths)).clone()
    }

    fn remember(&mut self, path: String) {
        self.before = self.notes.get(&path).map(|text| (path.clone(), text.clone()));
        self.recent.retain(|other| *other != path);
        self.recent.push(path);
        if self.recent.len() > RECENT {
            self.recent.remove(0);
        }
    }

    /// The note with a word, a sentence or a paragraph more or less, under the same headings.
    fn edit_body(&mut self, path: &str) -> Option<String> {
        let text = self.notes.get(path)?.clone();
        let note = parse(path, &text);
        // An edit can make a heading by accident (a line of dashes, a `#` at the start of a line).
        (0..50).map(|_| self.change_prose(&note)).find(|new| {
            let now = parse(path, new);
            *new != text && now.structure() == note.structure()
        })
    }

    fn change_prose(&mut self, note: &Note) -> String {
        let prose: Vec<_> = note.blocks.iter().filter(|block| block.kind == BlockKind::Paragraph).collect();
        let mut text = note.text.clone();
        if prose.is_empty() {
            let paragraph = self.paragraph();
            return format!("{}\n\n{paragraph}", text.trim_end());
        }
        let span = self.rng.pick(&prose).span.clone();
        let end = span.start + text[span.clone()].trim_end().len();
        match self.rng.below(20) {
            0..=7 => {
                let plain = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase());
                let words: Vec<&str> = text[span.start..end].split(' ').filter(|word| plain(word)).collect();
                if !words.is_empty() {
                    let at = self.rng.pick(&words).as_ptr() as usize - text.as_ptr() as usize;
                    let length = text[at..].find(' ').unwrap_or(0);
                    text.replace_range(at..at + length, &self.writer.word());
                }
            }
            8..=13 => {
                let mut sentence = " ".to_owned();
                self.writer.sentence(0, &mut sentence);
                text.insert_str(end, &sentence);
            }
            14..=16 => {
                if let Some(at) = text[span.start..end.saturating_sub(1)].rfind(". ") {
                    text.replace_range(span.start + at + 1..end, "");
                }
            }
            _ => {
                let paragraph = self.paragraph();
                text.insert_str(end, &format!("\n\n{}", paragraph.trim_end()));
            }
        }
        text
    }

    /// The note with a heading added, renamed, removed, or moved with its section to the end.
    fn edit_outline(&mut self, path: &str) -> Option<String> {
        let text = self.notes.get(path)?.clone();
        let note = parse(path, &text);
        (0..50).map(|_| self.change_headings(&note)).find(|new| parse(path, new).structure() != note.structure())
    }

    fn change_headings(&mut self, note: &Note) -> String {
        let mut text = note.text.clone();
        let count = self.rng.between(1, 4);
        let name = capital(&self.writer.phrase(count));
        if note.outline.is_empty() {
            return format!("{}\n\n## {name}\n\n{}", text.trim_end(), self.paragraph());
        }
        let index = self.rng.below(note.outline.len());
        let heading = &note.outline[index];
        let marks = "#".repeat(usize::from(heading.level));
        match self.rng.below(4) {
            0 => {
                let paragraph = self.paragraph();
                text.insert_str(heading.span.start, &format!("{marks} {name}\n\n{paragraph}"));
            }
            1 => text.replace_range(heading.span.clone(), &format!("{marks} {name}\n")),
            2 => text.replace_range(heading.span.clone(), ""),
            _ => {
                let next = note.outline[index + 1..].iter().find(|other| other.level <= heading.level);
                let section = heading.span.start..next.map_or(text.len(), |other| other.span.start);
                let moved = text[section.clone()].trim_end().to_owned();
                text.replace_range(section, "");
                text = format!("{}\n\n{moved}\n", text.trim_end());
            }
        }
        text
    }

    /// The daily note's text after its `n`-th save; 0 is its birth, with headings and no words.
    fn fill_in(&mut self, day: usize, n: usize) -> Option<(String, String)> {
        if n == 0 {
            let date = format!("{}-{:02}-{:02}", 2100 + day / 336, day / 28 % 12 + 1, day % 28 + 1);
            let text = format!("# {date}\n\n## Plan\n\n## Work\n\n## Ideas\n\n## Evening\n");
            let words = self.rng.log_normal(LENGTH.0 / 3.0, LENGTH.1) as usize;
            self.daily = Some((format!("daily/{date}.md"), words.clamp(8, 2000) / FILLS));
            return Some((self.daily.as_ref()?.0.clone(), text));
        }
        let (path, words) = self.daily.clone()?;
        let mut text = self.notes.get(&path)?.clone();
        let note = parse(&path, &text);
        let section = &note.sections[self.rng.between(1, note.sections.len() - 1)];
        let (mut more, mut count) = ("\n".to_owned(), 0);
        while count < words.max(1) {
            count += if words < 25 { self.writer.sentence(0, &mut more) } else { self.writer.paragraph(0, &mut more) };
        }
        let end = section.span.start + text[section.span.clone()].trim_end().len();
        text.insert_str(end, &format!("\n{}", more.trim_end()));
        Some((path, text))
    }

    fn paragraph(&mut self) -> String {
        let mut out = String::new();
        self.writer.paragraph(0, &mut out);
        out
    }
}

/// A note of a path that the generator made; such paths are paths of a vault.
pub(crate) fn parse(path: &str, text: &str) -> Note {
    let path = VaultPath::parse(path).unwrap_or_else(|| panic!("no path of a vault: {path}"));
    note::parse(&path, text.as_bytes(), &NoteRules::default())
}
