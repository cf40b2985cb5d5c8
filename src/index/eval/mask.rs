//! A link rewritten so that it no longer says a certain text; it still leads where it led.

use note::{Link, LinkKind};

/// The link, which is written as `source`, without the text that it shows (`hide_shown`), or with `target` in
/// place of the name that it points at; `None` if it is written in a way that cannot be rewritten for sure
/// (a reference link, markup within the text).
pub(super) fn masked(source: &str, link: &Link, hide_shown: bool, target: Option<&str>) -> Option<String> {
    match link.kind {
        LinkKind::Wiki => wiki(source, hide_shown, target),
        LinkKind::Markdown if target.is_none() => markdown(source, hide_shown),
        LinkKind::Markdown | LinkKind::Url => None,
    }
}

fn wiki(source: &str, hide_shown: bool, target: Option<&str>) -> Option<String> {
    let (mark, rest) = source.strip_prefix('!').map_or(("", source), |rest| ("!", rest));
    let inner = rest.strip_prefix("[[")?.strip_suffix("]]")?;
    let (head, shown) = inner.split_once('|').map_or((inner, None), |(head, shown)| (head, Some(shown)));
    // In a table the pipe is escaped; the backslash goes and comes with it.
    let bare = if shown.is_some() { head.strip_suffix('\\').unwrap_or(head) } else { head };
    let pipe = &head[bare.len()..];
    let head = match target {
        Some(target) if target.contains(['[', ']', '|', '#', '^', '\n']) => return None,
        Some(target) => format!("{target}{}", &bare[bare.find(['#', '^']).unwrap_or(bare.len())..]),
        None => bare.to_owned(),
    };
    Some(match shown.filter(|_| !hide_shown) {
        Some(shown) => format!("{mark}[[{head}{pipe}|{shown}]]"),
        None => format!("{mark}[[{head}]]"),
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
