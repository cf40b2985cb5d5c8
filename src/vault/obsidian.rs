//! What the settings of Obsidian and Logseq say about the notes of a vault.

use note::{LOGSEQ_SETTINGS, NoteRules, PERIODIC_SETTINGS, VaultPath, journals, periodic};

use serde::Deserialize;

use crate::settings::VaultConfig;

/// Where Obsidian keeps the settings of its templates, and the plugin Templater its own.
const TEMPLATES: [&str; 2] = [".obsidian/templates.json", ".obsidian/plugins/templater-obsidian/data.json"];

/// Most bytes of a settings file; a longer one is not Obsidian's.
pub const LONGEST: u64 = 1 << 20;

/// The folders that are set for templates: they hold what notes are made from. `read` as for [`rules`].
pub(crate) fn template_folders(read: impl Fn(&VaultPath) -> Option<Vec<u8>>) -> Vec<VaultPath> {
    #[derive(Deserialize)]
    struct Settings {
        #[serde(alias = "templates_folder")]
        folder: String,
    }
    let folder = |place: &str| {
        let settings: Settings = serde_json::from_slice(&read(&VaultPath::parse(place)?)?).ok()?;
        VaultPath::parse(settings.folder.trim().trim_matches('/'))
    };
    TEMPLATES.iter().filter_map(|place| folder(place)).collect()
}

/// The rules of a vault with the formats in which Obsidian and Logseq name daily, weekly, … notes; and what is wrong with
/// these formats, for the user. `read` gives a file of at most [`LONGEST`] bytes, if it is there.
pub fn rules(vault: &VaultConfig, read: impl Fn(&VaultPath) -> Option<Vec<u8>>) -> (NoteRules, Vec<String>) {
    let text = |path: &str| String::from_utf8(read(&VaultPath::parse(path)?)?).ok();
    let [core, plugin] = PERIODIC_SETTINGS.map(text);
    let (periodic, problems) = periodic(core.as_deref(), plugin.as_deref());
    let settings = text(LOGSEQ_SETTINGS);
    let journals = settings.as_deref().and_then(journals);
    (NoteRules { periodic, journals, logseq: settings.is_some(), ..vault.rules.clone() }, problems)
}
