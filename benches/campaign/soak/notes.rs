//! Who edits: the vault changes all the time and stays as large as it is. Most edits bring back a text that a note had
//! before, for what a model wrote for a new text is kept for ever: what else grows is to be seen beside that.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use serde_json::json;

use super::{Soak, ending};
use crate::common;
use crate::common::daemon::Client;
use crate::common::rng::Rng;
use crate::common::vault::{Writer, generate};

/// Texts that a note has had before edits bring one of them back.
const TEXTS: usize = 4;

/// Notes that are deleted, of which the first is the next that comes back.
const DELETED: usize = 40;

struct Note {
    /// Within the vault.
    path: String,
    text: String,
    /// The text before the last edit, which an undo brings back.
    before: Option<String>,
    /// The last [`TEXTS`] that it had.
    texts: VecDeque<String>,
}

impl Note {
    fn new(path: String, text: String) -> Note {
        Note { path, texts: VecDeque::from([text.clone()]), text, before: None }
    }
}

pub(super) struct Notes {
    dir: PathBuf,
    writer: Writer,
    live: Vec<Note>,
    deleted: VecDeque<Note>,
    /// Bytes of all texts at the start, and now.
    goal: usize,
    bytes: usize,
    /// Which part of the edits is of a new text, once a note has had [`TEXTS`].
    new: f64,
    /// Notes that were made or renamed, for their names.
    serial: usize,
}

