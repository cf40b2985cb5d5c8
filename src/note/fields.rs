//! Properties in the text of a note, `key:: value`. Those at its top, where Logseq has a page's, count as front matter
//! does. Others, Dataview's fields, are only found by conditions on properties. Front matter wins over both.

use std::ops::Range;

use serde_json::map::Entry;
use serde_json::{Map, Value};

use super::frontmatter::{FIELDS, FrontMatter, is_aliases, is_tags, typed};
use super::ids::{self, ID};
use super::links::Field;
use super::spans::{indent, next_line};
use super::{lenient, org, outline};

/// Most fields of a note that are kept, and most bytes of a value at the top and of another: they stay in memory.
const MOST_FIELDS: usize = 64;
const MOST_BYTES: usize = 2000;
const MOST_BYTES_ELSEWHERE: usize = 200;

/// Properties that Logseq keeps with a block.
const OF_BLOCKS: [&str; 2] = [ID, "collapsed"];

/// What Logseq keeps there besides, and shows nobody: how a card was learned, and what a highlight in a PDF is.
const OF_CARDS: &str = "card-last-interval card-repeats card-ease-factor card-next-schedule card-last-reviewed card-last-score \
    ls-type hl-type hl-page hl-color hl-stamp";

/// Lines of properties that may stand between a block's text and its id.
const MOST_LINES: usize = 16;

/// Where the properties at the top of the body end. They are in lines of their own, or make up the first block.
pub(super) fn top(text: &str, body: usize, fields: &[Field]) -> usize {
    let mut top = body;
    for (key, value) in fields {
        // A field within the value of another is not between them.
        let Some(between) = text.get(top..key.start) else { continue };
        let is_passed = |line: &str| line.is_empty() || line.ends_with("::") || (top == body && line == "-");
        if !between.lines().all(|line| is_passed(line.trim())) {
            break;
        }
        top = value.end;
    }
    top
}

/// Adds the fields of a text to its front matter. The properties at its top end at `top`.
pub(super) fn add(front: &mut FrontMatter, text: &str, top: usize, fields: &[Field]) {
    let (mut page, mut others) = (Map::new(), Map::new());
    let own = fields.iter().filter(|(key, _)| !OF_BLOCKS.contains(&&text[key.clone()])).take(MOST_FIELDS);
    for (key, value) in own {
        let (is_page, key, value) = (key.start < top, &text[key.clone()], &text[value.clone()]);
        if front.property(key).is_some() {
            continue;
        }
        let most = if is_page { MOST_BYTES } else { MOST_BYTES_ELSEWHERE };
        let value = read(key, &value[..value.floor_char_boundary(most)]);
        match if is_page { &mut page } else { &mut others }.entry(key) {
            Entry::Vacant(entry) => drop(entry.insert(value)),
            Entry::Occupied(mut entry) => match entry.get_mut() {
                Value::Array(values) => values.push(value),
                one => *one = Value::Array(vec![one.take(), value]),
            },
        }
    }
    if !page.is_empty() {
        front.properties.append(&mut page);
        *front = typed(std::mem::take(&mut front.properties));
    }
    let own = fields.iter().filter(|(key, _)| text[key.clone()] == *ID).map(|(_, value)| &text[value.clone()]);
    if !others.is_empty() {
        front.properties.entry(FIELDS).or_insert(Value::Object(others));
    }
    ids::add(&mut front.properties, own.filter(|id| ids::is_uuid(id)));
}

/// The tags that the properties at the top name, which are the note's even if front matter names others.
pub(super) fn tags(text: &str, top: usize, fields: &[Field]) -> Vec<String> {
    let named = fields.iter().filter(|(key, _)| key.start < top && is_tags(&text[key.clone()]));
    let tags: Vec<Value> = named.flat_map(|(_, value)| items(&text[value.clone()])).map(Value::from).collect();
    if tags.is_empty() { Vec::new() } else { typed(Map::from_iter([("tags".to_owned(), tags.into())])).tags }
}

/// The ids of blocks, each with the start of its block: Logseq writes `id:: …` in a line below the block's first one.
pub(super) fn block_ids(text: &str, body: usize, fields: &[Field]) -> Vec<(String, usize)> {
    let begins_line = |at: usize| {
        let before = text[body..at].trim_end_matches([' ', '\t', '-', '*', '+']);
        before.is_empty() || before.ends_with('\n')
    };
    let is_id = |value: &str| outline::is_block_id(value);
    let ids = fields.iter().filter(|(key, value)| text[key.clone()] == *ID && is_id(&text[value.clone()]));
    let ids = ids.filter(|(key, _)| begins_line(key.start));
    ids.map(|(key, value)| (text[value.clone()].to_owned(), block(text, body, key.start))).collect()
}

/// The lines of properties that Logseq keeps with a block and shows nobody.
pub(super) fn unseen(text: &str, fields: &[Field]) -> impl Iterator<Item = Range<usize>> {
    let is_own = |key: &str| OF_BLOCKS.contains(&key) || OF_CARDS.split_ascii_whitespace().any(|own| own == key);
    let own = fields.iter().filter(move |(key, _)| is_own(&text[key.clone()]) && text[key.end..].starts_with(":: "));
    let begins_line = |at: usize| at == 0 || text[..at].ends_with('\n');
    own.filter_map(move |(key, value)| {
        let start = key.start - indent(&text[..key.start]);
        let bullet = text[..start].strip_suffix('-').map(|before| before.len() - indent(before));
        if begins_line(start) {
            Some(start..next_line(text.as_bytes(), value.end))
        } else {
            bullet.filter(|at| begins_line(*at)).map(|_| key.start..value.end)
        }
    })
}

/// The start of the block with a property at `at`.
fn block(text: &str, body: usize, at: usize) -> usize {
    let line_start = |at: usize| text[body..at].rfind('\n').map_or(body, |end| body + end + 1);
    let mut start = line_start(at);
    for _ in 0..MOST_LINES {
        let line = text[start..].lines().next().unwrap_or_default();
        if start == body || org::is_item(line) || !line.contains("::") {
            break;
        }
        start = line_start(start - 1);
    }
    start
}

fn read(key: &str, value: &str) -> Value {
    let is_list = value.starts_with("[[") && value.ends_with("]]") && value.matches("[[").count() > 1;
    if is_list || is_tags(key) || is_aliases(key) { items(value).collect() } else { lenient::scalar(value) }
}

/// What a list names: `[[a page]], word, #tag`.
fn items(list: &str) -> impl Iterator<Item = &str> {
    let pieces = list.split("]]").flat_map(|piece| match piece.split_once("[[") {
        Some((before, link)) => before.split(',').chain(Some(link)).collect::<Vec<_>>(),
        None => piece.split(',').collect(),
    });
    pieces.map(str::trim).filter(|part| !matches!(*part, "" | "#"))
}

#[cfg(test)]
mod tests;
