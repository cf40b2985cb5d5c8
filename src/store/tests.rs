//! The store as a whole, on real files: what it gives back, and what it survives.

use std::fs;
use std::path::Path;

use super::record::{ChunkRecord, NoteRecord};
use super::*;
use context::plan::{Action, PendingContext, Reason};
use context::prompt::Form;
use context::quality::Scores;
use context::{Making, Origin, Spent};
use index::embed::Vector;
use note::Private;
use note::fingerprint::{ChunkId, InputHash, SectionKey, Sketch, text_hash};

mod damage;
mod expansion;
mod holders;
mod keep;

pub(super) const EMBEDDER: &str = "test embedder/1";
pub(super) const DIMENSIONS: usize = 8;

pub(super) fn path(text: &str) -> VaultPath {
    VaultPath::parse(text).unwrap()
}

pub(super) fn open(dir: &Path) -> (Store, Opened) {
    Store::open(dir, EMBEDDER, DIMENSIONS).unwrap()
}

impl Store {
    /// Applies one change; see [`Store::apply_many`].
    fn apply(&self, path: &VaultPath, write: NoteWrite) -> Result<NoteRecord, StoreError> {
        let mut records = self.apply_many(vec![(path.clone(), write)])?;
        Ok(records.remove(0))
    }
}

pub(super) fn section(n: u8) -> SectionKey {
    SectionKey([n; 16])
}

/// A context that cost something, recognisable by its text.
pub(super) fn paid(sections: &[SectionKey], written_for: TextHash, text: &str) -> ContextRecord {
    ContextRecord {
        text: text.into(),
        origin: Origin::Model,
        generation: "llm/test".into(),
        sections: sections.to_vec(),
        written_for,
        sketch: Sketch::of("a few words that the sketch is of"),
        quality: 0.75,
        written_at: 1_790_000_000,
        spent: Spent { tokens_in: 900, tokens_out: 80, tokens_cached: 700, micro_dollars: Some(1234) },
        expansion: context::Expansion::default(),
        making: Some(Making {
            form: Form::Chunk,
            cut: true,
            weak: false,
            tries: 2,
            took_ms: 900,
            scores: Scores { length: 1.0, novelty: 0.5, ..Scores::default() },
        }),
    }
}

pub(super) fn free(sections: &[SectionKey], written_for: TextHash) -> ContextRecord {
    ContextRecord {
        text: String::new(),
        origin: Origin::Template,
        generation: "template/1".into(),
        sections: sections.to_vec(),
        written_for,
        sketch: Sketch::default(),
        quality: 1.0,
        written_at: 1_790_000_000,
        spent: Spent::default(),
        expansion: context::Expansion::default(),
        making: None,
    }
}

/// A note of `chunks` chunks whose texts depend on `version`; every second context is paid for.
pub(super) fn note(at: &str, chunks: u8, version: u32) -> (NoteRecord, Vec<ContextRecord>) {
    let mut record = nothing_at(&path(at));
    record.title = format!("Title of {at}");
    record.tags = vec!["tag".into(), "nested/tag".into()];
    record.properties = r#"{"type":"meeting"}"#.into();
    record.warnings = vec![(3, "odd".into())];
    record.decided = (Reason::NewNote, 1_790_000_000);
    record.stat = FileStat { size: 12, mtime_ns: -5, ctime_ns: 7, dev: 9, ino: 11 };
    let mut contexts = Vec::new();
    for n in 0..chunks {
        let hash = text_hash(format!("{at} {n} {version}").as_bytes());
        record.chunks.push(ChunkRecord {
            id: ChunkId([n; 16]),
            keys: vec![section(n)],
            ordinal: 0,
            span: (u32::from(n) * 100, u32::from(n) * 100 + 90),
            lines: (u32::from(n), u32::from(n) + 9),
            heading_path: vec!["Plan".into(), format!("Part {n}")],
            hash,
            context_hash: text_hash(b"context"),
            wanted: n % 2 == 1,
            inputs: vec![InputHash([n; 16])],
            decided: (Action::Reembed, Reason::BodyChanged),
            later: (n == 0).then_some(Reason::Drifted),
            due: (n == 1).then_some(PendingContext { reason: Reason::NewNote, since: 1_790_000_000, tries: 1 }),
        });
        let written_for = text_hash(format!("{at} {n} 0").as_bytes());
        contexts.push(match n % 2 {
            1 => paid(&[section(n)], written_for, &format!("context of {at} {n}")),
            _ => free(&[section(n)], written_for),
        });
    }
    (record, contexts)
}

