//! Obsidian's canvases (JSON Canvas 1.0, <https://jsoncanvas.org/spec/1.0/>): the text of cards, the names of groups, the
//! files and addresses that stand on it, and what is written on the arrows; in reading order, groups one by one.

use std::fmt::Write as _;

use serde::Deserialize;

use crate::Unreadable;

#[derive(Deserialize)]
struct Canvas {
    #[serde(default)]
    nodes: Vec<Node>,
    #[serde(default)]
    edges: Vec<Edge>,
}

/// A card, a file, a link or a group. Missing fields are not needed.
#[derive(Deserialize)]
struct Node {
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(default)]
    x: f64,
    #[serde(default)]
    y: f64,
    #[serde(default)]
    width: f64,
    #[serde(default)]
    height: f64,
    text: Option<String>,
    file: Option<String>,
    subpath: Option<String>,
    url: Option<String>,
    label: Option<String>,
}

#[derive(Deserialize)]
struct Edge {
    label: Option<String>,
}

/// The canvas as Markdown.
pub(super) fn markdown(bytes: &[u8]) -> Result<String, Unreadable> {
    // A new canvas is an empty file.
    if bytes.trim_ascii().is_empty() {
        return Ok(String::new());
    }
    let broken = |error: serde_json::Error| Unreadable::Broken { format: "canvas", why: error.to_string() };
    let Canvas { mut nodes, edges } = serde_json::from_slice(bytes).map_err(broken)?;
    nodes.sort_by(|a, b| a.y.total_cmp(&b.y).then(a.x.total_cmp(&b.x)));
    let (groups, cards): (Vec<Node>, Vec<Node>) = nodes.into_iter().partition(|node| node.kind == "group");
    // A card is in the smallest group that holds its middle.
    let group_of = |card: &Node| {
        let holding = groups.iter().enumerate().filter(|(_, group)| group.holds(card));
        holding.min_by(|(_, a), (_, b)| a.area().total_cmp(&b.area())).map(|(n, _)| n)
    };
    let mut in_groups: Vec<Vec<&Node>> = groups.iter().map(|_| Vec::new()).collect();
    let mut out = String::new();
    for card in &cards {
        match group_of(card) {
            Some(group) => in_groups[group].push(card),
            None => card.write(&mut out),
        }
    }
    for (group, cards) in groups.iter().zip(in_groups) {
        let label = group.label.as_deref().map(str::trim).filter(|label| !label.is_empty());
        // Writing to a string cannot fail.
        let _ = label.map(|label| write!(out, "# {}\n\n", one_line(label)));
        cards.iter().for_each(|card| card.write(&mut out));
    }
    let labels: Vec<String> = edges.iter().filter_map(|edge| edge.label.as_deref()).map(one_line).collect();
    for label in labels.iter().filter(|label| !label.is_empty()) {
        let _ = writeln!(out, "- {label}");
    }
    Ok(out)
}

impl Node {
    fn holds(&self, other: &Node) -> bool {
        let (x, y) = (other.x + other.width / 2.0, other.y + other.height / 2.0);
        (self.x..=self.x + self.width).contains(&x) && (self.y..=self.y + self.height).contains(&y)
    }

    fn area(&self) -> f64 {
        self.width * self.height
    }

    fn write(&self, out: &mut String) {
        let text = match (&self.text, &self.file, &self.url) {
            (Some(text), ..) => text.trim().to_owned(),
            (_, Some(file), _) => format!("[[{}{}]]", one_line(file), self.subpath.as_deref().unwrap_or_default()),
            (.., Some(url)) => format!("<{}>", one_line(url)),
            _ => return,
        };
        if !text.is_empty() {
            out.push_str(&text);
            out.push_str("\n\n");
        }
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
