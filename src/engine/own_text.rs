//! A text that is in no vault, with a chunk that a client cut, and the context that a model writes for it.

use std::collections::HashMap;

use tokio::sync::oneshot;

use super::ask::{Author, Stopped};
use super::error::CallError;
use super::interrupted::Interrupted;
use context::ContextRecord;
use context::document::Document;
use context::quality::Flaw;
use note::chunk::{Chunk, ChunkRules};
use note::fingerprint::Sketch;
use note::{Note, NoteRules, Private, VaultPath};
use protocol::contexts::{GenerateRequest, GeneratedContext};
use provider::Account;
use provider::ledger::Purpose;

/// A text that is in no vault, with a chunk of it that a client cut.
pub(crate) struct OwnChunk {
    pub(crate) note: Note,
    pub(crate) chunks: Vec<Chunk>,
    /// The index of the client's chunk.
    pub(crate) at: usize,
}

impl OwnChunk {
    /// Finds the chunk that is asked about in its document. It replaces the chunk, among those that `rules` cut, in
    /// which it begins.
    pub(crate) fn find(asked: &GenerateRequest, rules: &ChunkRules) -> Result<Self, CallError> {
        if asked.max_words == Some(0) {
            return Err(CallError::Invalid("`max_words` is 0: it may be 1 or more".to_owned()));
        }
        let read = |title: &str| -> Result<Note, CallError> {
            let name = title.replace(['/', '\\', '\0'], " ");
            let path = VaultPath::parse(&format!("{}.md", name.trim())).or_else(|| VaultPath::parse("untitled.md"));
            let path = path.ok_or_else(|| CallError::Invalid("`title` cannot be a title".to_owned()))?;
            Ok(note::parse(&path, asked.document.as_bytes(), &NoteRules::default()))
        };
        // The name of a file is part of a context: here it is the title, which the document may have itself.
        let title = match &asked.title {
            Some(title) => title.clone(),
            None => read("untitled")?.title,
        };
        let mut note = read(&title)?;
        note.kind = note.kind.or_else(|| asked.note_type.as_ref().map(|kind| kind.to_lowercase()));
        let more = asked.tags.iter().filter(|tag| !note.tags.contains(tag)).cloned().collect::<Vec<_>>();
        note.tags.extend(more);
        let wanted = asked.chunk.trim();
        let missing = "`chunk` does not stand in `document`: give it as it stands there";
        let start = note.text.find(wanted).ok_or_else(|| CallError::Invalid(missing.to_owned()))?;
        let mut chunks = index::chunk::cut(&note, rules.of(note.kind.as_deref()));
        let at = chunks.iter().position(|chunk| chunk.span.end > start).unwrap_or(0);
        match chunks.get_mut(at) {
            Some(chunk) => {
                chunk.span = start..start + wanted.len();
                chunk.hash = note::fingerprint::text_hash(wanted.as_bytes());
                chunk.has_words = true;
                chunk.lead = None;
            }
            None => return Err(CallError::Invalid("`document` is empty".to_owned())),
        }
        Ok(OwnChunk { note, chunks, at })
    }
}

/// At most so many words.
pub(crate) fn capped(text: &str, max_words: Option<u32>) -> String {
    match max_words {
        Some(most) => text.split_whitespace().take(most as usize).collect::<Vec<_>>().join(" "),
        None => text.to_owned(),
    }
}

/// What a model wrote about a chunk.
pub(crate) fn generated(record: ContextRecord, chunk: &str, max_words: Option<u32>) -> GeneratedContext {
    let context = capped(&record.text, max_words);
    GeneratedContext {
        contextualized: format!("{context}\n\n{}", chunk.trim()),
        context,
        quality: record.quality,
        tokens: record.spent.tokens_in.saturating_add(record.spent.tokens_out),
        micro_dollars: record.spent.micro_dollars,
        generation: record.generation,
    }
}

/// A context that somebody asks for outside of any vault.
pub(super) struct AdHocContext {
    pub(super) asked: GenerateRequest,
    pub(super) reply: oneshot::Sender<Result<GeneratedContext, CallError>>,
}

impl AdHocContext {
    /// Asks until an answer can be used: first with the whole text, then without it.
    pub(super) async fn write(&self, author: &Author) -> Result<GeneratedContext, CallError> {
        // Questions and terms to find it by are of no use to a text that is not indexed.
        let author = &author.without_expansion();
        let own = OwnChunk::find(&self.asked, &author.chunk)?;
        if let Some(host) = author.client.leaves_to()
            && Private::default().covers_note(&own.note)
        {
            let message = format!(
                "`document` is private, and the model is elsewhere ({host}): nothing was sent; a model on this machine \
                 may be asked about it"
            );
            return Err(CallError::Forbidden(message));
        }
        let document = Document::new(&own.note, &own.chunks);
        let n = document.passages.get(own.at).map_or(1, |passage| passage.n);
        let sketches = HashMap::from([(n, Sketch::of(&self.asked.chunk))]);
        let account = Account::of(&author.spender, Purpose::Asked);
        let mut flaw = Flaw::Missing;
        for prompt in [author.prompter.ask_one(&document, n), author.prompter.ask_simply(&document, n)] {
            let turn = author.client.turn().await.map_err(|failure| CallError::Provider(failure.message))?;
            let asked = author.ask(turn, &document, &sketches, &prompt, &account).await;
            let (answers, owed) = asked.map_err(unasked)?;
            if let Some(owed) = owed {
                owed.settle(answers.iter().filter(|(_, outcome)| outcome.is_ok()).count() as u32).await;
            }
            for (_, outcome) in answers {
                match outcome {
                    Ok(record) => return Ok(generated(record, &self.asked.chunk, self.asked.max_words)),
                    Err(Stopped::Flaw(found)) => flaw = found,
                    Err(Stopped::Refused) => {}
                }
            }
        }
        let why = flaw.said();
        Err(CallError::Provider(format!("the model gave no usable context: {why}; `situated cost` has what it cost")))
    }
}

fn unasked(held: Interrupted) -> CallError {
    match held {
        Interrupted::Budget(_) => CallError::OverBudget(held.to_string()),
        _ => CallError::Provider(held.to_string()),
    }
}
