//! What Obsidian's own settings say about the notes of a vault.

use note::{NoteRules, PERIODIC_SETTINGS, VaultPath, periodic};

use crate::settings::VaultConfig;

/// Longer settings are not Obsidian's.
pub const LONGEST: u64 = 1 << 20;

/// The rules of a vault with the formats in which Obsidian names its daily, weekly, … notes; and what is wrong with
/// those, for the user. `read` gives a file of at most [`LONGEST`] bytes, if it is there.
pub fn rules(vault: &VaultConfig, read: impl Fn(&VaultPath) -> Option<Vec<u8>>) -> (NoteRules, Vec<String>) {
    let text = |path: &str| String::from_utf8(read(&VaultPath::parse(path)?)?).ok();
    let [core, plugin] = PERIODIC_SETTINGS.map(text);
    let (periodic, problems) = periodic(core.as_deref(), plugin.as_deref());
    (NoteRules { periodic, ..vault.rules.clone() }, problems)
}
