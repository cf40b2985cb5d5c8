//! Queries: answered from the published snapshots, on the caller's thread.

use std::time::{Duration, Instant};

use super::super::decide::Desk;
use super::{
    CallError, Cancel, Contextual, Handle, RelatedRequest, Scope, SearchAnswer, SearchFilter, SearchRequest, not_found,
    parse_path, ready,
};
use crate::fingerprint::ChunkId;
use crate::index::Snapshot;
use crate::search::{self, Answer, Key, Mode, Options, Seed};
use crate::vault::VaultPath;
use crate::vault::read::stat;

/// Hits that one answer may hold.
const MOST_HITS: usize = 200;

/// How long a fresh answer waits for the disk.
const FRESH_WITHIN: Duration = Duration::from_secs(30);

impl Handle {
    /// Answers a query from the published snapshots.
    pub fn search(&self, request: SearchRequest, cancel: &Cancel) -> Result<SearchAnswer, CallError> {
        let began = Instant::now();
        let mut vaults = self.choose(request.vault.as_deref())?;
        let contextual = match &request.contextual {
            None => true,
            Some(Contextual::Flag(flag)) => *flag,
            Some(Contextual::Generation(name)) => {
                let name = name.strip_prefix("gen:").ok_or_else(|| {
                    CallError::Invalid("`contextual` is true, false, or `gen:` and the name of a generation".to_owned())
                })?;
                vaults = self.of_generation(vaults, name)?;
                true
            }
        };
        if request.fresh {
            self.freshen(request.vault.as_deref(), cancel)?;
        }
        let options = self.options(
            request.mode,
            request.limit,
            request.per_note,
            request.window_chars,
            contextual,
            request.explain,
        )?;
        let now = jiff::Zoned::now();
        let mut parsed = search::parse(&request.query, now.date());
        parsed.filter.offset = now.offset();
        // The word that is being typed is the last one of the query, and a free one.
        let last = parsed.words.rsplit(' ').next().unwrap_or_default();
        parsed.prefix = request.prefix && !last.is_empty() && request.query.ends_with(last);
        let SearchFilter { path, tag, after, before, note_type } = request.filter.unwrap_or_default();
        let conditions =
            [(Key::Path, path), (Key::Tag, tag), (Key::After, after), (Key::Before, before), (Key::Type, note_type)];
        for (key, value) in conditions {
            if let Some(value) = value {
                parsed.filter.add(key, &value, now.date()).map_err(CallError::Invalid)?;
            }
        }
        let mut answers = Vec::new();
        for vault in &vaults {
            let (snapshot, desk) = ready(vault)?;
            let dense = options.mode != Mode::Lexical && parsed.has_text();
            let vector = dense.then(|| desk.embedder.embed(&parsed.text()));
            if cancel.is_cancelled() {
                return Err(CallError::Cancelled);
            }
            let found = search::search(&snapshot, &vault.name, &parsed, vector.as_ref(), &options);
            answers.push(freshness(found.map_err(|e| CallError::Storage(e.to_string()))?, &snapshot, &desk));
        }
        Ok(search_answer(answers, options.limit, began))
    }

    /// What lies near a note, a chunk or a text.
    pub fn related(&self, request: RelatedRequest, cancel: &Cancel) -> Result<SearchAnswer, CallError> {
        let began = Instant::now();
        let given = [&request.path, &request.chunk, &request.text].iter().filter(|p| p.is_some()).count();
        if given != 1 {
            return Err(CallError::Invalid("give exactly one of `path`, `chunk` and `text`".to_owned()));
        }
        let options =
            self.options(None, request.limit, request.per_note, request.window_chars, true, request.explain)?;
        let mut answers = Vec::new();
        let mut known = false;
        for vault in self.choose(request.vault.as_deref())? {
            if cancel.is_cancelled() {
                return Err(CallError::Cancelled);
            }
            let (snapshot, desk) = ready(&vault)?;
            let Some(seed) = seed(&request, &snapshot, &desk)? else { continue };
            known = true;
            let found = search::related(&snapshot, &vault.name, &seed, &options);
            answers.push(freshness(found.map_err(|e| CallError::Storage(e.to_string()))?, &snapshot, &desk));
        }
        if !known {
            let name = request.path.or(request.chunk).unwrap_or_default();
            return Err(not_found("note", &name, "paths are relative to the vault; `situated search` shows them"));
        }
        Ok(search_answer(answers, options.limit, began))
    }

    fn options(
        &self,
        mode: Option<Mode>,
        limit: Option<usize>,
        per_note: Option<usize>,
        window_chars: Option<usize>,
        contextual: bool,
        explain: bool,
    ) -> Result<Options, CallError> {
        let search = self.0.config.load().search.clone();
        let limit = limit.unwrap_or(search.limit);
        if limit == 0 || limit > MOST_HITS {
            return Err(CallError::Invalid(format!("`limit` must be 1 to {MOST_HITS}, not {limit}")));
        }
        Ok(Options {
            mode: mode.unwrap_or_default(),
            limit,
            per_note: per_note.unwrap_or(search.per_note).max(1),
            contextual,
            window_chars: window_chars.unwrap_or(search.window_chars).min(100_000),
            dense_weight: search.dense_weight,
            explain,
        })
    }

    /// Waits until everything that was saved before now is in the snapshots.
    fn freshen(&self, vault: Option<&str>, cancel: &Cancel) -> Result<(), CallError> {
        let until = Instant::now() + FRESH_WITHIN;
        let job = self.sync(Scope { vault: vault.map(str::to_owned), path: None })?;
        while self.wait_job(job, Duration::from_millis(100))?.state == "running" {
            if cancel.is_cancelled() {
                return Err(CallError::Cancelled);
            }
            if Instant::now() > until {
                return Err(CallError::Timeout(FRESH_WITHIN.as_millis() as u64));
            }
        }
        Ok(())
    }
}

fn seed(request: &RelatedRequest, snapshot: &Snapshot, desk: &Desk) -> Result<Option<Seed>, CallError> {
    if let Some(path) = &request.path {
        let path = parse_path(path)?;
        return Ok(snapshot.note_at(&path).map(|note| Seed::Note(note.no)));
    }
    if let Some(id) = &request.chunk {
        let id: ChunkId =
            id.parse().map_err(|e: crate::fingerprint::BadFingerprint| CallError::Invalid(e.to_string()))?;
        return Ok(snapshot.row_of(id).map(Seed::Chunk));
    }
    let text = request.text.as_deref().unwrap_or_default();
    Ok(Some(Seed::Vector(desk.embedder.embed(text))))
}

/// Marks hits whose note is no longer what was indexed.
fn freshness(mut answer: Answer, snapshot: &Snapshot, desk: &Desk) -> Answer {
    let mut last: Option<(String, bool)> = None;
    for hit in &mut answer.hits {
        hit.stale = match &last {
            Some((path, stale)) if *path == hit.path => *stale,
            _ => {
                let path = VaultPath::parse(&hit.path);
                let indexed = path.as_ref().and_then(|path| snapshot.note_at(path)).map(|note| note.stat);
                path.and_then(|path| stat(&desk.root, &path)) != indexed
            }
        };
        last = Some((hit.path.clone(), hit.stale));
    }
    answer
}

fn search_answer(answers: Vec<Answer>, limit: usize, began: Instant) -> SearchAnswer {
    let merged = search::merge(answers, limit);
    SearchAnswer {
        hits: merged.hits,
        seq: merged.seq,
        took_ms: began.elapsed().as_secs_f64() * 1e3,
        truncated: merged.truncated,
        warnings: merged.warnings,
    }
}
