//! The vault: a few notes in a real folder, written, moved and deleted as a schedule says.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use super::dice::Dice;
use note::VaultPath;

/// A word that only private notes contain.
pub(super) const SECRET: &str = "moonlitvault";

const WORDS: &[&str] = &[
    "harbour", "engine", "garden", "letter", "winter", "copper", "market", "bridge", "signal", "kitchen", "river",
    "ladder", "window", "teacher", "morning", "village", "machine", "journey", "weather", "library", "captain",
    "blanket", "orchard", "compass", "lantern", "thunder", "pattern", "railway", "station", "picture", "chapter",
    "courage", "factory", "holiday", "measure", "painter", "quarter", "shelter", "texture", "voyage", "whistle",
    "canvas", "pebble", "meadow", "timber", "velvet", "anchor", "barrel", "candle", "desert", "ferry", "granite",
];

const TITLES: &[&str] = &[
    "Harbour repairs",
    "Winter garden",
    "Railway letters",
    "Copper market",
    "Teacher journal",
    "Orchard plans",
    "Library weather",
    "Voyage notes",
];

/// What a note says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Text {
    title: String,
    private: bool,
    /// Heading and body.
    sections: Vec<(String, String)>,
}

impl Text {
    fn render(&self) -> String {
        let mut text = String::new();
        if self.private {
            text.push_str("---\ntags: [private]\n---\n");
        }
        let _ = write!(text, "# {}\n\n", self.title);
        for (heading, body) in &self.sections {
            let _ = write!(text, "## {heading}\n\n{body}\n\n");
        }
        text
    }
}

/// The notes of a branch.
type Notes = BTreeMap<String, Text>;

/// The vault's folder and its notes.
pub(super) struct Vault {
    pub(super) root: PathBuf,
    pub(super) notes: Notes,
    /// What another branch holds.
    other: Notes,
    dice: Dice,
    numbers: u32,
    /// Markers: words that each occur in a single section.
    pub(super) markers: Vec<String>,
}

/// Where something changed.
pub(super) type Changed = Vec<VaultPath>;

impl Vault {
    /// A vault with some notes.
    pub(super) fn new(root: &Path, dice: Dice, notes: usize) -> Self {
        fs::create_dir_all(root).unwrap();
        let (numbers, markers) = (0, Vec::new());
        let mut vault =
            Vault { root: root.to_owned(), notes: Notes::new(), other: Notes::new(), dice, numbers, markers };
        for _ in 0..notes {
            vault.create();
        }
        vault.other = vault.notes.clone();
        vault
    }

    fn words(&mut self, n: usize) -> String {
        (0..n).map(|_| *self.dice.pick(WORDS)).collect::<Vec<_>>().join(" ")
    }

    fn section(&mut self, private: bool) -> (String, String) {
        let heading = format!("The {} {}", self.dice.pick(WORDS), self.dice.pick(WORDS));
        (heading, self.body(private))
    }

    /// Sentences with a marker, a word that occurs nowhere else.
    fn body(&mut self, private: bool) -> String {
        self.numbers += 1;
        let marker = format!("zq{}", letters(u64::from(self.numbers)));
        self.markers.push(marker.clone());
        let (one, two, three) = (self.words(9), self.words(7), self.words(8));
        let secret = if private { format!(" It hides {SECRET}.") } else { String::new() };
        format!("The {one} was here. We found {marker} near the {two}. Later they kept the {three}.{secret}")
    }

    fn text(&mut self, private: bool) -> Text {
        let title = (*self.dice.pick(TITLES)).to_owned();
        let n = 2 + self.dice.below(3);
        Text { title, private, sections: (0..n).map(|_| self.section(private)).collect() }
    }

    fn any(&mut self) -> Option<String> {
        let names: Vec<String> = self.notes.keys().cloned().collect();
        (!names.is_empty()).then(|| self.dice.pick(&names).clone())
    }

    fn new_name(&mut self) -> String {
        self.numbers += 1;
        let folder = if self.dice.percent(30) { "folder/" } else { "" };
        format!("{folder}note-{}.md", self.numbers)
    }

