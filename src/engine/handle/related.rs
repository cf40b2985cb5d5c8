//! Finds what is near something: answered from the published snapshots, on the caller's thread.

use std::sync::Arc;
use std::time::Instant;

use super::access::{Served, not_found};
use super::resolve::{self, Named};
use super::search::include;
use super::search::{Requested, freshness, search_answer};
use super::vectors::QueryVectors;
use super::{CallError, Cancel, Group, Handle, RelatedRequest, SearchAnswer, vectors};
use crate::VaultShared;
use crate::decide::NotePipeline;
use index::search;
use index::search::{Near, Seed};
use index::{NoteEntry, NoteNo, Row};
use note::VaultPath;
use note::fingerprint::ChunkId;

/// See [`Handle::related`].
pub(super) fn related(engine: &Handle, request: RelatedRequest, cancel: &Cancel) -> Result<SearchAnswer, CallError> {
    let began = Instant::now();
    let lines = lines(&request)?;
    let per_note = if request.group == Group::Note { Some(1) } else { request.per_note };
    let mut options = super::search::options(
        engine,
        &Requested {
            limit: request.limit,
            per_note,
            window_chars: request.window_chars,
            contextual: true,
            explain: request.explain,
            merge: request.merge,
            ..Requested::default()
        },
    )?;
    options.cancel = cancel.clone();
    let (vaults, _) = engine.served(request.vault.as_deref())?;
    let hide = request.audience.is_assistant();
    let served = vaults.iter().map(|vault| Served::new(vault, hide)).collect::<Result<Vec<_>, _>>()?;
    let mut vectors = vectors::vectors(engine);
    let (home, seed, doubt) = seed(engine, &request, lines, (&vaults, &served), &mut vectors)?;
    if let Some(home) = home.map(|home| &served[home]) {
        let of = seed.note(&home.snapshot).and_then(|no| home.snapshot.note(no));
        if of.is_some_and(|note| !home.shows(note)) {
            return Err(no_chunk(request.chunk.as_deref().unwrap_or_default()));
        }
    }
    let mut seeds = Vec::with_capacity(served.len());
    for (at, other) in served.iter().enumerate() {
        let of_home = home.filter(|home| *home == at).map(|_| seed.clone());
        let elsewhere = || elsewhere(&seed, &served[home.unwrap_or_default()], other, &mut vectors);
        seeds.push(of_home.map_or_else(elsewhere, Ok)?);
    }
    let near = served.iter().zip(&seeds).map(|(served, seed)| Near {
        snapshot: &served.snapshot,
        vault: &served.vault.name,
        seed,
        hidden: served.hidden.as_deref(),
    });
    let found = search::related(&near.collect::<Vec<_>>(), request.exclude_linked, &options)?;
    let unembedded = home.and_then(|home| {
        let snapshot = &served[home].snapshot;
        let note = seed.note(snapshot).and_then(|no| snapshot.note(no))?;
        let is_missing = found[home].warnings.is_empty() && seed.vector(snapshot).is_none();
        is_missing.then(|| format!("words alone answered: no vector says yet what `{}` is about", note.path))
    });
    let answers = found.into_iter().zip(&served).map(|(found, served)| freshness::marked(found, served, None));
    let mut answer = search_answer(answers.collect(), options.limit, began);
    if hide {
        include::leave_unseen_out(&mut answer.hits);
    }
    let incomplete = served.iter().filter_map(|served| served.incomplete.clone());
    answer.warnings.extend(doubt.into_iter().chain(incomplete).chain(unembedded));
    include::add(&request.include, &mut answer.hits, &served, cancel)?;
    include::leave_out(&request.include, request.audience, &mut answer.hits);
    Ok(vectors.warn(answer))
}

/// What is asked about, as another vault than its own is asked about it: a text, with a vector of that vault's embedder,
/// and no note that could be linked.
fn elsewhere(seed: &Seed, home: &Served, other: &Served, vectors: &mut QueryVectors<'_>) -> Result<Seed, CallError> {
    let words = match seed {
        Seed::Part(_, text, _) | Seed::Text(text, _) => text.clone(),
        Seed::Note(_) | Seed::Chunks(_) => seed.words(&home.snapshot)?,
    };
    // While one embedder takes over from another, each vault changes at its own time.
    let identity = |served: &Served| served.pipeline.service.embedder.identity().to_owned();
    let vector = if identity(home) == identity(other) {
        seed.vector(&home.snapshot)
    } else if seed.note(&home.snapshot).is_some_and(|note| stays(note, home, &other.pipeline)) {
        None
    } else {
        vectors.of(&other.pipeline, &words)
    };
    Ok(Seed::Text(words, vector))
}

