//! Finds what is near something: answered from the published snapshots, on the caller's thread.

use std::sync::Arc;
use std::time::Instant;

use super::access::{hidden, not_found, ready};
use super::resolve::{self, Named};
use super::search::include::{self, Source};
use super::search::{Asked, freshness, search_answer};
use super::vectors::QueryVectors;
use super::{CallError, Cancel, Group, Handle, RelatedRequest, SearchAnswer, vectors};
use crate::VaultShared;
use crate::decide::NotePipeline;
use index::search;
use index::search::{Near, Seed};
use index::{ChunkRows, NoteEntry, Row, Snapshot};
use note::VaultPath;
use note::fingerprint::ChunkId;
use protocol::audience::Audience;

/// See [`Handle::related`].
pub(super) fn related(engine: &Handle, request: RelatedRequest, cancel: &Cancel) -> Result<SearchAnswer, CallError> {
    let began = Instant::now();
    let lines = lines(&request)?;
    let per_note = if request.group == Group::Note { Some(1) } else { request.per_note };
    let mut options = super::search::options(
        engine,
        &Asked {
            limit: request.limit,
            per_note,
            window_chars: request.window_chars,
            contextual: true,
            explain: request.explain,
            merge: request.merge,
            ..Asked::default()
        },
    )?;
    options.cancel = cancel.clone();
    let (vaults, _) = engine.served(request.vault.as_deref())?;
    let incomplete: Vec<String> =
        vaults.iter().filter_map(|vault| vault.incomplete_for(request.audience.is_assistant())).collect();
    let mut vectors = vectors::vectors(engine);
    let (home, seed, doubt) = seed(engine, &request, lines, &vaults, &mut vectors)?;
    if let Some(home) = &home {
        let (snapshot, pipeline) = ready(home)?;
        let of = seed.note(&snapshot).and_then(|no| snapshot.note(no));
        let hidden = hidden(&pipeline, request.audience);
        if of.is_some_and(|note| hidden.is_some_and(|hidden| hidden.covers(&note.path, note.tags()))) {
            return Err(no_chunk(request.chunk.as_deref().unwrap_or_default()));
        }
    }
    // For other vaults the seed is only a text with a vector, and no note that could be linked.
    let direction = match &home {
        Some(home) => seed.elsewhere(&ready(home)?.0)?,
        None => Some(seed.clone()),
    };
    let mut asked = Vec::new();
    for vault in &vaults {
        let is_home = home.as_ref().is_some_and(|home| home.id == vault.id);
        if let Some(seed) = if is_home { Some(&seed) } else { direction.as_ref() } {
            let (snapshot, pipeline) = ready(vault)?;
            let hidden = hidden(&pipeline, request.audience);
            asked.push((vault, seed, hidden, snapshot, pipeline));
        }
    }
    let near = asked.iter().map(|(vault, seed, hidden, snapshot, _)| Near {
        snapshot,
        vault: &vault.name,
        seed,
        hidden: hidden.as_deref(),
    });
    let found = search::related(&near.collect::<Vec<_>>(), request.exclude_linked, &options)?;
    let answers = found.into_iter().zip(&asked).map(|(found, (vault, _, hidden, snapshot, pipeline))| {
        let mut found = freshness::mark(found, vault, snapshot, None);
        if let Some(hidden) = hidden {
            freshness::leave_hidden_out(&mut found.hits, vault, (snapshot, pipeline), hidden);
            include::leave_unseen_out(&mut found.hits);
        }
        found
    });
    let answers = answers.collect();
    let mut answer = search_answer(answers, options.limit, began);
    answer.warnings.extend(doubt.into_iter().chain(incomplete));
    let sources = asked.iter().map(|(vault, _, hidden, snapshot, pipeline)| Source {
        vault: &vault.name,
        snapshot,
        pipeline,
        hidden: hidden.as_deref(),
    });
    include::add(&request.include, &mut answer.hits, &sources.collect::<Vec<_>>(), cancel)?;
    include::leave_out(&request.include, request.audience, &mut answer.hits);
    Ok(answer)
}

/// What is asked about, the vault that it is in, and what to say if another has a note of that path.
fn seed(
    engine: &Handle,
    request: &RelatedRequest,
    lines: Option<(u32, u32)>,
    vaults: &[Arc<VaultShared>],
    vectors: &mut QueryVectors<'_>,
) -> Result<(Option<Arc<VaultShared>>, Seed, Option<String>), CallError> {
    if let Some(typed) = &request.path {
        let of_team = |why: CallError| engine.refuse_team(typed).err().unwrap_or(why);
        let named = resolve::note(vaults, typed, request.audience).map_err(of_team)?;
        let doubt = named.doubt();
        let Named { vault, path, lines: named, .. } = named;
        let (snapshot, pipeline) = ready(&vault)?;
        let hidden = hidden(&pipeline, request.audience);
        let shown = |note: &&Arc<NoteEntry>| !hidden.as_ref().is_some_and(|h| h.covers(&note.path, note.tags()));
        let unknown = || of_team(resolve::unknown(vaults, typed, request.audience));
        let note = snapshot.note_at(&path).filter(shown).ok_or_else(unknown)?;
        let seed = match lines.or(named) {
            Some(lines) => selected(&snapshot, (&pipeline, vectors), &path, &note.rows, lines)?,
            None => Seed::Note(note.no),
        };
        return Ok((Some(vault), seed, doubt));
    }
    if let Some(name) = &request.chunk {
        return seed_of_chunk(name, vaults, request.audience);
    }
    let vault = vaults.first().ok_or(CallError::NotReady)?;
    let text = request.text.as_deref().unwrap_or_default();
    let vector = vectors.of(&ready(vault)?.1, text).ok_or_else(|| CallError::Provider(vectors.why()))?;
    Ok((None, Seed::Text(text.to_owned(), vector), None))
}

