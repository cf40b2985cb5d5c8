//! What other rules would have bought for the same saves. They ask with the product's own prompts and are
//! metered by its own estimate, so that they differ from it in what they ask for and in nothing else.

use std::collections::{BTreeMap, HashSet};

use context::cost;
use context::cost::{Usage, estimate_tokens};
use context::document::Document;
use context::models::Model;
use context::prompt::Prompter;
use context::settings::{ContextConfig, FormChoice, Provider};
use note::chunk::ChunkConfig;
use note::fingerprint::{ContextKey, SectionKey, TextHash, context_key, text_hash};

use crate::edits::{Kind, Save, parse};

/// Tokens that a request takes besides its texts.
const FRAME: u64 = 20;

/// One call: tokens read, of which some are put into the provider's cache or read from it, and contexts asked for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Call {
    pub(crate) input: u64,
    pub(crate) cache_write: u64,
    pub(crate) cache_read: u64,
    pub(crate) contexts: u64,
}

/// Calls by what they were made for; `None` is the daily sync.
pub(crate) type Bought = BTreeMap<Option<Kind>, Vec<Call>>;

/// Counts tokens and money, for the daemon as for the others.
pub(crate) struct Meter {
    pub(crate) model: Model,
    /// Tokens of a caption in its answer, the mean of what the server said.
    pub(crate) caption: f64,
}

impl Meter {
    pub(crate) fn tokens(&self, text: &str) -> u64 {
        u64::from(estimate_tokens(text, self.model.token_factor))
    }

    /// A request. With `cache` its instructions and its document go into the provider's cache, or come from it
    /// if they are among `cached`, what was put there a moment ago.
    pub(crate) fn call(&self, request: Request<'_>, cached: &mut HashSet<TextHash>) -> Call {
        let Request { system, document, task, contexts, cache } = request;
        let prefix = self.tokens(system) + self.tokens(document);
        let rest = self.tokens(task) + FRAME;
        let call = Call { input: rest, contexts, ..Call::default() };
        match () {
            () if !cache => Call { input: rest + prefix, ..call },
            () if cached.insert(text_hash(document.as_bytes())) => Call { cache_write: prefix, ..call },
            () => Call { cache_read: prefix, ..call },
        }
    }

    /// Calls, contexts, tokens read and written, micro-dollars.
    pub(crate) fn sum<'a>(&self, calls: impl IntoIterator<Item = &'a Call>) -> [u64; 5] {
        let mut sums = [0; 5];
        for call in calls {
            let output = (call.contexts as f64 * self.caption).ceil() as u64;
            let Call { input, cache_write, cache_read, contexts } = *call;
            let usage = Usage { input, output, cache_read, cache_write, estimated: true };
            let micro = cost::cost(&self.model.price, &usage, false).unwrap_or(0);
            let read = input + cache_write + cache_read;
            for (sum, more) in sums.iter_mut().zip([1, contexts, read, output, micro]) {
                *sum += more;
            }
        }
        sums
    }
}

/// What a request says.
#[derive(Clone, Copy)]
pub(crate) struct Request<'a> {
    pub(crate) system: &'a str,
    pub(crate) document: &'a str,
    pub(crate) task: &'a str,
    pub(crate) contexts: u64,
    pub(crate) cache: bool,
}

/// What is known of a note.
struct Facts {
    hash: TextHash,
    chunks: Vec<Piece>,
}

struct Piece {
    keys: Vec<SectionKey>,
    hash: TextHash,
    key: ContextKey,
    /// Whether a context makes sense for it: the product's own rule.
    wanted: bool,
}

/// All rules beside each other.
pub(crate) struct Policies {
    prompter: Prompter,
    config: ContextConfig,
    known: BTreeMap<String, Facts>,
    /// What the ideal has bought: it forgets nothing either.
    kept: HashSet<ContextKey>,
    /// New or renamed sections only, one call per save.
    pub(crate) ideal: Bought,
    /// All chunks of a note whose text changed.
    pub(crate) by_note: Bought,
    /// All chunks whose text the note did not hold before.
    pub(crate) by_chunk: Bought,
}

