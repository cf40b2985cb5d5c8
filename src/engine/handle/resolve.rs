//! Which note a user means: by its path, by a path on the disk, by file name, title or alias in any case, by a link as
//! it stands in a note (`[[Note#Heading|text]]`), each perhaps with a heading or a block behind `#`.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use super::access::{hidden, not_found, parse_path, read, ready, state};
use super::{CallError, Handle};
use crate::VaultShared;
use index::{NoteEntry, Side, Snapshot};
use note::{BY_ID, Block, BlockKind, Format, Heading, Link, Note, VaultPath};
use protocol::audience::Audience;
use protocol::hit::split_lines;
use vault::policy::EntryKind;
use vault::read::ReadError;

/// Notes that an error offers if no note has the name, or several do.
const MOST_OFFERED: usize = 4;

/// Characters of a name that an error repeats.
const MOST_SHOWN: usize = 200;

/// A note that a user means. It need not exist if it was named by a path.
#[derive(Clone)]
pub(super) struct Named {
    /// Its vault.
    pub vault: Arc<VaultShared>,
    /// Its path there.
    pub path: VaultPath,
    /// First and last line of what was named behind `#`, 1-based.
    pub lines: Option<(u32, u32)>,
    /// Names of other vaults that have a note at this path, if it was named by its path.
    pub also_in: Vec<String>,
}

impl Named {
    fn new(vault: &Arc<VaultShared>, path: VaultPath) -> Self {
        Named { vault: vault.clone(), path, lines: None, also_in: Vec::new() }
    }

    fn is_indexed(&self) -> bool {
        self.vault.snapshot().is_some_and(|snapshot| snapshot.note_at(&self.path).is_some())
    }

    /// What to say if other vaults have a note at this path, too.
    pub(super) fn doubt(&self) -> Option<String> {
        let others: Vec<String> = self.also_in.iter().map(|name| format!("`{name}`")).collect();
        let (path, vault) = (&self.path, &self.vault.name);
        (!others.is_empty()).then(|| format!("`{path}` of vault `{vault}`; there is one in {}, too", others.join(", ")))
    }
}

/// The note that `typed` names in these vaults, among those that `audience` may know of.
///
/// # Errors
/// No note has the name, or several do; the error says which there are.
pub(super) fn note(vaults: &[Arc<VaultShared>], typed: &str, audience: Audience) -> Result<Named, CallError> {
    // What stands behind `#` in a path on the disk may be part of the name or a part of the note.
    let there = |name: &str| -> Result<Option<Named>, CallError> {
        Ok(by_path(vaults, name, audience)?.filter(|named| !name.contains('#') || named.is_indexed()))
    };
    // A path is taken literally, with its blanks.
    if let Some(named) = there(typed)? {
        return Ok(named);
    }
    let link = note::link(typed.trim());
    if let Some(named) = link.as_ref().map_or(Ok(None), |link| by_link(vaults, link, typed, audience))? {
        return Ok(named);
    }
    let name = bare(typed);
    if link.is_none() && name.contains('/') && !name.starts_with('/') {
        // A title may have a slash too, but none leads out of the vault.
        parse_path(name)?;
    }
    if let Some(named) = there(name)? {
        return Ok(named);
    }
    if let Some(named) = by_name(vaults, name, audience)? {
        return Ok(named);
    }
    let parted = name.match_indices('#').map(|(at, _)| (&name[..at], &name[at + 1..]));
    let parted = parted.chain(name.rfind('^').map(|at| name.split_at(at)));
    for (name, part) in parted.filter(|(name, part)| !name.is_empty() && !part.is_empty()) {
        let whole = match by_path(vaults, name, audience)? {
            Some(whole) => Some(whole),
            None => by_name(vaults, name, audience)?,
        };
        if let Some(whole) = whole.filter(Named::is_indexed) {
            let gone = || unknown(vaults, typed, audience);
            let lines = Some(lines_of(&whole, part, audience, gone)?);
            return Ok(Named { lines, ..whole });
        }
    }
    // A path that the vault's policy takes for a note may be new, or gone; reading it says what else is wrong.
    match VaultPath::parse(name).zip(vaults.first()) {
        Some((path, vault)) if may_be_note(vault, &path) => Ok(Named::new(vault, path)),
        _ => by_path(vaults, name, audience)?.ok_or_else(|| unknown(vaults, typed, audience)),
    }
}