/// Whether the text of a note may not reach the embedder of `pipeline`: that of a private note is embedded on this
/// machine or not at all.
fn stays(note: NoteNo, home: &Served, pipeline: &NotePipeline) -> bool {
    let note = home.snapshot.note(note);
    let private = note.is_some_and(|note| home.pipeline.private.covers(&note.path, note.tags()));
    private && pipeline.service.embedder.leaves_to().is_some()
}

/// What is asked about, the vault that it is in, and what to say if another has a note of that path.
fn seed(
    engine: &Handle,
    request: &RelatedRequest,
    lines: Option<(u32, u32)>,
    (vaults, served): (&[Arc<VaultShared>], &[Served]),
    vectors: &mut QueryVectors<'_>,
) -> Result<(Option<usize>, Seed, Option<String>), CallError> {
    if let Some(typed) = &request.path {
        let of_team = |why: CallError| engine.refuse_team(typed).err().unwrap_or(why);
        let named = resolve::note(vaults, typed, request.audience).map_err(of_team)?;
        let doubt = named.doubt();
        let Named { vault, path, lines: named, .. } = named;
        let unknown = || of_team(resolve::unknown(vaults, typed, request.audience));
        let home = vaults.iter().position(|known| known.id == vault.id).ok_or_else(unknown)?;
        let note = note_shown(&served[home], &path).ok_or_else(unknown)?;
        let seed = match lines.or(named) {
            Some(lines) => selected(&served[home], vectors, note, lines)?,
            None => Seed::Note(note.no),
        };
        return Ok((Some(home), seed, doubt));
    }
    if let Some(name) = &request.chunk {
        return seed_of_chunk(name, served);
    }
    let first = served.first().ok_or(CallError::NotReady)?;
    let text = request.text.as_deref().unwrap_or_default();
    let vector = vectors.of(&first.pipeline, text).ok_or_else(|| CallError::Provider(vectors.why()))?;
    Ok((None, Seed::Text(text.to_owned(), Some(vector)), None))
}

/// The note at a path, if the asker may know of it.
fn note_shown<'a>(served: &'a Served, path: &VaultPath) -> Option<&'a Arc<NoteEntry>> {
    served.snapshot.note_at(path).filter(|note| served.shows(note))
}

/// A chunk with this id that the asker may know of. Notes at the same path of two vaults have chunks of the same id.
fn seed_of_chunk(name: &str, served: &[Served]) -> Result<(Option<usize>, Seed, Option<String>), CallError> {
    let id: ChunkId = name.parse().map_err(|e: note::fingerprint::BadFingerprint| CallError::Invalid(e.to_string()))?;
    let mut holding = served.iter().enumerate().filter_map(|(at, served)| {
        let (snapshot, seed) = (&served.snapshot, Seed::Chunks(vec![served.snapshot.row_of(id)?]));
        let path = &snapshot.note(seed.note(snapshot)?)?.path;
        note_shown(served, path).map(|note| (at, note.path.clone(), seed))
    });
    let (at, path, seed) = holding.next().ok_or_else(|| no_chunk(name))?;
    let also_in = holding.map(|(at, ..)| served[at].vault.name.clone()).collect();
    let doubt = Named { vault: served[at].vault.clone(), path, lines: None, also_in }.doubt();
    Ok((Some(at), seed, doubt))
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
    served: &Served,
    vectors: &mut QueryVectors<'_>,
    note: &NoteEntry,
    (line, end): (u32, u32),
) -> Result<Seed, CallError> {
    let (snapshot, path) = (&served.snapshot, &note.path);
    let touched = |row: &Row| snapshot.chunk(*row).is_some_and(|chunk| chunk.lines.0 <= end && chunk.lines.1 >= line);
    let touched: Vec<Row> = note.rows.iter().filter(touched).collect();
    let only = match touched[..] {
        [] => {
            let what = if line == end { format!("{path}:{line}") } else { format!("{path}:{line}-{end}") };
            return Err(not_found("passage", &what, "nothing that is indexed stands there"));
        }
        [row] => snapshot.chunk(row).filter(|chunk| chunk.lines.0 < line || chunk.lines.1 > end).map(|c| (row, c)),
        _ => None,
    };
    // If its text may not leave, its whole chunks serve, with the vectors that they have.
    if let Some((row, chunk)) = only.filter(|_| !stays(note.no, served, &served.pipeline)) {
        let text = snapshot.text(row)?.text;
        let first = line.saturating_sub(chunk.lines.0) as usize;
        let count = (end - line.max(chunk.lines.0)) as usize + 1;
        let part: Vec<&str> = text.lines().skip(first).take(count).collect();
        let part = part.join("\n");
        // If the part says nothing, such as a blank line, the whole chunk is meant.
        if part.chars().any(char::is_alphanumeric) {
            let vector = vectors.of(&served.pipeline, &part).ok_or_else(|| CallError::Provider(vectors.why()))?;
            return Ok(Seed::Part(chunk.note, part, vector));
        }
    }
    Ok(Seed::Chunks(touched))
}
