//! Notes cut, situated and embedded as the engine does it, with contexts of one's choice.

use std::collections::HashMap;

use crate::embed::{builtin, input};
use crate::{ChunkDoc, ChunkEntry, NoteEntry, NoteNo};
use context::Template;
use note::FileStat;
use note::chunk::{Chunk, ChunkRules};
use note::fingerprint::{ChunkId, context_key};
use note::{LinkKind, Note};

/// Which contexts an index has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Arm {
    /// None.
    Off,
    /// The template's.
    Template,
    /// Those that a model wrote, and the template's where it wrote none.
    Model,
}

impl Arm {
    /// As it is called in reports.
    pub fn name(self) -> &'static str {
        match self {
            Arm::Off => "off",
            Arm::Template => "template",
            Arm::Model => "model",
        }
    }
}

/// A context that a model wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// What it says.
    pub text: String,
    /// Whether the template stands before it.
    pub weak: bool,
}

/// One chunk with what may be said about it.
#[derive(Clone, Debug)]
pub struct Cut {
    /// The chunk.
    pub chunk: Chunk,
    /// What the template says.
    pub template: String,
    /// What a model said.
    pub written: Option<Written>,
}

/// A note with its chunks.
#[derive(Clone, Debug)]
pub struct Page {
    /// The note.
    pub note: Note,
    /// In order.
    pub cuts: Vec<Cut>,
}

impl Page {
    /// Cuts a note. `written` finds what a model said about a chunk.
    pub fn new(note: Note, rules: &ChunkRules, written: impl Fn(&Chunk) -> Option<Written>) -> Self {
        let chunks = crate::chunk::cut(&note, rules.of(note.kind.as_deref()));
        let template = Template::new(&note);
        let cut = |chunk: Chunk| Cut { template: template.context(&chunk), written: written(&chunk), chunk };
        let cuts = chunks.into_iter().map(cut).collect();
        Page { note, cuts }
    }

    /// What the index is given of the note, as number `no`, and of its chunks.
    pub fn docs(&self, no: NoteNo, arm: Arm) -> (NoteEntry, Vec<ChunkDoc>) {
        let said = self.cuts.iter().map(|cut| (&cut.chunk, cut.context(arm)));
        let docs = said.map(|(chunk, context)| doc(&self.note, chunk, no, &context, &context));
        (entry(&self.note, no), docs.collect())
    }
}

impl Cut {
    /// What situates the chunk.
    pub fn context(&self, arm: Arm) -> String {
        match (arm, &self.written) {
            (Arm::Off, _) => String::new(),
            (Arm::Model, Some(written)) if written.weak => format!("{}\n{}", self.template, written.text),
            (Arm::Model, Some(written)) => written.text.clone(),
            (Arm::Template | Arm::Model, _) => self.template.clone(),
        }
    }
}

/// What the index is given of a chunk of note `no`, with one context in its words and another in its vectors.
pub fn doc(note: &Note, chunk: &Chunk, no: NoteNo, in_words: &str, in_vectors: &str) -> ChunkDoc {
    let shown = chunk.searchable(note);
    let inputs = input::inputs(in_vectors, &shown, &|text| builtin::model().token_starts(text));
    let headings = note.heading_path(&note.sections[chunk.sections.start]);
    ChunkDoc {
        entry: ChunkEntry {
            id: chunk.id,
            note: no,
            position: 0,
            span: (chunk.span.start as u32, chunk.span.end as u32),
            lines: chunk.lines,
            heading_path: headings.into_iter().map(str::to_owned).collect(),
        },
        text: note.text[chunk.span.clone()].to_owned(),
        searchable: shown,
        context: in_words.to_owned(),
        vectors: inputs.iter().map(|input| builtin::model().embed_input(input)).collect(),
    }
}