/// Why what is there at a path of a vault is left out of the index, if it is.
pub(super) fn left_out(vault: &VaultShared, path: &VaultPath) -> Option<String> {
    let is_folder = match state(vault, path) {
        Ok(Ok(_)) => false,
        Ok(Err(ReadError::NotAFile)) => true,
        _ => return None,
    };
    match vault.policy.load().as_ref()?.verdict(path, is_folder) {
        EntryKind::Ignored(why) => Some(format!("it is left out: {why}")),
        EntryKind::Note | EntryKind::Folder => None,
    }
}

/// The error for a note that is not there: why it is left out, or notes of similar names.
pub(super) fn unknown(vaults: &[Arc<VaultShared>], typed: &str, audience: Audience) -> CallError {
    let name = bare(typed);
    let name = name.split_once('#').map_or(name, |(name, _)| name);
    let mut offered = Vec::new();
    let mut is_gone = false;
    for (vault, snapshot) in published(vaults) {
        let hides = hides(vault, audience);
        for note in snapshot.named_like(name, MOST_OFFERED, &hides) {
            // A note that has just this path is in the index alone.
            is_gone |= note.path.as_str() == name;
            offered.push(shown(vaults, vault, &note.path));
        }
    }
    offered.truncate(MOST_OFFERED);
    let left_out = |vault: &Arc<VaultShared>| {
        let relative = Path::new(name).strip_prefix(&vault.path).unwrap_or(Path::new(name));
        left_out(vault, &VaultPath::from_relative(relative)?)
    };
    let left_out = if audience.is_assistant() { None } else { vaults.iter().find_map(left_out) };
    let hint = match (left_out, &offered[..]) {
        (Some(why), _) => why,
        _ if is_gone && audience.is_assistant() => {
            "it has changed since it was indexed, and cannot be read now".to_owned()
        }
        _ if is_gone => "its file is not there now; `situated status` says if that is in doubt".to_owned(),
        _ if by_lines(name).is_some_and(|note| by_name(vaults, note, audience).is_ok_and(|note| note.is_some())) => {
            if split_lines(name).is_some() {
                "the note is there: give its lines beside its name (`line` and `lines`, or `end_line`)".to_owned()
            } else {
                "lines are counted from 1, and the smaller comes first, as in `NOTE:4` or `NOTE:4-9`".to_owned()
            }
        }
        (_, []) => "name it by path, title, alias or file name; a search shows paths".to_owned(),
        (_, offered) => format!("did you mean {}?", offered.join(" or ")),
    };
    not_found("note", &typed.chars().take(MOST_SHOWN).collect::<String>(), &hint)
}