impl Notes {
    /// Writes a vault.
    pub(super) fn write(dir: &Path, count: usize, seed: u64, new: f64) -> Result<Notes> {
        generate(dir, count, seed)?;
        let mut live = Vec::new();
        for file in common::notes(dir)? {
            let path = file.strip_prefix(dir)?.to_string_lossy().into_owned();
            live.push(Note::new(path, fs::read_to_string(&file)?));
        }
        let bytes = live.iter().map(|note| note.text.len()).sum();
        let writer = Writer::new(count, seed ^ 1);
        Ok(Notes { dir: dir.to_owned(), writer, live, deleted: VecDeque::new(), goal: bytes, bytes, new, serial: 0 })
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The path and the text of one.
    pub(super) fn any(&self, rng: &mut Rng) -> (String, String) {
        let note = rng.pick(&self.live);
        (note.path.clone(), note.text.clone())
    }

    /// Whether the daemon has as many notes as there are, and finds what some of them say.
    pub(super) fn check(&self, client: &mut Client) -> Result<()> {
        let status = client.call("status", &json!({}))?;
        if status["vaults"][0]["notes"] != json!(self.live.len()) {
            bail!("{} notes are indexed of {}", status["vaults"][0]["notes"], self.live.len());
        }
        for note in &self.live {
            let got = client.call("get", &json!({"path": note.path}))?;
            // A long note comes in parts.
            if !note.text.starts_with(got["text"].as_str().unwrap_or("-")) {
                bail!("`{}` is not as it was saved", note.path);
            }
        }
        Ok(())
    }

    /// Of some texts the one with which the vault comes nearest to its size at the start.
    fn fitting(&mut self, instead_of: usize, mut make: impl FnMut(&mut Writer) -> String) -> String {
        let without = self.bytes - instead_of;
        let mut best = make(&mut self.writer);
        for _ in 0..5 {
            let next = make(&mut self.writer);
            if (without + next.len()).abs_diff(self.goal) < (without + best.len()).abs_diff(self.goal) {
                best = next;
            }
        }
        best
    }

    fn save(&mut self, n: usize, text: String, rng: &mut Rng) -> Result<()> {
        let file = self.dir.join(&self.live[n].path);
        // Editors write in place, or beside it and rename.
        if rng.chance(0.5) {
            fs::write(&file, &text)?;
        } else {
            let beside = file.with_extension("tmp");
            fs::write(&beside, &text)?;
            fs::rename(&beside, &file)?;
        }
        let note = &mut self.live[n];
        self.bytes = self.bytes - note.text.len() + text.len();
        if !note.texts.contains(&text) {
            note.texts.push_back(text.clone());
            if note.texts.len() > TEXTS {
                note.texts.pop_front();
            }
        }
        note.before = Some(std::mem::replace(&mut note.text, text));
        Ok(())
    }

    /// A text that a note had before, unless it is time for a new one.
    fn known(&self, n: usize, rng: &mut Rng) -> Option<String> {
        let note = &self.live[n];
        let others: Vec<&String> = note.texts.iter().filter(|text| **text != note.text).collect();
        let is_new = note.texts.len() < TEXTS || rng.chance(self.new);
        (!is_new).then(|| (*rng.pick(&others)).clone())
    }

    /// Another paragraph in the place of one.
    fn edit(&mut self, n: usize, rng: &mut Rng) -> Result<()> {
        if let Some(text) = self.known(n, rng) {
            return self.save(n, text, rng);
        }
        let text = self.live[n].text.clone();
        let blocks: Vec<&str> = text.split("\n\n").collect();
        let plain = |block: &&str| block.len() > 60 && block.starts_with(char::is_alphabetic) && !block.contains('\n');
        let at: Vec<usize> = (0..blocks.len()).filter(|i| plain(&blocks[*i])).collect();
        if at.is_empty() {
            return self.write_anew(n, rng);
        }
        let at = *rng.pick(&at);
        let paragraph = self.fitting(blocks[at].len(), |writer| {
            let mut out = String::new();
            writer.paragraph(0, &mut out);
            out.trim_end().to_owned()
        });
        let mut blocks = blocks;
        blocks[at] = &paragraph;
        self.save(n, blocks.join("\n\n"), rng)
    }

    fn undo(&mut self, n: usize, rng: &mut Rng) -> Result<()> {
        match self.live[n].before.take() {
            Some(before) => self.save(n, before, rng),
            None => self.edit(n, rng),
        }
    }

    fn rewrite(&mut self, n: usize, rng: &mut Rng) -> Result<()> {
        match self.known(n, rng) {
            Some(text) => self.save(n, text, rng),
            None => self.write_anew(n, rng),
        }
    }

    fn write_anew(&mut self, n: usize, rng: &mut Rng) -> Result<()> {
        let (like, old) = (rng.below(self.live.len()), self.live[n].text.len());
        let text = self.fitting(old, |writer| writer.note(like));
        self.save(n, text, rng)
    }

    fn rename(&mut self, n: usize, rng: &mut Rng) -> Result<()> {
        self.serial += 1;
        let folder = *rng.pick(&["inbox", "projects", "areas/home"]);
        let path = format!("{folder}/Moved {}.md", self.serial);
        fs::create_dir_all(self.dir.join(folder))?;
        fs::rename(self.dir.join(&self.live[n].path), self.dir.join(&path))?;
        self.live[n].path = path;
        Ok(())
    }

    fn delete(&mut self, n: usize) -> Result<()> {
        let note = self.live.swap_remove(n);
        self.bytes -= note.text.len();
        let removed = fs::remove_file(self.dir.join(&note.path));
        self.deleted.push_back(note);
        Ok(removed?)
    }

    /// Brings back a note that was deleted, or makes one.
    fn create(&mut self, rng: &mut Rng) -> Result<()> {
        let is_new = self.deleted.len() <= DELETED || rng.chance(self.new);
        let back = if is_new { None } else { self.deleted.pop_front() };
        let note = if let Some(note) = back {
            note
        } else {
            self.serial += 1;
            let like = rng.below(self.live.len());
            let text = self.fitting(0, |writer| writer.note(like));
            Note::new(format!("inbox/New {}.md", self.serial), text)
        };
        let file = self.dir.join(&note.path);
        file.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::write(file, &note.text)?;
        self.bytes += note.text.len();
        self.live.push(note);
        Ok(())
    }
}

/// Edits, makes, renames and deletes notes until the soak is over.
pub(super) fn edit(soak: &Soak, mut rng: Rng) {
    while !soak.is_over() {
        let step = {
            let mut notes = soak.notes.lock().expect("no holder panics");
            let n = rng.below(notes.live.len());
            let (step, done) = match rng.below(100) {
                0..=54 => ("edit", notes.edit(n, &mut rng)),
                55..=69 => ("undo", notes.undo(n, &mut rng)),
                70..=77 => ("rewrite", notes.rewrite(n, &mut rng)),
                78..=87 => ("rename", notes.rename(n, &mut rng)),
                _ => ("delete and create", notes.delete(n).and_then(|()| notes.create(&mut rng))),
            };
            soak.count(step, if done.is_ok() { "done" } else { "failed" });
            step
        };
        if step == "edit" && rng.chance(0.1) {
            let found = what_was_saved_is_found(soak, &mut rng);
            soak.count("a save is found at once", found);
        }
        soak.rest(&mut rng);
    }
}

/// Saves a word that is nowhere else, asks for it, and takes it away again.
fn what_was_saved_is_found(soak: &Soak, rng: &mut Rng) -> String {
    let (file, path, text, word) = {
        let mut notes = soak.notes.lock().expect("no holder panics");
        notes.serial += 1;
        let note = rng.pick(&notes.live);
        (notes.dir.join(&note.path), note.path.clone(), note.text.clone(), format!("quokka{}", notes.serial))
    };
    let asked = || -> Result<serde_json::Value> {
        fs::write(&file, format!("{text}\n\nThe {word} sleeps.\n"))?;
        let query = json!({"query": format!("\"{word}\""), "mode": "lexical", "fresh": true});
        Client::connect(&soak.socket)?.call("search", &query)
    };
    let answer = asked();
    let put_back = fs::write(&file, &text);
    match answer {
        Ok(answer) if answer["hits"][0]["path"] == json!(path) && put_back.is_ok() => "found".to_owned(),
        Ok(_) => "not found".to_owned(),
        Err(_) => ending(&answer),
    }
}