pub(super) fn put(at: &str, chunks: u8, version: u32) -> (VaultPath, NoteWrite) {
    (path(at), NoteWrite { put: Some(note(at, chunks, version)), ..NoteWrite::default() })
}

/// The keys of a note's paid chunks.
pub(super) fn paid_keys(at: &str, chunks: u8, version: u32) -> Vec<ContextKey> {
    let (record, contexts) = note(at, chunks, version);
    let paid = record.chunks.iter().zip(&contexts).filter(|(_, context)| context.is_paid());
    paid.map(|(chunk, _)| context_key(&chunk.keys, chunk.hash)).collect()
}

#[test]
fn what_was_applied_comes_back_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let (store, opened) = open(dir.path());
    assert_eq!(opened, Opened::default());
    let (at, write) = put("b/two.md", 3, 0);
    let first = store.apply(&at, write).unwrap();
    let (at, write) = put("a/one.md", 2, 0);
    let second = store.apply(&at, write).unwrap();
    assert_eq!((first.seq, first.no, second.seq, second.no, store.seq()), (1, 1, 2, 2, 2));
    store.flush(true).unwrap();
    drop(store);

    let (store, opened) = open(dir.path());
    assert_eq!(opened, Opened { notes: 2, ..Opened::default() });
    assert_eq!(store.seq(), 2);
    assert_eq!(scanned(&store), [second.clone(), first.clone()]);
    assert_eq!(scanned(&store), [second.clone(), first.clone()], "read again");
    assert_eq!(store.note(&first.path).unwrap(), Some(first.clone()));
    assert_eq!(store.note(&path("none.md")).unwrap(), None);
    assert_eq!(store.contexts(&first.path).unwrap(), note("b/two.md", 3, 0).1);
    assert_eq!(store.contexts(&path("none.md")).unwrap(), []);
    assert!(store.bytes_on_disk() > 0);
    // A number that was given is never given again, and one that is there is kept.
    let (at, mut write) = put("c.md", 1, 0);
    assert_eq!(store.apply(&at, write.clone()).unwrap().no, 3);
    write.put.as_mut().unwrap().0.no = 3;
    let again = store.apply(&at, write).unwrap();
    assert_eq!((again.no, again.seq), (3, 4));
}

#[test]
fn a_move_a_removal_and_the_archive_are_one_transaction() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = open(dir.path());
    let (at, write) = put("old.md", 2, 0);
    let old = store.apply(&at, write).unwrap();
    let archived = paid(&[section(9)], text_hash(b"gone"), "archived words");
    let key = context_key(&[section(9)], text_hash(b"now"));
    let mut moved = note("new.md", 2, 0);
    moved.0.no = old.no;
    let write = NoteWrite { put: Some(moved), moved_from: Some(at.clone()), archive: vec![(key, archived.clone())] };
    let new = store.apply(&path("new.md"), write).unwrap();
    assert_eq!((new.no, new.seq), (old.no, 2));
    assert_eq!(store.note(&at).unwrap(), None);
    assert_eq!(store.contexts(&at).unwrap(), []);
    assert_eq!(store.archived(key).unwrap(), Some(archived.clone()));
    assert!(store.journal.contains(key));
    assert!(store.journal.contains(context_key(&[section(9)], text_hash(b"gone"))));
    let gone = store.apply(&new.path, NoteWrite::default()).unwrap();
    assert_eq!((gone.path, gone.no, gone.seq), (new.path, new.no, 3));
    assert_eq!(store.notes().unwrap(), []);
    assert_eq!(store.apply(&path("never.md"), NoteWrite::default()).unwrap().no, 0);
    // Undo: the moved note's contexts are found by what they were written for.
    for key in paid_keys("new.md", 2, 0) {
        assert!(store.archived(key).unwrap().is_some());
    }
}

