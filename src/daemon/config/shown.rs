//! Values as TOML: for each reader of [`units`] a function of the same name, so that a key has one word for both. What is
//! shown is read as the same value again, unless it is secret.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::Path;
use std::time::Duration;

use super::Opener;
use super::units::{self, quoted};
use context::cost::decimal_dollars;

pub(super) use {count as boolean, count as percent, number as share, path as key_file, variant as strategy};
pub(super) use {words as address, words as credential, words as plain, words as prefix, words as string};

/// Shown in place of a value that is set but secret.
pub(super) const HIDDEN: &str = "(set)";

pub(super) fn count<T: ToString>(count: &T) -> Option<String> {
    Some(count.to_string())
}

pub(super) fn number<T: Debug>(number: &T) -> Option<String> {
    Some(format!("{number:?}"))
}

pub(super) fn words<T: AsRef<str>>(words: &T) -> Option<String> {
    Some(quoted(words.as_ref()))
}

pub(super) fn variant<T: Copy + Into<&'static str>>(variant: &T) -> Option<String> {
    Some(quoted((*variant).into()))
}

pub(super) fn path<T: AsRef<Path>>(path: &T) -> Option<String> {
    Some(quoted(&path.as_ref().to_string_lossy()))
}

pub(super) fn secret<T>(_: &T) -> Option<String> {
    Some(HIDDEN.to_owned())
}

pub(super) fn duration(duration: &Duration) -> Option<String> {
    Some(quoted(&units::show_duration(*duration)))
}

pub(super) fn bytes<T: Copy + Into<u64>>(bytes: &T) -> Option<String> {
    Some(quoted(&units::show_bytes((*bytes).into())))
}

pub(super) fn dollars<T: Copy + Into<u64>>(micro_dollars: &T) -> Option<String> {
    Some(decimal_dollars((*micro_dollars).into()))
}

pub(super) fn opener(opener: &Opener) -> Option<String> {
    Some(quoted(&units::show_opener(opener)))
}

pub(super) fn shares(shares: &BTreeMap<String, f32>) -> Option<String> {
    table(shares.iter().map(|(name, share)| (name, format!("{share:?}"))))
}

pub(super) fn kinds(folders: &[(String, String)]) -> Option<String> {
    table(folders.iter().map(|(folder, kind)| (folder, quoted(kind)))).filter(|_| !folders.is_empty())
}

fn table<'a>(items: impl Iterator<Item = (&'a String, String)>) -> Option<String> {
    let items = items.map(|(name, value)| format!("{} = {value}", quoted(name)));
    Some(format!("{{ {} }}", items.collect::<Vec<_>>().join(", ")))
}

pub(super) fn list(texts: &[String]) -> Option<String> {
    Some(format!("[{}]", texts.iter().map(|text| quoted(text)).collect::<Vec<_>>().join(", ")))
}
