//! Somebody who works in a vault, at random, and remembers what should be in it.

use std::collections::BTreeMap;
use std::fs;

use crate::support::Place;

pub(crate) const QUERIES: [&str; 8] = [
    "heron",
    "egret alder path:f3/",
    "\"shallow water alder\"",
    "w3",
    "w11 w12",
    "\"Title w7\"",
    "tide path:f1/",
    "otter at dawn path:f5/ -nest",
];

/// Random numbers, the same in each run (SplitMix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % end
    }

    fn text(&mut self) -> String {
        let words = ["heron", "egret", "alder", "nest", "tide", "reed", "shallow water", "mud", "dawn", "otter"];
        let mut text = format!("# Title w{}\n\n", self.below(20));
        for part in 0..=self.below(4) {
            text.push_str(&format!("## Part {part}\n\n"));
            for _ in 0..5 + self.below(60) {
                text.push_str(words[self.below(10) as usize]);
                text.push(if self.below(12) == 0 { '\n' } else { ' ' });
            }
            text.push_str(&format!("w{}\n\n", self.below(30)));
        }
        text
    }
}

/// Somebody who works in a vault, and remembers what should be in it.
pub(crate) struct Writer<'a> {
    pub(crate) place: &'a Place,
    pub(crate) random: Random,
    pub(crate) notes: BTreeMap<String, String>,
    made: u64,
}

impl<'a> Writer<'a> {
    pub(crate) fn new(place: &'a Place, seed: u64, count: usize) -> Self {
        let mut writer = Writer { place, random: Random(seed), notes: BTreeMap::new(), made: 0 };
        for _ in 0..count {
            writer.create();
        }
        writer
    }

    fn path(&mut self) -> String {
        self.made += 1;
        format!("f{}/n{}.md", self.random.below(6), self.made)
    }

    fn create(&mut self) {
        let (path, text) = (self.path(), self.random.text());
        self.place.write(&path, &text);
        self.notes.insert(path, text);
    }

    fn any(&mut self) -> String {
        let n = self.random.below(self.notes.len() as u64) as usize;
        self.notes.keys().nth(n).unwrap().clone()
    }

    /// One change, of a kind that happens in a vault.
    pub(crate) fn step(&mut self) {
        let (path, root) = (self.any(), &self.place.vault);
        let old = self.notes[&path].clone();
        let new = match self.random.below(8) {
            0 | 1 => return self.create(),
            2 if self.notes.len() > 40 => {
                fs::remove_file(root.join(&path)).unwrap();
                self.notes.remove(&path);
                return;
            }
            2 | 3 => {
                let (to, root) = (self.path(), self.place.vault.clone());
                fs::create_dir_all(root.join(&to).parent().unwrap()).unwrap();
                fs::rename(root.join(&path), root.join(&to)).unwrap();
                self.notes.remove(&path);
                self.notes.insert(to, old);
                return;
            }
            4 => old.replacen("## Part", "## Renamed Part", 1),
            5 => self.random.text(),
            _ => format!("{old}\nAn otter at dawn, w{}.\n", self.random.below(30)),
        };
        if self.random.below(2) == 0 {
            self.place.write(&path, &new);
        } else {
            let temporary = self.place.vault.join(format!("{path}.tmp"));
            fs::write(&temporary, &new).unwrap();
            fs::rename(temporary, self.place.vault.join(&path)).unwrap();
        }
        self.notes.insert(path, new);
    }

    /// The vault holds what was written to it, and no more.
    pub(crate) fn check(&self) {
        let tree = self.place.tree();
        let files: BTreeMap<String, String> = tree
            .into_iter()
            .filter(|(_, hash)| hash != "folder")
            .map(|(path, hash)| (path.to_str().unwrap().to_owned(), hash))
            .collect();
        let expected: BTreeMap<String, String> =
            self.notes.iter().map(|(path, text)| (path.clone(), blake3::hash(text.as_bytes()).to_string())).collect();
        assert_eq!(files, expected);
    }
}