#[test]
fn many_are_applied_at_once_or_not_at_all() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = open(dir.path());
    let names: Vec<String> = (0..50).map(|n| format!("note {n:02}.md")).collect();
    let records = store.apply_many(names.iter().map(|name| put(name, 4, 0)).collect()).unwrap();
    let numbers: Vec<_> = records.iter().map(|r| (r.seq, u64::from(r.no))).collect();
    assert_eq!(numbers, (1..=50).map(|n| (n, n)).collect::<Vec<_>>());
    let mut bad = put("bad.md", 3, 0);
    bad.1.put.as_mut().unwrap().1.pop();
    assert!(store.apply_many(vec![put("good.md", 1, 0), bad]).is_err());
    assert_eq!((store.seq(), store.note(&path("good.md")).unwrap()), (50, None));
    assert_eq!(store.apply_many(Vec::new()).unwrap(), []);
    drop(store);
    assert_eq!(open(dir.path()).0.notes().unwrap(), records);
}

fn scanned(store: &Store) -> Vec<NoteRecord> {
    let mut notes = Vec::new();
    store.scan(&|| true, &mut |batch| notes.extend(batch.decoded())).unwrap();
    notes
}

#[test]
fn a_store_is_scanned_after_it_was_opened() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = open(dir.path());
    let (at, write) = put("a.md", 1, 0);
    let record = store.apply(&at, write).unwrap();
    store.flush(true).unwrap();
    drop(store);

    let (store, beside) =
        Store::open_unscanned(dir.path(), EMBEDDER, DIMENSIONS, &|| true, ReadInputs::AtOnce, || 7).unwrap();
    assert_eq!((scanned(&store), store.seq(), beside), (vec![record.clone()], 1, 7));
    let (at, write) = put("b.md", 1, 0);
    let second = store.apply(&at, write).unwrap();
    assert_eq!(
        (second.no, scanned(&store)),
        (2, vec![record, second.clone()]),
        "what was applied since is scanned too"
    );
}

#[test]
fn inputs_are_read_when_somebody_needs_them() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = open(dir.path());
    let vectors = |numbers: [u8; 2]| numbers.map(|n| (InputHash([n; 16]), vector(n)));
    store.vectors().put(&vectors([1, 2])).unwrap();
    let version = store.vectors().version().unwrap();
    drop(store);

    let later = || {
        let opened = Store::open_unscanned(dir.path(), EMBEDDER, DIMENSIONS, &|| true, ReadInputs::Later, || ());
        opened.unwrap().0.vectors()
    };
    let cache = later();
    assert_eq!(cache.version().unwrap(), version);
    cache.put(&vectors([2, 3])).unwrap();
    assert_eq!(cache.get(InputHash([1; 16])), Some(vector(1)));
    assert_eq!((cache.len(), cache.version().unwrap().0), (3, 3), "the second one was there already");
    drop(cache);
    assert_eq!(later().len(), 3);
}

#[test]
fn a_template_context_is_stored_without_words() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = open(dir.path());
    let (record, mut contexts) = note("a.md", 1, 0);
    contexts[0].text = "words that are computed".into();
    contexts[0].sketch = Sketch::of("words that are computed");
    let write = NoteWrite { put: Some((record, contexts)), ..NoteWrite::default() };
    store.apply(&path("a.md"), write).unwrap();
    assert_eq!(store.contexts(&path("a.md")).unwrap(), note("a.md", 1, 0).1);
    assert_eq!(store.journal.len(), 0, "free contexts are not journaled");
}

#[test]
fn a_store_in_use_is_locked_and_stays_where_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = open(dir.path());
    assert!(matches!(Store::open(dir.path(), EMBEDDER, DIMENSIONS), Err(StoreError::Locked(_))));
    assert!(matches!(compact(dir.path()), Err(StoreError::Locked(_))));
    // sled's own lock, held by somebody who does not know of ours.
    let fault = guarded_open_error(&dir.path().join("sled"));
    assert_eq!(fault, Fault::Locked);
    drop(store);
    assert_eq!(open(dir.path()).1, Opened::default());
    assert_eq!(quarantines(dir.path()), 0);
}

fn guarded_open_error(path: &Path) -> Fault {
    Trees::open(path).err().unwrap()
}

pub(super) fn quarantines(dir: &Path) -> usize {
    let names = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name());
    names.filter(|name| name.to_string_lossy().starts_with("sled.damaged-")).count()
}

#[test]
fn a_folder_that_cannot_be_written_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "not a folder").unwrap();
    let error = Store::open(&file.join("store"), EMBEDDER, DIMENSIONS).err().unwrap();
    assert!(matches!(error, StoreError::Io { .. }), "{error}");
    assert!(compact(&dir.path().join("none")).is_err());
}

