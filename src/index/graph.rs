//! The graph of links: which note links to which, which targets do not exist, and how central each note is.
//!
//! It is made from a snapshot in one go, in the background, and kept beside it. Links of every kind (by path, title or
//! alias, with heading or block, embeds, Markdown links) count once for each pair of notes, and a note's links to
//! itself do not count. Notes are numbered `0..n` in order of their [`NoteNo`]; the lists of neighbours are stored one
//! after the other in one array (compressed sparse rows), which makes walks over the graph fast.

mod measures;
mod missing;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use super::{NoteEntry, NoteNo};
use missing::Missing;
use note::VaultPath;

pub use measures::{Measures, Sample};
pub use missing::Unresolved;

/// Asked every few milliseconds of work whether to go on.
pub type GoOn<'a> = &'a mut dyn FnMut() -> bool;

/// Notes that are handled between two calls of [`GoOn`].
const SLICE: usize = 256;

/// Lists of neighbours, one after the other.
#[derive(Clone, Debug, Default, PartialEq)]
struct Rows {
    /// Where the list of each node begins, and the end of the last one.
    starts: Vec<u32>,
    nodes: Vec<u32>,
}

impl Rows {
    /// From sorted, distinct `(from, to)` over `0..n`.
    fn of(n: usize, pairs: &[(u32, u32)]) -> Self {
        let mut starts = vec![0; n + 1];
        for (from, _) in pairs {
            starts[*from as usize + 1] += 1;
        }
        for node in 0..n {
            starts[node + 1] += starts[node];
        }
        Rows { starts, nodes: pairs.iter().map(|(_, to)| *to).collect() }
    }

    fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    fn of_node(&self, node: usize) -> &[u32] {
        match (self.starts.get(node), self.starts.get(node + 1)) {
            (Some(from), Some(to)) => &self.nodes[*from as usize..*to as usize],
            _ => &[],
        }
    }
}

/// What is known of one note in the graph; all zero for a note that the graph does not have (yet).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Centrality {
    /// Notes that it links to.
    pub links: u32,
    /// Notes that link to it.
    pub backlinks: u32,
    /// See [`Measures::pagerank`].
    pub pagerank: f32,
    /// See [`Measures::betweenness`].
    pub betweenness: f32,
    /// See [`Measures::clustering`].
    pub clustering: f32,
    /// See [`Measures::score`].
    pub score: f32,
}

/// The links between the notes of one snapshot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Graph {
    seq: u64,
    /// The notes, ascending: a note's place is its node.
    notes: Vec<NoteNo>,
    links: Rows,
    backlinks: Rows,
    unresolved: Vec<Unresolved>,
    measures: Measures,
}

impl Graph {
    /// The graph of `notes`, which are in order of number. `resolve` resolves a mention (of a linking note); it must depend
    /// only on the mention and the linking note's folder. `text_first` says whether links with a bar begin with their text.
    /// `None` if `go_on` said no.
    pub(super) fn new(
        seq: u64,
        notes: &[&NoteEntry],
        resolve: impl Fn(&str, &VaultPath) -> Option<NoteNo>,
        text_first: bool,
        go_on: GoOn<'_>,
    ) -> Option<Self> {
        let numbers: Vec<NoteNo> = notes.iter().map(|note| note.no).collect();
        let mut pairs: Vec<(u32, u32)> = Vec::new();
        // Each mention is resolved once per folder: its meaning depends on nothing else.
        let mut known: HashMap<(&str, &str), Option<u32>> = HashMap::new();
        let mut missing = Missing::default();
        for (from, note) in notes.iter().enumerate() {
            if from % SLICE == 0 && !go_on() {
                return None;
            }
            let begin = pairs.len();
            for mention in note.links() {
                let node = *known.entry((mention, note.path.folder())).or_insert_with(|| {
                    let no = resolve(mention, &note.path)?;
                    numbers.binary_search(&no).ok().map(|node| node as u32)
                });
                let Some(node) = node else {
                    missing.push(mention, note);
                    continue;
                };
                pairs.extend((node as usize != from).then_some((from as u32, node)));
            }
            pairs[begin..].sort_unstable();
        }
        pairs.dedup();
        let mut back: Vec<(u32, u32)> = pairs.iter().map(|(from, to)| (*to, *from)).collect();
        back.sort_unstable();
        let n = numbers.len();
        Some(Graph {
            seq,
            notes: numbers,
            links: Rows::of(n, &pairs),
            backlinks: Rows::of(n, &back),
            unresolved: missing.targets(notes, text_first),
            measures: Measures::default(),
        })
    }

    /// Computes the measures; `sources` and `go_on` bound the expensive one (see [`Measures::betweenness`]). If stopped
    /// early, the measures cover what was walked until then, and say so.
    pub fn measure(&mut self, sources: usize, go_on: GoOn<'_>) {
        self.measures = Measures::of(&self.notes, &self.links, &self.backlinks, sources, go_on);
    }

    /// Takes over the measures of another graph if that has the same notes and links; returns whether it has.
    pub fn take_over(&mut self, other: &Graph) -> bool {
        let same = (&self.notes, &self.links) == (&other.notes, &other.links);
        if same {
            self.measures = other.measures.clone();
        }
        same
    }

    /// The sequence number of the snapshot it was made from.
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// Number of notes.
    pub fn len(&self) -> usize {
        self.notes.len()
    }

    /// Whether there is no note.
    pub fn is_empty(&self) -> bool {
        self.notes.is_empty()
    }

    /// Number of links: of pairs of notes of which the first links to the second.
    pub fn link_count(&self) -> usize {
        self.links.nodes.len()
    }

    /// The notes, in order of number.
    pub fn notes(&self) -> &[NoteNo] {
        &self.notes
    }

    /// Targets that name no note, the most linked ones first. Links to folders of notes are not among them, nor are links
    /// to files that are no notes (pictures, say) or lie outside of the vault: the index does not know which exist.
    pub fn unresolved(&self) -> &[Unresolved] {
        &self.unresolved
    }

    /// What the measures were computed from; see [`Sample`].
    pub fn sample(&self) -> Option<Sample> {
        self.measures.sample
    }

    /// Everything about one note.
    pub fn of(&self, no: NoteNo) -> Centrality {
        let Ok(node) = self.notes.binary_search(&no) else { return Centrality::default() };
        let at = |values: &[f32]| values.get(node).copied().unwrap_or_default();
        Centrality {
            links: self.links.of_node(node).len() as u32,
            backlinks: self.backlinks.of_node(node).len() as u32,
            pagerank: at(&self.measures.pagerank),
            betweenness: at(&self.measures.betweenness),
            clustering: at(&self.measures.clustering),
            score: at(&self.measures.score),
        }
    }

    /// The notes that a note links to, in order of number.
    pub fn links(&self, no: NoteNo) -> impl Iterator<Item = NoteNo> {
        self.neighbours(&self.links, no)
    }

    /// The notes that link to a note, in order of number.
    pub fn backlinks(&self, no: NoteNo) -> impl Iterator<Item = NoteNo> {
        self.neighbours(&self.backlinks, no)
    }

    fn neighbours<'a>(&'a self, rows: &'a Rows, no: NoteNo) -> impl Iterator<Item = NoteNo> + 'a {
        let nodes = self.notes.binary_search(&no).map_or(&[][..], |node| rows.of_node(node));
        nodes.iter().map(|node| self.notes[*node as usize])
    }
}
