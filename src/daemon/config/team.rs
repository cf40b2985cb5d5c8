//! `[team.NAME]`: collections that are shared with a team.

use std::fmt::Write as _;
use std::time::Duration;

use super::keys::{HIDDEN, TEAM, TEAM_KEYS};
use super::raw::{RawTable, Reader};
use super::units::{self, Placed, Value, quoted};
use context::settings::KeyConfig;
use engine::settings::TeamConfig;
use protocol::folders::SHOWN_CONFIG;

/// Reads a table, and reports what is wrong with it.
pub(super) fn read(raw: &RawTable, reader: &mut Reader<'_>) -> Option<(String, TeamConfig)> {
    let name = raw.name.value.clone();
    let full = format!("{TEAM}.{name}");
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.is_empty() || name.len() > 32 || !name.chars().all(allowed) {
        let message = "a team's name is at most 32 of a-z, 0-9 and `-`".to_owned();
        reader.problem_at(&full, raw.name.line, raw.name.column, message);
        return None;
    }
    let mut needed = |key: &str, what: &str| {
        if raw.get(key).is_none() {
            let message = format!("this team has no `{key}`; write {what}");
            reader.problem_at(&full, raw.name.line, raw.name.column, message);
        }
    };
    needed("url", "the address of its server, such as \"https://qdrant.example.org:6333\"");
    needed("collection", "what its collection is called, such as \"handbook\"");
    let mut config = TeamConfig::new("", "");
    let mut key = KeyConfig::default();
    for (name, placed) in &raw.entries {
        let full = format!("{full}.{name}");
        match name.as_str() {
            "url" => config.url = reader.take(&full, placed, units::address)?,
            "replicas" => config.replicas = replicas(&full, placed, reader)?,
            "passes_on" => config.passes_on = reader.take(&full, placed, units::boolean)?,
            "collection" => config.collection = reader.take(&full, placed, collection)?,
            "key_file" => key.file = reader.take(&full, placed, units::key_file),
            "key_command" => key.command = reader.take(&full, placed, units::words),
            "key_credential" => key.credential = reader.take(&full, placed, units::credential),
            "ca_file" => config.ca_file = Some(reader.take(&full, placed, units::path)?),
            "timeout" => {
                const LEAST: Duration = Duration::from_millis(10);
                let most = Duration::from_secs(60);
                config.timeout = reader.take(&full, placed, |value| units::duration(value, LEAST..=most))?;
            }
            _ => config.search = reader.take(&full, placed, units::boolean)?,
        }
    }
    config.key = key;
    one_of_each(&full, raw, &config, reader);
    (!config.url.is_empty() && !config.collection.is_empty()).then_some((name, config))
}

/// Other nodes of a cluster, each once.
fn replicas(key: &str, placed: &Placed<Value>, reader: &mut Reader<'_>) -> Option<Vec<String>> {
    let Value::List(items) = &placed.value else {
        let message = "write a list of addresses, such as `replicas = [\"https://qdrant-2.example.org:6333\"]`";
        reader.problem_at(key, placed.line, placed.column, message.to_owned());
        return None;
    };
    items.iter().map(|item| reader.take(key, item, units::address)).collect()
}

/// Reports a node that is listed twice: it would be asked twice, while another node may be alive.
fn one_of_each(team: &str, raw: &RawTable, config: &TeamConfig, reader: &mut Reader<'_>) {
    let Some(placed) = raw.get("replicas") else { return };
    let plain = |url: &String| url.trim_end_matches('/').to_ascii_lowercase();
    let mut known = vec![plain(&config.url)];
    for url in &config.replicas {
        if known.contains(&plain(url)) {
            let message = format!("`{}` stands twice among `url` and `replicas`", url.escape_debug());
            reader.problem_at(&format!("{team}.replicas"), placed.line, placed.column, message);
        }
        known.push(plain(url));
    }
}

/// A collection's name becomes a part of an address.
fn collection(value: &units::Value) -> Result<String, String> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    units::plain(value, allowed, "a name of letters, digits, `-`, `_` and `.`, such as \"handbook\"")
}

/// Keys and values in force.
pub(super) fn values(config: &TeamConfig) -> Vec<(&'static str, String)> {
    let TeamConfig { url, replicas, passes_on, collection, key, ca_file, timeout, search } = config;
    let mut values = vec![("url", quoted(url))];
    if !replicas.is_empty() {
        values.push(("replicas", list(replicas)));
    }
    values.push(("passes_on", passes_on.to_string()));
    values.push(("collection", quoted(collection)));
    values.extend(key.file.as_ref().map(|file| ("key_file", quoted(&file.to_string_lossy()))));
    values.extend(key.command.as_ref().map(|_| ("key_command", HIDDEN.to_owned())));
    values.extend(key.credential.as_ref().map(|name| ("key_credential", quoted(name))));
    values.extend(ca_file.as_ref().map(|file| ("ca_file", quoted(&file.to_string_lossy()))));
    values.push(("timeout", quoted(&units::show_duration(*timeout))));
    values.push(("search", search.to_string()));
    values
}

/// What such a table looks like, as a comment.
pub(super) fn sample() -> String {
    let mut out = String::from(
        "\n# A team's notes on a Qdrant server: read beside the vaults here, and published by their keeper.\n",
    );
    out.push_str("#   [team.handbook]\n");
    for (key, about) in TEAM_KEYS {
        let value = match key {
            "url" => quoted("https://qdrant.example.org:6333"),
            "replicas" => list(&["https://qdrant-2.example.org:6333".to_owned()]),
            "collection" => quoted("handbook"),
            "key_file" => quoted(&format!("{SHOWN_CONFIG}/handbook-key")),
            "key_command" => quoted("pass show handbook"),
            "key_credential" => quoted("handbook-key"),
            "ca_file" => quoted(&format!("{SHOWN_CONFIG}/qdrant-ca.pem")),
            "timeout" => quoted("300ms"),
            _ => "true".to_owned(),
        };
        let _ = writeln!(out, "# {about}\n#   {key} = {value}");
    }
    out
}

fn list(texts: &[String]) -> String {
    format!("[{}]", texts.iter().map(|text| quoted(text)).collect::<Vec<_>>().join(", "))
}
