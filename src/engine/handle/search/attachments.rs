//! Files without text, found by their names: beside the hits, for there is nothing in them to be ranked by.

use super::super::access::Served;
use note::VaultPath;
use protocol::search::Attachment;

/// Files of an answer at most.
const MOST: usize = 5;

/// The shortest query that is looked for in names, in characters: anything shorter is in many.
const SHORTEST: usize = 3;

/// The files of a vault whose names have all words of `text`, as whole words or as beginnings of words; without those
/// that are hidden from the asker.
pub(super) fn named(Served { vault, hidden, .. }: &Served, text: &str) -> Vec<Attachment> {
    let wanted = words(text);
    if wanted.iter().map(|word| word.chars().count()).sum::<usize>() < SHORTEST {
        return Vec::new();
    }
    let attachments = vault.attachments.load();
    let is_shown = |path: &&VaultPath| !hidden.as_ref().is_some_and(|hidden| hidden.covers_path(path));
    let fits = |path: &&VaultPath| {
        let name = words(path.file_name());
        wanted.iter().all(|word| name.iter().any(|part| part.starts_with(word.as_str())))
    };
    let found = attachments.iter().filter(fits).filter(is_shown).take(MOST);
    found.map(|path| Attachment { vault: vault.name.clone(), path: path.to_string() }).collect()
}

/// Runs of letters and of digits, in lower case and without accents.
fn words(text: &str) -> Vec<String> {
    let folded = note::fold(text);
    folded.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}
