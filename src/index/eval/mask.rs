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
mod tests {
    use super::*;
    use note::VaultPath;
    use note::{NoteRules, parse};

    fn links(text: &str) -> Vec<Link> {
        parse(&VaultPath::parse("a.md").unwrap(), text.as_bytes(), &NoteRules::default()).links
    }

    #[test]
    fn links_lose_what_they_show_and_lead_where_they_led() {
        let table: [(&str, bool, Option<&str>, Option<&str>); 14] = [
            ("[[Tides|the clock]]", true, None, Some("[[Tides]]")),
            ("[[Tides#Neap|the clock]]", true, None, Some("[[Tides#Neap]]")),
            ("![[Tides|the clock|100]]", true, None, Some("![[Tides]]")),
            ("[[clock]]", false, Some("Notes/Tides"), Some("[[Notes/Tides]]")),
            ("[[clock#Neap|see it]]", false, Some("Tides"), Some("[[Tides#Neap|see it]]")),
            ("[[clock^b1]]", true, Some("Tides"), Some("[[Tides^b1]]")),
            ("[[clock]]", false, Some("a|b"), None),
            ("[the clock](Tides.md)", true, None, Some("[](Tides.md)")),
            ("[the clock](<Tides and more.md> \"title\")", true, None, Some("[](<Tides and more.md> \"title\")")),
            ("[clock](clock)", true, Some("Tides"), None),
            ("[the [red] clock](Tides.md)", true, None, None),
            ("[the clock][ref]", true, None, None),
            ("[the clock]", true, None, None),
            ("https://clock.example", true, None, None),
        ];
        for (source, hide, target, expected) in table {
            let defined = format!("{source}\n\n[ref]: Tides.md\n[the clock]: Tides.md\n");
            let found = links(&defined);
            assert_eq!(masked(source, &found[0], hide, target).as_deref(), expected, "{source}");
            if let Some(expected) = expected.filter(|_| hide) {
                let after = &links(expected)[0];
                assert_eq!(after.alias, None, "{expected}");
                assert!(target.is_some() || after.target == found[0].target, "{expected}");
            }
        }
    }

    #[test]
    fn tables_keep_their_cells() {
        let text = "| a | b |\n| --- | --- |\n| [[clock\\|see it]] | c |\n";
        let link = &links(text)[0];
        let source = &text[link.span.clone()];
        assert_eq!(masked(source, link, true, None).as_deref(), Some("[[clock]]"));
        assert_eq!(masked(source, link, false, Some("Tides")).as_deref(), Some("[[Tides\\|see it]]"));
    }
}