/// A note's row of the index.
pub fn entry(note: &Note, no: NoteNo) -> NoteEntry {
    let links = note.links.iter().filter(|link| link.kind != LinkKind::Url && !link.target.is_empty());
    NoteEntry {
        no,
        seq: u64::from(no),
        path: note.path.clone(),
        stat: FileStat::default(),
        title: note.title.clone(),
        aliases: note.front.aliases.clone(),
        tags: note.tags.clone(),
        kind: note.kind.clone(),
        date: note.date,
        properties: serde_json::Value::Object(note.front.properties.clone()).to_string().into(),
        links: links.map(|link| link.target.clone()).collect(),
        conflict: false,
        rows: Vec::new(),
    }
}

/// What a model wrote about the chunks of a note, by their ids: masking a note changes what its chunks read, and
/// not who they are. `known` finds a context by the key that it is kept under.
pub fn written(
    note: &Note,
    rules: &ChunkRules,
    known: &dyn Fn(note::fingerprint::ContextKey) -> Option<Written>,
) -> HashMap<ChunkId, Written> {
    let chunks = crate::chunk::cut(note, rules.of(note.kind.as_deref()));
    let found = |chunk: &Chunk| Some((chunk.id, known(context_key(&chunk.keys, chunk.hash))?));
    chunks.iter().filter_map(found).collect()
}

/// Whether a context repeats one of these texts, word for word; such a context would answer by itself.
pub fn repeats(context: &str, texts: &[String]) -> bool {
    let context = format!(" {} ", super::words::key(context));
    texts.iter().any(|text| context.contains(&format!(" {} ", super::words::key(text))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use note::VaultPath;
    use note::{NoteRules, parse};

    fn note(text: &str) -> Note {
        parse(&VaultPath::parse("Tides.md").unwrap(), text.as_bytes(), &NoteRules::default())
    }

    #[test]
    fn each_arm_has_its_context() {
        let config = ChunkRules::default();
        let page = |weak| {
            let said = Written { text: "Said by a model.".into(), weak };
            Page::new(note("# Tides\n\nHigh [[Moon|water]].\n"), &config, |_| Some(said.clone()))
        };
        let context = |weak, arm| page(weak).docs(1, arm).1[0].context.clone();
        assert_eq!(context(false, Arm::Off), "");
        let template = context(false, Arm::Template);
        assert!(template.starts_with("Tides"), "{template}");
        assert_eq!(context(false, Arm::Model), "Said by a model.");
        assert_eq!(context(true, Arm::Model), format!("{template}\nSaid by a model."));
        let without = Page::new(note("# Tides\n"), &config, |_| None).docs(7, Arm::Model);
        assert_eq!((without.1[0].context.as_str(), without.0.no), ("Tides.", 7));
        let (entry, docs) = page(false).docs(1, Arm::Off);
        assert_eq!((entry.links, docs[0].vectors.len()), (vec!["Moon".to_owned()], 1));
    }

    #[test]
    fn contexts_are_found_by_what_they_were_written_for_and_stay_with_the_chunk() {
        let config = ChunkRules::default();
        let (before, masked) = (note("# Tides\n\nSee [[Moon|the pale lamp]].\n"), note("# Tides\n\nSee [[Moon]].\n"));
        let kept = |note: &Note| {
            let chunk = &crate::chunk::cut(note, config.of(None))[0];
            context_key(&chunk.keys, chunk.hash)
        };
        let (known, said) = (kept(&before), Written { text: "x".into(), weak: false });
        let by_id = written(&before, &config, &|key| (key == known).then(|| said.clone()));
        assert_ne!(kept(&masked), known);
        let page = Page::new(masked, &config, |chunk| by_id.get(&chunk.id).cloned());
        assert_eq!(page.cuts[0].written, Some(said));
    }

    #[test]
    fn what_repeats_a_hidden_text() {
        let hidden = ["the Pale lamp".to_owned()];
        assert!(repeats("Calls the moon “the pale, lamp”.", &hidden));
        assert!(!repeats("Calls the moon the pale lampion.", &hidden));
        assert!(!repeats("", &hidden) && !repeats("the pale lamp", &[]));
    }
}
