//! Tells from scripts and languages whether a caption is in another language than its note.

use std::collections::HashMap;

use unicode_script::{Script, UnicodeScript as _};
use whatlang::{Info, Lang};

use super::words::language_by_stop_words;

/// Bytes that are enough to tell a language.
const ENOUGH: usize = 4096;

/// With fewer letters than this, a text's language is not judged.
const FEW_LETTERS: usize = 40;

/// Stands for both scripts of Japanese syllables.
const KANA: Script = Script::Katakana;

/// The letters of a text by script; those that any script uses are left out.
#[derive(Debug, Default)]
struct Letters(HashMap<Script, usize>);

impl Letters {
    fn of(text: &str) -> Self {
        let mut letters = Letters::default();
        for c in text.chars().filter(|c| c.is_alphabetic()) {
            match c.script() {
                Script::Common | Script::Inherited | Script::Unknown => {}
                Script::Hiragana | Script::Katakana => *letters.0.entry(KANA).or_default() += 1,
                script => *letters.0.entry(script).or_default() += 1,
            }
        }
        letters
    }

    fn of_script(&self, script: Script) -> usize {
        self.0.get(&script).copied().unwrap_or(0)
    }

    /// Letters of Chinese and Japanese.
    fn cjk(&self) -> usize {
        self.of_script(Script::Han) + self.of_script(KANA)
    }

    fn kana_percent(&self) -> usize {
        self.of_script(KANA) * 100 / self.cjk().max(1)
    }

    fn all(&self) -> usize {
        self.0.values().sum()
    }

    /// The script of most letters.
    fn main(&self) -> Option<Script> {
        self.0.iter().max_by_key(|(script, count)| (**count, script.as_iso15924_tag())).map(|(script, _)| *script)
    }
}

/// Whether a caption is written in another script than the note: most of its letters are of a script that hardly occurs
/// in the note.
pub(super) fn other_script(caption: &str, note: &str) -> bool {
    let (caption, note) = (Letters::of(caption), Letters::of(note));
    let Some(main) = caption.main().filter(|_| note.all() > 0) else { return false };
    let is_cjk = main == Script::Han || main == KANA;
    let of_main = if is_cjk { note.cjk() } else { note.of_script(main) };
    // Every note has Latin code and names: a seventh of the note's letters is enough for the caption's script, and in a
    // note about code its language decides.
    if of_main * 7 < note.all() {
        return true;
    }
    if !is_cjk || note.cjk() < FEW_LETTERS || caption.cjk() < FEW_LETTERS / 2 {
        return false;
    }
    // Japanese cannot do without kana, Chinese has none.
    let (caption, note) = (caption.kana_percent(), note.kana_percent());
    (note < 2 && caption > 20) || (note > 20 && caption < 2)
}

/// Whether a caption is written in another language than the note and the passage, as far as that can be told.
pub(super) fn other_language(caption: &str, note: &str, passage: &str) -> bool {
    differ(caption, note) && differ(caption, passage)
}

/// Whether two texts are certainly in different languages; `false` where the language of either is unclear.
fn differ(caption: &str, text: &str) -> bool {
    let text = start(text);
    if let (Some(caption), Some(text)) = (language_by_stop_words(caption), language_by_stop_words(text)) {
        // Stop words are better evidence than letters where a text is short and full of names.
        return caption != text;
    }
    let Some((caption, text)) = surely(caption).zip(surely(text)) else { return false };
    family(caption) != family(text)
}

fn start(text: &str) -> &str {
    text.get(..text.floor_char_boundary(ENOUGH)).unwrap_or(text)
}

fn surely(text: &str) -> Option<Lang> {
    let long = text.chars().filter(|c| c.is_alphabetic()).nth(FEW_LETTERS).is_some();
    let info = whatlang::detect(text).filter(|_| long)?;
    Some(info).filter(Info::is_reliable).map(|info| info.lang())
}

/// Maps languages that are easily mistaken for each other to one of them.
fn family(lang: Lang) -> Lang {
    match lang {
        Lang::Nob | Lang::Swe => Lang::Dan,
        Lang::Slk => Lang::Ces,
        Lang::Hrv | Lang::Slv => Lang::Srp,
        Lang::Ukr | Lang::Bel | Lang::Bul | Lang::Mkd => Lang::Rus,
        Lang::Por | Lang::Cat => Lang::Spa,
        Lang::Afr => Lang::Nld,
        other => other,
    }
}

#[cfg(test)]
mod tests;