#[test]
fn export_and_import_carry_every_paid_context() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = open(dir.path());
    store.apply_many((0..5).map(|n| put(&format!("note {n}.md"), 4, 0)).collect()).unwrap();
    let key = context_key(&[section(9)], text_hash(b"now"));
    let archived = paid(&[section(9)], text_hash(b"gone"), "archived \"words\"\nwith a line end");
    let write = NoteWrite { archive: vec![(key, archived.clone())], ..NoteWrite::default() };
    store.apply(&path("x.md"), write).unwrap();
    let mut lines = Vec::new();
    // Ten live ones, the archived one under two keys.
    assert_eq!(store.export(&mut lines, &ContextRecord::is_paid, &Private::default()).unwrap(), 12);
    assert!(String::from_utf8(lines.clone()).unwrap().contains(r#""path":"note 0.md""#));
    assert_eq!(store.export(Vec::new(), &|_| true, &Private::default()).unwrap(), 22);
    let nothing = ImportReport { known: 12, ..ImportReport::default() };
    assert_eq!(store.import(&*lines).unwrap(), nothing);

    let other = tempfile::tempdir().unwrap();
    let (copy, _) = open(other.path());
    let text = String::from_utf8(lines.clone()).unwrap();
    let first = text.lines().next().unwrap();
    let mut input = format!("garbage\n{}\n\n", first.replace("\"schema\":1", "\"schema\":2")).into_bytes();
    input.extend(vec![b'x'; 3 << 20]);
    input.extend(b"\n\xff\xfe\n");
    input.extend(first.replace("0.75", "7.5").into_bytes());
    input.push(b'\n');
    input.extend(&lines);
    let report = copy.import(&*input).unwrap();
    assert_eq!((report.added, report.known), (12, 0));
    let bad: Vec<u64> = report.bad.iter().map(|(line, _)| *line).collect();
    assert_eq!(bad, [1, 2, 4, 5, 6], "{:?}", report.bad);
    assert!(report.bad[1].1.contains("schema 2") && report.bad[2].1.contains("longer"));
    drop(copy);
    let (copy, _) = open(other.path());
    let found = copy.archived(key).unwrap();
    assert!(found.as_ref().is_some_and(|context| context.making.is_some()), "how it was made is carried too");
    assert_eq!(found, Some(archived));
    for n in 0..5 {
        for key in paid_keys(&format!("note {n}.md"), 4, 0) {
            assert_eq!(copy.archived(key).unwrap(), store.archived(key).unwrap());
        }
    }
    // What an editor writes before the first line, and what no model writes.
    let long = first.replace("\"text\":\"", &format!("\"text\":\"{}", "x".repeat(70_000)));
    let report = copy.import(format!("\u{feff}{first}\n{long}\n").as_bytes()).unwrap();
    assert_eq!((report.known, report.bad.len()), (1, 1), "{:?}", report.bad);
    assert!(report.bad[0].1.contains("longer than 65536 bytes"), "{:?}", report.bad);
    let mut again = Vec::new();
    assert_eq!(copy.export(&mut again, &ContextRecord::is_paid, &Private::default()).unwrap(), 12);
}

#[test]
fn compacting_keeps_everything_and_gives_space_back() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = open(dir.path());
    for version in 0..6 {
        let changes = (0..100).map(|n| put(&format!("note {n:03}.md"), 10, version)).collect();
        store.apply_many(changes).unwrap();
    }
    for n in 10..100 {
        store.apply(&path(&format!("note {n:03}.md")), NoteWrite::default()).unwrap();
    }
    let vectors: Vec<_> = (0..100u8).map(|n| (InputHash([n; 16]), vector(n))).collect();
    store.vectors().put(&vectors).unwrap();
    let (notes, seq) = (store.notes().unwrap(), store.seq());
    store.flush(true).unwrap();
    drop(store);
    let report = compact(dir.path()).unwrap();
    assert!(report.after < report.before, "{report:?}");
    let (store, opened) = open(dir.path());
    assert_eq!(opened, Opened { notes: 10, ..Opened::default() });
    assert_eq!((store.notes().unwrap(), store.seq()), (notes, seq));
    assert_eq!(store.contexts(&path("note 003.md")).unwrap(), note("note 003.md", 10, 0).1);
    for n in 0..100 {
        for version in 0..6 {
            for key in paid_keys(&format!("note {n:03}.md"), 10, version) {
                assert!(store.archived(key).unwrap().is_some());
            }
        }
    }
    // Ten inputs are in use; of the other ninety the newest twenty stay.
    let kept: Vec<u8> = (0..100).filter(|&n| store.vectors().get(InputHash([n; 16])).is_some()).collect();
    assert_eq!(kept, (0..10).chain(80..100).collect::<Vec<_>>());
    assert_eq!(store.vectors().get(InputHash([85; 16])), Some(vector(85)));
    assert!(!dir.path().join("sled.old").exists() && !dir.path().join("sled.new").exists());
}

