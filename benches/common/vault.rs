//! A seeded generator of vaults that look like people's: daily notes, projects, people, meetings and
//! references, with front matter, headings, lists, tables, code, tags and links. Words follow Zipf's law over
//! 60,000 forms, links over the notes (a few are linked from everywhere), lengths are log-normal. About
//! 10,000 notes are 50 MB and, in the default chunking, 50,000 chunks.

use std::fmt::Write as _;
use std::io;
use std::path::Path;

use super::rng::{Rng, Zipf};
use super::words::vocabulary;

/// Different words.
const WORDS: usize = 60_000;
/// Words in the text of a note: the median and sigma of a log-normal distribution. Daily notes have a third.
pub(crate) const LENGTH: (f64, f64) = (420.0, 1.0);
/// Notes longer than this are rarer than the distribution says.
const LONGEST: usize = 6_000;

/// What was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Generated {
    /// Notes.
    pub(crate) notes: usize,
    /// Bytes of their text.
    pub(crate) bytes: u64,
}

/// Writes a vault of `notes` notes into `dir`. Equal arguments give equal bytes.
pub(crate) fn generate(dir: &Path, notes: usize, seed: u64) -> io::Result<Generated> {
    let mut writer = Writer::new(notes, seed);
    let mut bytes = 0;
    for index in 0..notes {
        let text = writer.note(index);
        let path = dir.join(writer.path(index));
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        bytes += text.len() as u64;
        std::fs::write(path, text)?;
    }
    Ok(Generated { notes, bytes })
}

/// What is known of a note before it is written, for others link to it.
struct Plan {
    path: String,
    title: String,
    kind: &'static str,
    date: String,
}

/// Writes notes, and texts for them: who edits a vault goes on in its words.
pub(crate) struct Writer {
    rng: Rng,
    words: Vec<String>,
    by_rank: Zipf,
    /// Which note is how popular as a target.
    targets: Zipf,
    popular: Vec<usize>,
    tags: Vec<String>,
    plans: Vec<Plan>,
}

const FOLDERS: &[(&str, &str)] = &[
    ("projects", "project"),
    ("people", "person"),
    ("meetings", "meeting"),
    ("areas/home", "note"),
    ("areas/work", "note"),
    ("references/papers", "reference"),
    ("references/books", "reference"),
    ("inbox", "note"),
    ("", "note"),
];

impl Writer {
    /// For a vault of `notes` notes.
    pub(crate) fn new(notes: usize, seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let words = vocabulary(WORDS, &mut rng);
        let tags = (0..200)
            .map(|i| {
                let word = &words[100 + 3 * i];
                if i % 4 == 0 { format!("{word}/{}", words[101 + 3 * i]) } else { word.clone() }
            })
            .collect();
        let mut popular: Vec<usize> = (0..notes).collect();
        for i in (1..notes).rev() {
            popular.swap(i, rng.below(i + 1));
        }
        let (by_rank, targets) = (Zipf::new(WORDS), Zipf::new(notes));
        let mut writer = Writer { rng, words, by_rank, targets, popular, tags, plans: Vec::new() };
        for index in 0..notes {
            let plan = writer.plan(index);
            writer.plans.push(plan);
        }
        writer
    }

    /// Where a note lies in its vault.
    pub(crate) fn path(&self, index: usize) -> &str {
        &self.plans[index].path
    }

    fn plan(&mut self, index: usize) -> Plan {
        // Days of 28-day months: every date is real, and none comes twice in 130 years of daily notes.
        let day = |n: usize| format!("{}-{:02}-{:02}", 1990 + n / 336, n / 28 % 12 + 1, n % 28 + 1);
        if self.rng.chance(0.15) {
            let date = day(index);
            return Plan { path: format!("daily/{date}.md"), title: date.clone(), kind: "daily", date };
        }
        let (folder, kind) = *self.rng.pick(FOLDERS);
        let count = self.rng.between(1, 4);
        let mut title = capital(&self.phrase(count));
        // Titles are unique in most vaults, and the file's name is the title.
        let _ = write!(title, " {index}");
        let slash = if folder.is_empty() { "" } else { "/" };
        let date = day(self.rng.below(12_000));
        Plan { path: format!("{folder}{slash}{title}.md"), title, kind, date }
    }

    /// The text of a note; to be asked for in order, for it depends on what was written before.
    pub(crate) fn note(&mut self, index: usize) -> String {
        let daily = self.plans[index].kind == "daily";
        let mut out = String::new();
        if self.rng.chance(0.6) {
            self.front_matter(index, &mut out);
        }
        if !daily && self.rng.chance(0.6) {
            let _ = writeln!(out, "# {}\n", self.plans[index].title);
        }
        let median = if daily { LENGTH.0 / 3.0 } else { LENGTH.0 };
        let words = (self.rng.log_normal(median, LENGTH.1) as usize).clamp(8, LONGEST);
        // About one heading per 120 words, at most 12, many short notes without any.
        let most = (words / 60).min(12);
        let headings = self.rng.between(most / 3, most);
        let mut links = self.rng.between(3, 8);
        let mut level = 2;
        for section in 0..=headings {
            if section > 0 {
                level = self.level(level);
                let count = self.rng.between(1, 5);
                let _ = writeln!(out, "{} {}\n", "#".repeat(level), capital(&self.phrase(count)));
            }
            let here = if section == headings { links } else { links.min(self.rng.below(3)) };
            links -= here;
            self.section(words / (headings + 1), here, &mut out);
        }
        out
    }

    /// The level after one of `level`: 1 to 4, mostly 2 and 3.
    fn level(&mut self, level: usize) -> usize {
        match self.rng.below(20) {
            0 => 1,
            1..=9 => 2,
            10..=16 => 3.min(level + 1),
            _ => 4.min(level + 1),
        }
    }