/// A chunk with this id that `audience` may know of. Notes at the same path of two vaults have chunks of the same id.
fn seed_of_chunk(
    name: &str,
    vaults: &[Arc<VaultShared>],
    audience: Audience,
) -> Result<(Option<Arc<VaultShared>>, Seed, Option<String>), CallError> {
    let id: ChunkId = name.parse().map_err(|e: note::fingerprint::BadFingerprint| CallError::Invalid(e.to_string()))?;
    let mut holding = Vec::new();
    for vault in vaults {
        let (snapshot, pipeline) = ready(vault)?;
        let Some(row) = snapshot.row_of(id) else { continue };
        let (hidden, seed) = (hidden(&pipeline, audience), Seed::Chunks(vec![row]));
        let note = seed.note(&snapshot).and_then(|no| snapshot.note(no));
        let shown = |note: &&Arc<NoteEntry>| !hidden.as_ref().is_some_and(|h| h.covers(&note.path, note.tags()));
        if let Some(note) = note.filter(shown) {
            holding.push((vault, note.path.clone(), seed));
        }
    }
    let also_in = holding.iter().skip(1).map(|(vault, ..)| vault.name.clone()).collect();
    let Some((vault, path, seed)) = holding.into_iter().next() else { return Err(no_chunk(name)) };
    let doubt = Named { vault: vault.clone(), path, lines: None, also_in }.doubt();
    Ok((Some(vault.clone()), seed, doubt))
}

/// The error for a chunk that is not there, or that is hidden from the caller.
fn no_chunk(name: &str) -> CallError {
    not_found("chunk", name, "a hit has the id under `chunk`")
}

/// The lines that are asked about; an error if the request makes no sense.
fn lines(request: &RelatedRequest) -> Result<Option<(u32, u32)>, CallError> {
    let invalid = |why: &str| Err(CallError::Invalid(why.to_owned()));
    let given = [&request.path, &request.chunk, &request.text].iter().filter(|p| p.is_some()).count();
    if given != 1 {
        return invalid("give exactly one of `path`, `chunk` and `text`");
    }
    match (request.line, request.end_line) {
        (None, None) => Ok(None),
        _ if request.path.is_none() => invalid("`line` and `end_line` go with `path`"),
        (None, Some(_)) => invalid("`end_line` goes with `line`"),
        (Some(line), end) => match end.unwrap_or(line) {
            end if line == 0 || end < line => invalid("lines count from 1, and `end_line` is not before `line`"),
            end => Ok(Some((line, end))),
        },
    }
}

/// The chunks that lines touch; if the lines are a part of a single chunk, that part.
fn selected(
    snapshot: &Snapshot,
    (pipeline, vectors): (&NotePipeline, &mut QueryVectors<'_>),
    path: &VaultPath,
    rows: &ChunkRows,
    (line, end): (u32, u32),
) -> Result<Seed, CallError> {
    let touched = |row: &Row| snapshot.chunk(*row).is_some_and(|chunk| chunk.lines.0 <= end && chunk.lines.1 >= line);
    let touched: Vec<Row> = rows.iter().filter(touched).collect();
    let only = match touched[..] {
        [] => {
            let what = if line == end { format!("{path}:{line}") } else { format!("{path}:{line}-{end}") };
            return Err(not_found("passage", &what, "nothing that is indexed stands there"));
        }
        [row] => snapshot.chunk(row).filter(|chunk| chunk.lines.0 < line || chunk.lines.1 > end).map(|c| (row, c)),
        _ => None,
    };
    // The text of a private note is embedded on this machine or not at all; then its whole chunks serve, with the
    // vectors that they have.
    let private = snapshot.note_at(path).is_some_and(|note| pipeline.private.covers(&note.path, note.tags()));
    let stays = private && pipeline.service.embedder.leaves_to().is_some();
    if let Some((row, chunk)) = only.filter(|_| !stays) {
        let text = snapshot.text(row)?.text;
        let first = line.saturating_sub(chunk.lines.0) as usize;
        let count = (end - line.max(chunk.lines.0)) as usize + 1;
        let part: Vec<&str> = text.lines().skip(first).take(count).collect();
        let part = part.join("\n");
        // If the part says nothing, such as a blank line, the whole chunk is meant.
        if part.chars().any(char::is_alphanumeric) {
            let vector = vectors.of(pipeline, &part).ok_or_else(|| CallError::Provider(vectors.why()))?;
            return Ok(Seed::Part(chunk.note, part, vector));
        }
    }
    Ok(Seed::Chunks(touched))
}