pub(super) fn vector(n: u8) -> Vector {
    let values = (0..DIMENSIONS as i8).map(|i| i.wrapping_mul(31).wrapping_sub(n.cast_signed())).collect();
    Vector { values, scale: 0.01 + f32::from(n) }
}

#[test]
fn a_compaction_that_was_cut_short_is_settled() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = open(dir.path());
    let record = store.apply_many(vec![put("a.md", 2, 0)]).unwrap();
    drop(store);
    let (sled, old, new) = (dir.path().join("sled"), dir.path().join("sled.old"), dir.path().join("sled.new"));
    // Between the two renames, with a new database that is not whole.
    fs::rename(&sled, &old).unwrap();
    fs::create_dir(&new).unwrap();
    let (store, opened) = open(dir.path());
    assert_eq!((opened.notes, opened.quarantined), (1, None));
    assert!(!old.exists() && !new.exists());
    drop(store);
    // After both, but the new one is bad: the old one stands in.
    fs::rename(&sled, &old).unwrap();
    fs::create_dir(&sled).unwrap();
    fs::write(sled.join("db"), vec![7; 100_000]).unwrap();
    fs::write(sled.join("conf"), "nonsense that is long enough").unwrap();
    let (store, opened) = open(dir.path());
    assert_eq!(opened.notes, 1);
    assert!(opened.quarantined.is_some() && !old.exists());
    assert_eq!(store.notes().unwrap(), record);
}

/// What comes of it in the end.
fn reclaimed(store: &Store) -> Reclaimed {
    let steps = std::iter::repeat_with(|| store.reclaim().unwrap());
    steps.into_iter().find(|step| *step != Reclaimed::More).unwrap()
}

#[test]
fn what_is_named_while_vectors_are_surveyed_is_not_given_up() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = open(dir.path());
    let input = |n: u16| {
        let [low, high] = n.to_le_bytes();
        InputHash([low, high, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9])
    };
    let vectors: Vec<_> = (0..2000u16).map(|n| (input(n), vector(n as u8))).collect();
    store.vectors().put(&vectors).unwrap();
    // More than one step can read.
    (0..5).for_each(|n| store.set_value(&format!("large {n}"), Some(&"x".repeat(300_000))).unwrap());
    let naming = |at: &str, n: u16| {
        let (path, mut write) = put(at, 1, 0);
        write.put.as_mut().unwrap().0.chunks[0].inputs = vec![input(n)];
        store.apply(&path, write).unwrap();
    };
    naming("before.md", 0);
    assert_eq!(store.reclaim().unwrap(), Reclaimed::More);
    naming("aside.md", 1);
    assert!(store.amend(&path("before.md"), |record| record.chunks[0].inputs = vec![input(2)]).unwrap());
    let steps = std::iter::repeat_with(|| store.reclaim().unwrap()).take_while(|step| *step == Reclaimed::More);
    assert!(steps.count() > 2);
    let cache = store.vectors();
    let held: Vec<u16> = (0..2000).filter(|n| cache.holds(input(*n))).collect();
    // Those that are or were named, half as many, and the newest that are spare.
    assert_eq!(held[..3], [0, 1, 2]);
    assert_eq!(held.len(), 3 + 1 + vectors::SPARE);

    // What was seen of the vectors of one embedder says nothing about those of another.
    store.vectors().put(&(2000..4000u16).map(|n| (input(n), vector(n as u8))).collect::<Vec<_>>()).unwrap();
    assert_eq!(store.reclaim().unwrap(), Reclaimed::More);
    let other = store.vectors_of("another/1", DIMENSIONS).unwrap();
    other.put(&vectors).unwrap();
    store.serve_vectors(other.clone());
    naming("another.md", 5);
    assert_ne!(reclaimed(&store), Reclaimed::More);
    assert!(other.holds(input(5)) && !other.holds(input(4)) && other.len() == 3 + 1 + vectors::SPARE);
}

