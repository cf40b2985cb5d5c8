//! A link rewritten so that it no longer says a certain text; it still leads where it led.

use crate::Side;
use note::{Link, LinkKind};

/// The link, which is written as `source`, without the text that it shows (`hide_shown`), or with `target` in
/// place of the name that it points at; `None` if it is written in a way that cannot be rewritten for sure
/// (a reference link, markup within the text). `side` says which side of a wikilink's bar is the target.
pub(super) fn masked(source: &str, link: &Link, side: Side, hide_shown: bool, target: Option<&str>) -> Option<String> {
    match link.kind {
        LinkKind::Wiki => wiki(source, side, hide_shown, target),
        LinkKind::Markdown if target.is_none() => markdown(source, hide_shown),
        LinkKind::Markdown | LinkKind::Url => None,
    }
}

fn wiki(source: &str, side: Side, hide_shown: bool, target: Option<&str>) -> Option<String> {
    let (mark, rest) = source.strip_prefix('!').map_or(("", source), |rest| ("!", rest));
    let inner = rest.strip_prefix("[[")?.strip_suffix("]]")?;
    let (first, second) = inner.split_once('|').map_or((inner, None), |(first, second)| (first, Some(second)));
    // In a table the pipe is escaped; the backslash goes and comes with it.
    let bare = if second.is_some() { first.strip_suffix('\\').unwrap_or(first) } else { first };
    let bar = format!("{}|", &first[bare.len()..]);
    let (place, shown) = match (side, second) {
        (Side::Second, Some(second)) => (second, Some(bare)),
        (_, second) => (bare, second),
    };
    let place = match target {
        Some(target) if target.contains(['[', ']', '|', '#', '^', '\n']) => return None,
        Some(target) => format!("{target}{}", &place[place.find(['#', '^']).unwrap_or(place.len())..]),
        None => place.to_owned(),
    };
    Some(match (shown.filter(|_| !hide_shown), side) {
        (Some(shown), Side::First) => format!("{mark}[[{place}{bar}{shown}]]"),
        (Some(shown), Side::Second) => format!("{mark}[[{shown}{bar}{place}]]"),
        (None, _) => format!("{mark}[[{place}]]"),
    })
}

fn markdown(source: &str, hide_shown: bool) -> Option<String> {
    let (mark, rest) = source.strip_prefix('!').map_or(("", source), |rest| ("!", rest));
    let (label, destination) = rest.strip_prefix('[')?.split_once("](")?;
    if label.contains(['[', ']']) || !destination.ends_with(')') {
        return None;
    }
    let label = if hide_shown { "" } else { label };
    Some(format!("{mark}[{label}]({destination}"))
}

#[cfg(test)]
mod tests;
