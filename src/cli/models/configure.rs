//! Puts a model's name into the configuration: values change; comments, order and everything else stay. Pure.

use toml_edit::{Item, Table};

use crate::cli::toml_text;
use crate::daemon::config::{Loaded, ValueOrigin, quoted};
use provider::hub::ModelId;
use provider::models::{ModelKind, Shelf};

/// What the configuration has to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Setting {
    section: &'static str,
    /// Keys and their values.
    set: Vec<(&'static str, String)>,
    /// Keys to remove: they describe another model, and would be wrong about this one.
    drop: &'static [&'static str],
}

/// The configuration's text, and the text that replaces it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) old: String,
    pub(super) new: String,
    /// A line for each key that changes, as a person reads it.
    pub(super) changes: Vec<String>,
}

impl Setting {
    /// The setting that names a model of the shelf.
    pub(super) fn of(kind: ModelKind, id: &ModelId, shelf: &Shelf) -> Self {
        let network = || vec![("provider", "transformer".to_owned()), ("model", id.to_string())];
        let folder = || shelf.folder().join(id.folder()).to_string_lossy().into_owned();
        match kind {
            ModelKind::CrossEncoder => Setting { section: "rerank", set: network(), drop: &[] },
            ModelKind::Embedder => Setting {
                section: "embed",
                set: network(),
                drop: &["path", "dimensions", "query_prefix", "document_prefix", "max_tokens"],
            },
            ModelKind::Static => Setting {
                section: "embed",
                set: vec![("provider", "static".to_owned()), ("path", folder())],
                drop: &["model", "dimensions", "query_prefix", "document_prefix", "max_tokens"],
            },
        }
    }

    /// `[rerank]`.
    pub(super) fn header(&self) -> String {
        format!("[{}]", self.section)
    }

    /// The setting as TOML, to be put there by hand.
    pub(super) fn lines(&self) -> String {
        let keys = self.set.iter().map(|(key, text)| format!("{key} = {}\n", quoted(text)));
        format!("{}\n{}", self.header(), keys.collect::<String>())
    }

    /// The environment variable that overrides the setting, if there is one.
    pub(super) fn overruled(&self, loaded: &Loaded) -> Option<String> {
        self.set.iter().find_map(|(key, _)| match loaded.origin(&format!("{}.{key}", self.section)) {
            ValueOrigin::Env(name) => Some(name.clone()),
            _ => None,
        })
    }
}

/// `text` with what `setting` says; `None` if it says so already.
///
/// # Errors
/// It is not TOML, or the section is not a table.
pub(super) fn named_in(text: &str, setting: &Setting) -> Result<Option<Named>, String> {
    let mut document = toml_text::parsed(text)?;
    let no_table = || format!("`{}` in it is no table", setting.section);
    let section = document.entry(setting.section).or_insert_with(|| Item::Table(Table::new()));
    let section = section.as_table_like_mut().ok_or_else(no_table)?;
    let mut changes = Vec::new();
    for (key, text) in &setting.set {
        let line = format!("{key} = {}", quoted(text));
        let known = section.get(key).map(plain);
        if section.get(key).and_then(Item::as_str) == Some(text) {
            continue;
        }
        changes.push(match &known {
            Some(known) => format!("{line}   (now {known})"),
            None => line,
        });
        toml_text::set(section, key, text.as_str());
    }
    if changes.is_empty() {
        return Ok(None);
    }
    for key in setting.drop {
        if let Some(known) = section.remove(key) {
            changes.push(format!("{key} goes: {} was said of another model", plain(&known)));
        }
    }
    Ok(Some(Named { old: text.to_owned(), new: toml_text::written(text, &document), changes }))
}

/// The value of a key, without the comment behind it.
fn plain(item: &Item) -> String {
    match item.as_value() {
        Some(value) => value.clone().decorated("", "").to_string(),
        None => item.to_string().trim().to_owned(),
    }
}

#[cfg(test)]
mod tests;