#[test]
fn a_store_that_memory_has_no_room_for_is_left_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = open(dir.path());
    store.apply_many((0..1100).map(|n| put(&format!("note {n:04}.md"), 1, 0)).collect()).unwrap();
    store.flush(true).unwrap();
    let notes = store.notes().unwrap();
    drop(store);
    let refused = Store::open_within(dir.path(), EMBEDDER, DIMENSIONS, &|| false);
    assert!(matches!(refused, Err(StoreError::NoRoom)));
    let (store, opened) = open(dir.path());
    assert_eq!((store.notes().unwrap(), opened), (notes, Opened { notes: 1100, ..Opened::default() }));
}

#[test]
fn an_open_store_gives_back_what_edits_took_and_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = open(dir.path());
    store.apply_many((0..100).map(|n| put(&format!("note {n:03}.md"), 10, 0)).collect()).unwrap();
    store.flush(true).unwrap();
    assert_eq!(reclaimed(&store), Reclaimed::Nothing, "nothing is to be had");
    for n in 10..90 {
        store.set_value("large", Some(&n.to_string().repeat(100_000))).unwrap();
    }
    store.set_value("large", None).unwrap();
    let (notes, seq) = (store.notes().unwrap(), store.seq());
    let gained = reclaimed(&store);
    let Reclaimed::Space(report) = gained else {
        panic!("what is gone takes more than what is there: {gained:?}");
    };
    assert!(report.after < report.before / 2, "{report:?}");
    assert_eq!(reclaimed(&store), Reclaimed::Nothing, "it was done just now");
    // What it held is there, what comes is taken, and both are there after a kill.
    let (at, write) = put("note 100.md", 3, 0);
    store.apply(&at, write).unwrap();
    store.flush(true).unwrap();
    let killed = tempfile::tempdir().unwrap();
    damage::copy_all(dir.path(), killed.path());
    let (copy, opened) = open(killed.path());
    assert_eq!(opened, Opened { notes: 101, ..Opened::default() });
    assert_eq!((&copy.notes().unwrap()[..100], copy.seq()), (&notes[..], seq + 1));
    let at = path("note 003.md");
    assert_eq!(copy.contexts(&at).unwrap(), store.contexts(&at).unwrap());
}

#[test]
fn pages_that_were_read_or_written_are_given_back_and_the_store_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = open(dir.path());
    for n in 0..30 {
        store.apply_many((0..100).map(|m| put(&format!("note {n} {m}.md"), 10, 0)).collect()).unwrap();
    }
    // On a slow machine some of it is in buffers, and a small file is left alone.
    store.flush(true).unwrap();
    assert!(store.drop_pages().unwrap(), "all of them were written");
    assert!(!store.drop_pages().unwrap(), "nothing was read since");
    // While others read and write.
    let (at, write) = put("another.md", 3, 0);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| (0..8).map(|_| store.notes().unwrap().len()).collect::<Vec<_>>());
        let writer = scope.spawn(|| (0..200).for_each(|n| store.set_value("n", Some(&n.to_string())).unwrap()));
        let dropped = (0..8).filter(|_| store.drop_pages().unwrap()).count();
        assert!(reader.join().unwrap().into_iter().all(|count| count == 3000));
        writer.join().unwrap();
        assert!(dropped > 0 || store.drop_pages().unwrap(), "all was read");
    });
    store.apply(&at, write).unwrap();
    store.flush(true).unwrap();
    let killed = tempfile::tempdir().unwrap();
    damage::copy_all(dir.path(), killed.path());
    let (copy, opened) = open(killed.path());
    assert_eq!(opened, Opened { notes: 3001, ..Opened::default() });
    assert_eq!((copy.seq(), copy.value("n").unwrap().as_deref()), (3001, Some("199")));
}

/// As a backup that is restored under a daemon which the kernel lets write only to the former folder.
#[test]
fn a_folder_that_was_replaced_is_told_from_one_that_cannot_be_written() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().join("store");
    let (store, _) = open(&at);
    // Not even the superuser writes this file.
    fs::create_dir(at.join("probe.tmp")).unwrap();
    assert!(!store.probe().unwrap_err().to_string().contains("another folder"));
    fs::rename(&at, dir.path().join("away")).unwrap();
    damage::copy_all(&dir.path().join("away"), &at);
    assert!(store.probe().unwrap_err().to_string().ends_with("another folder is in its place"));
}