    fn front_matter(&mut self, index: usize, out: &mut String) {
        let Plan { title, kind, date, .. } = &self.plans[index];
        let _ = write!(out, "---\ntitle: \"{title}\"\ntype: {kind}\ncreated: {date}\n");
        let tags: Vec<&str> = (0..self.rng.below(4)).map(|_| self.tags[self.rng.below(200)].as_str()).collect();
        let _ = writeln!(out, "tags: [{}]", tags.join(", "));
        if self.rng.chance(0.2) {
            let alias = self.phrase(2);
            let _ = writeln!(out, "aliases:\n  - {alias}");
        }
        out.push_str("---\n\n");
    }

    /// About `words` words of blocks, with `links` links in the first ones.
    fn section(&mut self, words: usize, links: usize, out: &mut String) {
        let mut left = words as isize;
        let mut links = links;
        while left > 0 || links > 0 {
            let here = links.min(self.rng.between(1, 2));
            links -= here;
            left -= match self.rng.below(100) {
                0..=64 => self.paragraph(here, out),
                65..=80 => self.list(here, out),
                81..=86 => self.table(here, out),
                87..=93 => self.code(here, out),
                _ => self.callout(here, out),
            } as isize;
        }
    }

    /// A paragraph with `links` links and an empty line behind it; returns the number of its words.
    pub(crate) fn paragraph(&mut self, links: usize, out: &mut String) -> usize {
        let sentences = self.rng.between(2, 6);
        let mut words = 0;
        for i in 0..sentences {
            words += self.sentence(usize::from(i < links), out);
            out.push(if i + 1 == sentences { '\n' } else { ' ' });
        }
        out.push('\n');
        words
    }

    fn list(&mut self, links: usize, out: &mut String) -> usize {
        let mark = *self.rng.pick(&["- ", "- ", "* ", "1. ", "- [ ] ", "- [x] "]);
        let mut words = 0;
        for i in 0..self.rng.between(3, 9) {
            let _ = write!(out, "{}{mark}", if i > 0 && self.rng.chance(0.2) { "    " } else { "" });
            words += self.sentence(usize::from(i < links), out);
            out.push('\n');
        }
        out.push('\n');
        words
    }

    fn table(&mut self, links: usize, out: &mut String) -> usize {
        let columns = self.rng.between(2, 4);
        let rows = self.rng.between(2, 8);
        for row in 0..=rows {
            for column in 0..columns {
                let cell = self.phrase(2);
                let _ = write!(out, "| {cell} ");
                if column == 0 && row > 0 && row <= links {
                    let link = self.link();
                    out.push_str(&link.replace('|', "\\|"));
                }
            }
            out.push_str("|\n");
            if row == 0 {
                let _ = writeln!(out, "{}|", "| --- ".repeat(columns));
            }
        }
        out.push('\n');
        2 * columns * (rows + 1)
    }

    fn code(&mut self, links: usize, out: &mut String) -> usize {
        let mut words = self.sentence(links, out);
        let language = *self.rng.pick(&["rust", "python", "sh", ""]);
        let _ = writeln!(out, "\n\n```{language}");
        for _ in 0..self.rng.between(3, 12) {
            let (a, b, c) = (self.word(), self.word(), self.word());
            let _ = writeln!(out, "let {a}_{b} = {c}({}, \"{a}\");", self.rng.below(1000));
            words += 4;
        }
        out.push_str("```\n\n");
        words
    }

    fn callout(&mut self, links: usize, out: &mut String) -> usize {
        let kind = *self.rng.pick(&["note", "tip", "warning", "quote"]);
        let heading = self.phrase(2);
        let _ = write!(out, "> [!{kind}] {heading}\n> ");
        let words = self.sentence(links, out);
        out.push_str("\n\n");
        words
    }

    /// A sentence with `links` links, sometimes a tag; returns the number of its words.
    pub(crate) fn sentence(&mut self, links: usize, out: &mut String) -> usize {
        let count = self.rng.between(6, 18);
        let words = self.phrase(count);
        out.push_str(&capital(&words));
        for _ in 0..links {
            let link = self.link();
            let _ = write!(out, " {link}");
        }
        if self.rng.chance(0.02) {
            let tag = self.rng.below(200);
            let _ = write!(out, " #{}", self.tags[tag]);
        }
        if self.rng.chance(0.01) {
            let host = self.word();
            let _ = write!(out, " (https://{host}.example/{}?id={})", self.rng.below(99), self.rng.below(9_999));
        }
        out.push(*self.rng.pick(&['.', '.', '.', '.', '?', ':']));
        count
    }

    fn link(&mut self) -> String {
        let target = self.popular[self.targets.sample(&mut self.rng)];
        let title = self.plans[target].title.clone();
        match self.rng.below(10) {
            0..=5 => format!("[[{title}]]"),
            6..=8 => format!("[[{title}|{}]]", self.phrase(2)),
            _ => format!("[[{title}#{}]]", capital(&self.phrase(2))),
        }
    }

    /// A word, the frequent ones more often.
    pub(crate) fn word(&mut self) -> String {
        let rank = self.by_rank.sample(&mut self.rng);
        self.words[rank].clone()
    }

    /// Words without a full stop.
    pub(crate) fn phrase(&mut self, count: usize) -> String {
        let mut out = String::new();
        for i in 0..count {
            let rank = self.by_rank.sample(&mut self.rng);
            out.push_str(if i == 0 { "" } else { " " });
            out.push_str(&self.words[rank]);
        }
        out
    }
}

/// With the first letter in upper case.
pub(crate) fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}