    fn write(&self, name: &str) {
        let path = self.root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, self.notes[name].render()).unwrap();
    }

    /// A new note.
    pub(super) fn create(&mut self) -> Changed {
        let name = self.new_name();
        let private = self.dice.percent(15);
        let text = self.text(private);
        self.notes.insert(name.clone(), text);
        self.write(&name);
        changed([name])
    }

    /// A note is changed a little.
    pub(super) fn edit(&mut self) -> Changed {
        let Some(name) = self.any() else { return self.create() };
        let mut text = self.notes[&name].clone();
        let private = text.private;
        let at = self.dice.below(text.sections.len().max(1));
        match self.dice.below(8) {
            0 => text.sections.push(self.section(private)),
            1 if text.sections.len() > 1 => drop(text.sections.remove(at)),
            2 if !text.sections.is_empty() => text.sections[at] = self.section(private),
            3 => text.title = (*self.dice.pick(TITLES)).to_owned(),
            4 if text.sections.len() > 1 => text.sections.swap(0, at),
            5 => {
                let words = self.words(4);
                if let Some((_, body)) = text.sections.get_mut(at) {
                    let _ = write!(body, " And the {words}.");
                }
            }
            _ => {
                let body = self.body(private);
                if let Some(section) = text.sections.get_mut(at) {
                    section.1 = body;
                }
            }
        }
        self.notes.insert(name.clone(), text);
        self.write(&name);
        changed([name])
    }

    /// A note becomes private or public. It gets other words, for the model may have seen the old ones.
    pub(super) fn change_privacy(&mut self) -> Changed {
        let Some(name) = self.any() else { return self.create() };
        let private = !self.notes[&name].private;
        let text = self.text(private);
        self.notes.insert(name.clone(), text);
        self.write(&name);
        changed([name])
    }

    /// A note has another name.
    pub(super) fn rename(&mut self) -> Changed {
        let Some(old) = self.any() else { return self.create() };
        let new = self.new_name();
        let text = self.notes.remove(&old).unwrap();
        self.notes.insert(new.clone(), text);
        fs::create_dir_all(self.root.join(&new).parent().unwrap()).unwrap();
        fs::rename(self.root.join(&old), self.root.join(&new)).unwrap();
        changed([old, new])
    }

    /// A note is written where there is none.
    pub(super) fn create_at(&mut self, place: &VaultPath) -> Changed {
        let text = self.text(false);
        self.notes.insert(place.to_string(), text);
        self.write(place.as_str());
        vec![place.clone()]
    }

    /// A note goes.
    pub(super) fn delete(&mut self) -> Changed {
        // The last note stays: the index keeps an emptied vault until the user accepts that it is empty.
        let Some(name) = self.any().filter(|_| self.notes.len() > 1) else { return self.create() };
        self.notes.remove(&name);
        fs::remove_file(self.root.join(&name)).unwrap();
        changed([name])
    }

    /// Another branch is checked out: many files change at once.
    pub(super) fn switch(&mut self) -> Changed {
        let other = std::mem::replace(&mut self.other, self.notes.clone());
        let before = std::mem::replace(&mut self.notes, other);
        let differ: Vec<String> = before
            .keys()
            .chain(self.notes.keys())
            .filter(|name| before.get(*name) != self.notes.get(*name))
            .cloned()
            .collect();
        for name in &differ {
            if self.notes.contains_key(name) {
                self.write(name);
            } else {
                let _ = fs::remove_file(self.root.join(name));
            }
        }
        changed(differ)
    }

    /// A note is emptied, as an editor does that truncates before it writes.
    pub(super) fn truncate(&mut self) -> Option<String> {
        let name = self.any()?;
        fs::write(self.root.join(&name), "").unwrap();
        Some(name)
    }

    /// The second half of such a save.
    pub(super) fn restore(&self, name: &str) -> Changed {
        if self.notes.contains_key(name) {
            self.write(name);
        }
        changed([name.to_owned()])
    }

    /// A note is written without a change.
    pub(super) fn touch(&mut self) -> Changed {
        let Some(name) = self.any() else { return Vec::new() };
        self.write(&name);
        changed([name])
    }
}

fn changed(names: impl IntoIterator<Item = String>) -> Changed {
    names.into_iter().filter_map(|name| VaultPath::parse(&name)).collect()
}

/// A number as letters, because the quality check counts numbers that a note does not have.
pub(super) fn letters(mut number: u64) -> String {
    let mut text = String::new();
    for _ in 0..4 {
        text.push(char::from(b'a' + (number % 26) as u8));
        number /= 26;
    }
    text
}
