//! `[team.NAME]`: collections that are shared with a team.

use super::keys::{TEAM, TEAM_KEYS};
use super::raw::{RawTable, Reader};
use super::units;
use engine::settings::TeamConfig;

/// Reads a table of this full name, and reports what is wrong with it.
pub(super) fn read(full: &str, raw: &RawTable, reader: &mut Reader<'_>) -> Option<TeamConfig> {
    let mut problem = |message: String| reader.problem_at(full, &raw.name, message);
    if !units::is_short_name(&raw.name.value) {
        problem("a team's name is at most 32 of a-z, 0-9 and `-`".to_owned());
        return None;
    }
    for (key, what) in [
        ("url", "the address of its server, such as \"https://qdrant.example.org:6333\""),
        ("collection", "what its collection is called, such as \"handbook\""),
    ] {
        if raw.get(key).is_none() {
            problem(format!("this team has no `{key}`; write {what}"));
        }
    }
    let mut config = TeamConfig::new("", "");
    reader.set((TEAM_KEYS, TEAM), full, &raw.entries, &mut config);
    one_of_each(full, raw, &config, reader);
    (!config.url.is_empty() && !config.collection.is_empty()).then_some(config)
}

/// Reports a node that is listed twice: it would be asked twice, while another node may be alive.
fn one_of_each(team: &str, raw: &RawTable, config: &TeamConfig, reader: &mut Reader<'_>) {
    let Some(placed) = raw.get("replicas") else { return };
    let plain = |url: &String| url.trim_end_matches('/').to_ascii_lowercase();
    let mut known = vec![plain(&config.url)];
    for url in &config.replicas {
        if known.contains(&plain(url)) {
            let message = format!("`{}` stands twice among `url` and `replicas`", url.escape_debug());
            reader.problem_at(&format!("{team}.replicas"), placed, message);
        }
        known.push(plain(url));
    }
}