impl Policies {
    /// For rules that ask in this form.
    pub(crate) fn new(model: &Model, form: FormChoice) -> Self {
        let config = ContextConfig { provider: Provider::Anthropic, form, ..ContextConfig::default() };
        Policies {
            prompter: Prompter::new(&config, model),
            config,
            known: BTreeMap::new(),
            kept: HashSet::new(),
            ideal: Bought::new(),
            by_note: Bought::new(),
            by_chunk: Bought::new(),
        }
    }

    /// The vault as it is found: everything is new to everybody, so it is put down once.
    pub(crate) fn begin(&mut self, notes: &BTreeMap<String, String>, meter: &Meter) -> Vec<Call> {
        for (path, text) in notes {
            self.write(None, path, text, meter);
        }
        self.by_note.clear();
        self.by_chunk.clear();
        std::mem::take(&mut self.ideal).into_values().flatten().collect()
    }

    pub(crate) fn see(&mut self, save: &Save, meter: &Meter) {
        for (from, to) in &save.moves {
            // A note that only lies elsewhere has the same hash: nobody buys anything.
            if let Some(facts) = self.known.remove(from) {
                self.known.insert(to.clone(), facts);
            }
        }
        for (path, text) in &save.writes {
            self.write(Some(save.kind), path, text, meter);
        }
    }

    fn write(&mut self, kind: Option<Kind>, path: &str, text: &str, meter: &Meter) {
        let note = parse(path, text);
        let chunks = index::chunk::cut(&note, &ChunkConfig::default());
        let enough = chunks.len() >= self.config.llm_min_chunks as usize;
        let piece = |chunk: &note::chunk::Chunk| Piece {
            keys: chunk.keys.clone(),
            hash: chunk.hash,
            key: context_key(&chunk.keys, chunk.hash),
            wanted: enough && chunk.has_words,
        };
        let facts = Facts { hash: note.hash, chunks: chunks.iter().map(piece).collect() };
        let old = self.known.remove(path);
        let old_chunks = old.as_ref().map_or(&[][..], |old| old.chunks.as_slice());
        let old_keys: HashSet<SectionKey> = old_chunks.iter().flat_map(|piece| piece.keys.iter().copied()).collect();
        let old_texts: HashSet<TextHash> = old_chunks.iter().map(|piece| piece.hash).collect();
        let changed = old.as_ref().is_none_or(|old| old.hash != facts.hash);

        let numbers = |which: &dyn Fn(&Piece) -> bool| -> Vec<u32> {
            let wanted = facts.chunks.iter().zip(1..).filter(|(piece, _)| piece.wanted && which(piece));
            wanted.map(|(_, n)| n).collect()
        };
        let is_new = |piece: &Piece| piece.keys.iter().any(|key| !old_keys.contains(key));
        let ideal = numbers(&|piece| is_new(piece) && !self.kept.contains(&piece.key));
        let by_note = numbers(&|_| changed);
        let by_chunk = numbers(&|piece| !old_texts.contains(&piece.hash));
        self.kept.extend(ideal.iter().filter_map(|n| facts.chunks.get(*n as usize - 1)).map(|piece| piece.key));
        if !by_note.is_empty() {
            let document = Document::new(&note, &chunks);
            let rules = [(ideal, &mut self.ideal), (by_note, &mut self.by_note), (by_chunk, &mut self.by_chunk)];
            for (wanted, bought) in rules {
                let mut cached = HashSet::new();
                for prompt in self.prompter.ask(&document, &wanted) {
                    let request = Request {
                        system: &prompt.system,
                        document: &prompt.document,
                        task: &prompt.task,
                        contexts: prompt.wanted.len() as u64,
                        cache: prompt.cache,
                    };
                    bought.entry(kind).or_default().push(meter.call(request, &mut cached));
                }
            }
        }
        self.known.insert(path.to_owned(), facts);
    }
}