/// The note of a name that ends as if it named lines.
fn by_lines(name: &str) -> Option<&str> {
    let (note, lines) = name.rsplit_once(':')?;
    (!lines.is_empty() && lines.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')).then_some(note)
}

/// A name without the brackets and the text of a link, and without what a shell adds to a path.
fn bare(typed: &str) -> &str {
    let typed = typed.trim();
    let inner = typed.strip_prefix('!').unwrap_or(typed).strip_prefix("[[").and_then(|rest| rest.strip_suffix("]]"));
    match inner {
        Some(inner) => inner.split(['|', '\\']).next().unwrap_or_default().trim(),
        None => typed.strip_prefix("./").unwrap_or(typed),
    }
}

/// The note that a link names, seen from the root of a vault, if there is one.
fn by_link(
    vaults: &[Arc<VaultShared>],
    link: &Link,
    typed: &str,
    audience: Audience,
) -> Result<Option<Named>, CallError> {
    let Some(whole) = by_target(vaults, link, audience)? else { return Ok(None) };
    // Either side of a bar may name the note.
    let turned = link.text_first().filter(|_| is_turned(vaults, link, audience));
    let link = turned.as_ref().unwrap_or(link);
    let part = link.block.as_ref().map(|block| format!("^{block}")).or_else(|| link.heading.clone());
    let lines = |part: String| lines_of(&whole, &part, audience, || unknown(vaults, typed, audience));
    let lines = match part {
        Some(part) => Some(lines(part)?),
        // An id may be that of a headline.
        None => link.target.strip_prefix(BY_ID).and_then(|id| lines(format!("^{id}")).ok()),
    };
    Ok(Some(Named { lines, ..whole }))
}

fn by_target(vaults: &[Arc<VaultShared>], link: &Link, audience: Audience) -> Result<Option<Named>, CallError> {
    if let Some(file) = link.file() {
        let home = file.strip_prefix("~/").and_then(|below| Some(protocol::folders::home()?.join(below)));
        let file = home.map_or(file, |file| file.to_string_lossy().into_owned());
        if let Ok(Some(named)) = by_path(vaults, &file, audience) {
            return Ok(Some(named));
        }
    }
    let Some(mention) = link.mention() else { return Ok(None) };
    let (first, second) = mention.split_once('\n').map_or((mention.as_str(), None), |(one, other)| (one, Some(other)));
    let name = second.filter(|_| is_turned(vaults, link, audience)).unwrap_or(first);
    // It may have been copied from a note in a folder.
    let name = name.trim_start_matches("../").trim_start_matches("./");
    match by_path(vaults, name, audience).unwrap_or_default() {
        Some(named) => Ok(Some(named)),
        None => by_name(vaults, name, audience),
    }
}

/// Whether the text of a link names its note, as in `[[text|note]]`.
fn is_turned(vaults: &[Arc<VaultShared>], link: &Link, audience: Audience) -> bool {
    let Some((root, mention)) = VaultPath::parse("link").zip(link.mention()) else { return false };
    published(vaults).any(|(vault, snapshot)| {
        let turned = snapshot.resolve_side(&mention, &root).filter(|(side, _)| *side == Side::Second);
        turned.and_then(|(_, no)| snapshot.note(no)).is_some_and(|note| !hides(vault, audience)(note))
    })
}

/// The note at this path, if it exists in one of the vaults, or if it is an absolute one inside a vault. Of several the
/// first that `audience` may know of.
fn by_path(vaults: &[Arc<VaultShared>], name: &str, audience: Audience) -> Result<Option<Named>, CallError> {
    if Path::new(name).is_absolute() {
        let inside = |vault: &Arc<VaultShared>| {
            let relative = Path::new(name).strip_prefix(&vault.path).ok()?;
            Some(Named::new(vault, VaultPath::from_relative(relative)?))
        };
        return match vaults.iter().find_map(inside) {
            // A link that begins at the vault's root (`/Note`) looks like an absolute path.
            None if !name[1..].contains('/') => Ok(None),
            None => Err(not_found("note", name, &lies_elsewhere(vaults))),
            found => Ok(found),
        };
    }
    let Some(path) = VaultPath::parse(name) else { return Ok(None) };
    let holding = published(vaults).filter_map(|(vault, snapshot)| {
        let is_hidden = hides(vault, audience)(snapshot.note_at(&path)?);
        Some((vault, is_hidden))
    });
    let (hidden, shown): (Vec<_>, Vec<_>) = holding.partition(|(_, is_hidden)| *is_hidden);
    let (first, others) = match (&shown[..], &hidden[..]) {
        ([(first, _), others @ ..], _) => (first, others),
        // Whoever reads it finds that it is hidden.
        ([], [(first, _), ..]) => (first, &[][..]),
        ([], []) => return Ok(None),
    };
    let also_in = others.iter().map(|(vault, _)| vault.name.clone()).collect();
    Ok(Some(Named { also_in, ..Named::new(first, path) }))
}

/// That a path on the disk leads into none of these vaults; others may be served that were not asked.
fn lies_elsewhere(vaults: &[Arc<VaultShared>]) -> String {
    match vaults {
        [only] => format!("it does not lie in the vault `{}`", only.name),
        _ => "it lies in no vault".to_owned(),
    }
}

fn by_name(vaults: &[Arc<VaultShared>], name: &str, audience: Audience) -> Result<Option<Named>, CallError> {
    let mut meant = Vec::new();
    for (vault, snapshot) in published(vaults) {
        let found = snapshot.meant(name, &hides(vault, audience));
        meant.extend(found.into_iter().filter_map(|no| Some((vault, snapshot.note(no)?.path.clone()))));
    }
    match &meant[..] {
        [] => Ok(None),
        [(vault, path)] => Ok(Some(Named::new(vault, path.clone()))),
        several => {
            let shown: Vec<String> =
                several.iter().take(MOST_OFFERED).map(|(vault, path)| shown(vaults, vault, path)).collect();
            let more = if several.len() > shown.len() { ", …" } else { "" };
            let count = several.len();
            let of_one_vault = several.iter().all(|(vault, _)| vault.id == several[0].0.id);
            // Notes of two vaults may have the same path.
            let advice = if of_one_vault { "give the path" } else { "give the vault, and the path" };
            Err(CallError::Invalid(format!("`{name}` names {count} notes: {}{more}; {advice}", shown.join(", "))))
        }
    }
}

/// The lines of a heading with what stands under it, or of a block (`^id`).
fn lines_of(
    named: &Named,
    part: &str,
    audience: Audience,
    gone: impl Fn() -> CallError,
) -> Result<(u32, u32), CallError> {
    let (snapshot, pipeline) = ready(&named.vault)?;
    let text = read(&named.vault, &named.path, pipeline.max_note_bytes)?.map_err(|_| gone())?;
    let note = note::parse(&named.path, &text.bytes, &pipeline.rules);
    let tags = snapshot.note_at(&named.path).map(|entry| entry.tags());
    if hidden(&pipeline, audience).is_some_and(|hidden| hidden.covers_now(&note, tags)) {
        return Err(gone());
    }
    // Obsidian's views have parts of their own, of which the text says nothing.
    let has_views = matches!(named.path.format(), Format::Base | Format::Canvas);
    let whole = || has_views.then(|| (1, note.line_of(note.text.trim_end().len())));
    part_of(&note, part).or_else(whole).ok_or_else(|| {
        let headings: Vec<String> =
            note.outline.iter().take(MOST_OFFERED).map(|heading| format!("`{}`", heading.text)).collect();
        let hint = if headings.is_empty() {
            "the note has no headings".to_owned()
        } else {
            let more = if note.outline.len() > headings.len() { ", …" } else { "" };
            format!("the note's headings are {}{more}", headings.join(", "))
        };
        let (kind, hint) = if part.starts_with('^') {
            ("block", "no block of the note has this id")
        } else {
            ("heading", hint.as_str())
        };
        not_found(kind, &format!("{}#{part}", named.path), hint)
    })
}

fn part_of(note: &Note, part: &str) -> Option<(u32, u32)> {
    if note.path.format() == Format::Pdf {
        // Each page is a line.
        let page: u32 = part.strip_prefix("page=")?.split('&').next()?.parse().ok()?;
        return (page > 0 && page as usize <= note.text.lines().count()).then_some((page, page));
    }
    let section = |at: usize| {
        let heading = &note.outline[at];
        let next = note.outline[at + 1..].iter().find(|next| next.level <= heading.level);
        heading.span.start..next.map_or(note.text.len(), |next| next.span.start)
    };
    // A block may be named behind the heading that it stands under.
    let span = if let Some(id) = part.strip_prefix('^').or_else(|| Some(part.rsplit_once("#^")?.1)) {
        match note.block_ids.iter().find(|(known, _)| known.eq_ignore_ascii_case(id)) {
            Some((_, at)) => block_of(note, *at),
            None => section(with_id(note, id)?),
        }
    } else {
        section(with_id(note, part).or_else(|| heading_of(&note.outline, part))?)
    };
    Some((note.line_of(span.start), note.line_of(span.end.saturating_sub(1).max(span.start))))
}

/// The heading that has an id of its own: `{#id}` behind it, or in Org a property below it.
fn with_id(note: &Note, id: &str) -> Option<usize> {
    let is = |known: &str| known.trim().eq_ignore_ascii_case(id);
    if note.path.format() != Format::Org {
        let own = |heading: &Heading| {
            let line = note.text[heading.span.clone()].lines().next()?;
            let attributes = line.trim_end().strip_suffix('}')?.rsplit_once('{')?.1;
            attributes.split_whitespace().find_map(|word| word.strip_prefix('#'))
        };
        return note.outline.iter().position(|heading| own(heading).is_some_and(is));
    }
    let is_id = |line: &str| {
        let property = line.trim().strip_prefix(':').and_then(|rest| rest.split_once(':'));
        let names = |(name, _): &(&str, &str)| ["id", "custom_id"].iter().any(|own| name.eq_ignore_ascii_case(own));
        property.filter(names).is_some_and(|(_, value)| is(value))
    };
    let before: usize = note.text.split_inclusive('\n').take_while(|line| !is_id(line)).map(str::len).sum();
    let headings = note.outline.iter().take_while(|heading| heading.span.start < before).count();
    if before < note.text.len() { headings.checked_sub(1) } else { None }
}

/// The block that an id at `at` names: what it stands in, of a list the item with what is indented below it; alone, it names
/// the block before it.
fn block_of(note: &Note, at: usize) -> Range<usize> {
    let Some(no) = note.blocks.iter().position(|block| block.span.contains(&at)) else { return at..at };
    let text = |block: &Block| note.text[block.span.clone()].trim();
    let mut span = match no.checked_sub(1).map(|before| &note.blocks[before]) {
        Some(before) if text(&note.blocks[no]).starts_with('^') => before.span.start..note.blocks[no].span.end,
        _ if note.blocks[no].kind == BlockKind::List => {
            let Block { cuts, span, .. } = &note.blocks[no];
            let start = cuts.iter().copied().rfind(|cut| *cut <= at).unwrap_or(span.start);
            let indent = |line: usize| note.text[line..].bytes().take_while(|b| matches!(b, b' ' | b'\t')).count();
            let is_next = |cut: &usize| *cut > at && indent(*cut) <= indent(start);
            start..cuts.iter().copied().find(is_next).unwrap_or(span.end)
        }
        _ => note.blocks[no].span.clone(),
    };
    span.end = span.start + note.text[span.clone()].trim_end().len();
    span
}

/// The heading that a link means: as it is written, or else without regard to case, or else to punctuation, which
/// Obsidian leaves out, or else as the anchor of a web page. `Heading#Sub` is one under another, unless a heading has a `#`
/// itself.
fn heading_of(outline: &[Heading], part: &str) -> Option<usize> {
    let whole = part.trim_start_matches('#');
    let spelt: [fn(&str) -> String; 3] = [|text| text.trim().to_owned(), |text| text.trim().to_lowercase(), folded];
    let found = spelt.iter().find_map(|spelt| {
        let path: Vec<String> = whole.split('#').map(spelt).collect();
        let (whole, is_path) = (spelt(whole), path.iter().all(|name| !name.is_empty()));
        // A heading and those that it stands under, itself last.
        let mut open: Vec<(u8, String)> = Vec::new();
        let mut under = None;
        for (at, heading) in outline.iter().enumerate() {
            let name = spelt(&heading.text);
            if !name.is_empty() && name == whole {
                return Some(at);
            }
            open.truncate(open.partition_point(|(level, _)| *level < heading.level));
            open.push((heading.level, name));
            let mut names = open.iter().rev().map(|(_, name)| name);
            let is_under = is_path
                && names.next() == path.last()
                && path.iter().rev().skip(1).all(|wanted| names.any(|name| name == wanted));
            under = under.or(is_under.then_some(at));
        }
        under
    });
    found.or_else(|| anchored(outline, whole))
}

/// The heading whose anchor this is on a web page: `dont-panic` for "Don't panic!", `notes-1` or `notes_1` for the second
/// "Notes".
fn anchored(outline: &[Heading], anchor: &str) -> Option<usize> {
    let wanted = slug(anchor);
    let mut known: HashMap<String, usize> = HashMap::new();
    outline.iter().filter(|_| !wanted.is_empty()).position(|heading| {
        let slug = slug(&heading.text);
        let number = |rest: &str| rest.strip_prefix(['-', '_']).map(|number| number.parse().unwrap_or_default());
        let rest = wanted.strip_prefix(slug.as_str()).map(|rest| if rest.is_empty() { Some(0) } else { number(rest) });
        let before = known.entry(slug).or_default();
        *before += 1;
        rest.flatten() == Some(*before - 1)
    })
}

/// A heading in lower case, without punctuation, its words parted by hyphens: so GitHub, Docusaurus and MkDocs make anchors,
/// except that some of them keep several hyphens in a row.
fn slug(heading: &str) -> String {
    let kept = |c: &char| c.is_alphanumeric() || c.is_whitespace() || matches!(c, '-' | '_');
    let kept: String = heading.to_lowercase().chars().filter(kept).collect();
    let words = kept.split(|c: char| c == '-' || c.is_whitespace()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-")
}

/// A heading in lower case, without punctuation.
fn folded(heading: &str) -> String {
    let lower = heading.to_lowercase();
    lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

fn may_be_note(vault: &VaultShared, path: &VaultPath) -> bool {
    vault.policy.load().as_ref().is_some_and(|policy| policy.verdict(path, false) == EntryKind::Note)
}

fn published(vaults: &[Arc<VaultShared>]) -> impl Iterator<Item = (&Arc<VaultShared>, Arc<Snapshot>)> {
    vaults.iter().filter_map(|vault| Some((vault, vault.snapshot()?)))
}

fn hides(vault: &VaultShared, audience: Audience) -> impl Fn(&NoteEntry) -> bool + use<> {
    let hidden = vault.pipeline().and_then(|pipeline| hidden(&pipeline, audience));
    move |note: &NoteEntry| hidden.as_ref().is_some_and(|hidden| hidden.covers(&note.path, note.tags()))
}

/// A note's path, with its vault if there are several.
fn shown(vaults: &[Arc<VaultShared>], vault: &VaultShared, path: &VaultPath) -> String {
    if vaults.len() > 1 { format!("`{path}` (vault `{}`)", vault.name) } else { format!("`{path}`") }
}

impl Handle {
    /// As [`note()`], for notes whose file is going to be read: what is ignored may not be read either.
    pub(super) fn readable(&self, vault: Option<&str>, typed: &str, audience: Audience) -> Result<Named, CallError> {
        let named = note(&self.served(vault)?.0, typed, audience)?;
        match named.vault.policy.load().as_ref().map(|policy| policy.verdict(&named.path, false)) {
            Some(EntryKind::Note) => Ok(named),
            Some(EntryKind::Ignored(why)) => {
                Err(not_found("note", named.path.as_str(), &format!("it is left out: {why}")))
            }
            Some(EntryKind::Folder) => Err(not_found("note", named.path.as_str(), "that is a folder")),
            None => Err(CallError::NotReady),
        }
    }
}

#[cfg(test)]
mod tests;
