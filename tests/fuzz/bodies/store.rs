//! What lies in a data folder, as anything may have left it there: records, the journal, vectors, and contexts that are
//! brought in.

use std::collections::HashMap;
use std::fs;

use crate::codec;
use crate::exchange;
use crate::journal::{self, Holder, Journal, NoteEvent};
use crate::v1::Entry;
use crate::vectors::{self, VectorFile};
use context::{ContextRecord, Expansion, Origin, Spent};
use index::embed::Vector;
use note::fingerprint::{ContextKey, InputHash, SectionKey, Sketch, TextHash};
use note::{Private, VaultPath};

use input::{Folder, Input};

#[allow(dead_code, clippy::duplicate_mod, reason = "each body stands alone, and uses what it needs")]
#[path = "../input.rs"]
mod input;

/// Versions of records that a program may meet: those that are known, and two that are not.
const VERSIONS: u8 = 5;

/// A payload with the checksum that it needs to be read at all.
fn sealed(version: u8, payload: &[u8]) -> Vec<u8> {
    let sum = codec::checksum(&[&[version], payload]);
    [&[version], &sum[..], payload].concat()
}

/// Records of every kind and version: two bytes choose these, the payload follows. What can be read is written and read
/// again, and is the same. As they are, without a checksum, the bytes are read as every kind too.
pub fn codec(bytes: &[u8]) {
    let _ = codec::decode_note(b"a.md", bytes);
    let _ = codec::decode_contexts(bytes);
    let _ = codec::decode_counters(bytes);
    let _ = codec::read_first::<String>(bytes);
    let _ = codec::read_first::<codec::Id>(bytes);
    let _ = codec::decode_entry(bytes);
    let mut input = Input(bytes);
    let (kind, version) = (input.below(6), input.below(VERSIONS));
    match kind {
        0 => {
            let Ok(note) = codec::decode_note(b"folder/a.md", &sealed(version, input.0)) else { return };
            let again = codec::encode_note(&note).expect("what was read can be written");
            assert_eq!(codec::decode_note(b"folder/a.md", &again).as_ref(), Ok(&note));
        }
        1 => contexts_of(version, &mut input),
        2 => {
            let Ok(contexts) = codec::decode_contexts(&sealed(version, input.0)) else { return };
            let again = codec::encode_contexts(&contexts).expect("what was read can be written");
            let read = codec::decode_contexts(&again).expect("what was written can be read");
            // Compared as bytes, for a quality may be no number.
            assert_eq!(codec::encode_contexts(&read), Ok(again));
        }
        3 => {
            let Ok(counters) = codec::decode_counters(&sealed(version, input.0)) else { return };
            assert!(counters.next_no > 0, "0 is no number of a note");
            let again = codec::encode_counters(counters).expect("what was read can be written");
            assert_eq!(codec::decode_counters(&again), Ok(counters));
        }
        4 => {
            let sealed = sealed(version, input.0);
            if let Ok(id) = codec::read_first::<codec::Id>(&sealed) {
                assert_eq!(codec::read_first(&codec::seal(&id).expect("a name can be written")), Ok(id));
            }
            let Ok(value) = codec::read_first::<String>(&sealed) else { return };
            assert_eq!(codec::read_first(&codec::seal(&value).expect("a text can be written")), Ok(value));
        }
        _ => {
            let Ok(entry) = codec::decode_entry(&sealed(version, input.0)) else { return };
            let again = codec::encode_entry(&entry).expect("what was read can be written");
            let read = codec::decode_entry(&again).expect("what was written can be read");
            assert_eq!(codec::encode_entry(&read), Ok(again));
        }
    }
}

/// The contexts of a note's chunks: a length, the note, its contexts. All of them and those that were paid for agree.
fn contexts_of(version: u8, input: &mut Input<'_>) {
    let length = usize::from(input.byte()) << 8 | usize::from(input.byte());
    let Ok(note) = codec::decode_note(b"a.md", &sealed(2, input.take(length))) else { return };
    let bytes = sealed(version, input.0);
    let Ok(contexts) = codec::decode_contexts_of(&note.chunks, &bytes) else { return };
    assert_eq!(contexts.len(), note.chunks.len());
    let plain = |contexts: &[ContextRecord]| codec::encode_contexts(contexts).expect("what was read can be written");
    let paid = codec::decode_paid(note.chunks.len(), &bytes).expect("those that were paid for can be read too");
    let (places, paid): (Vec<usize>, Vec<ContextRecord>) = paid.into_iter().unzip();
    let own = contexts.iter().enumerate().filter(|(_, context)| context.is_paid());
    let (own_places, own): (Vec<usize>, Vec<ContextRecord>) = own.map(|(at, context)| (at, context.clone())).unzip();
    assert_eq!((places, plain(&paid)), (own_places, plain(&own)));
    let again = codec::encode_contexts_of(&note.chunks, &contexts).expect("what was read can be written");
    let read = codec::decode_contexts_of(&note.chunks, &again).expect("what was written can be read");
    assert_eq!(plain(&read), plain(&contexts));
}

/// A context that somebody paid for; the same number, the same context.
fn paid(number: u8) -> ContextRecord {
    ContextRecord {
        text: format!("context {number}"),
        origin: Origin::Model,
        generation: "llm/test".to_owned(),
        sections: vec![SectionKey([number % 4; 16])],
        written_for: TextHash([number % 3; 16]),
        sketch: Sketch::default(),
        quality: 0.5,
        written_at: 1_790_000_000,
        spent: Spent { tokens_in: 900, tokens_out: 80, tokens_cached: 0, micro_dollars: Some(1234) },
        making: None,
        expansion: Expansion {
            questions: vec![format!("question {number}")].split_off(usize::from(number % 2)),
            terms: vec![],
        },
    }
}

fn key(number: u8) -> ContextKey {
    ContextKey([number % 8; 16])
}

fn path(number: u8) -> VaultPath {
    VaultPath::parse(&format!("{}.md", number % 4)).expect("it is a path")
}

/// Bytes of a journal: frames of any entry, sealed payloads that are none, and damage between them.
fn journal_of(input: &mut Input<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    let frame = |out: &mut Vec<u8>, payload: &[u8]| {
        out.extend_from_slice(&journal::MAGIC);
        out.extend_from_slice(&(payload.len() as u32).to_le_bytes());
        out.extend_from_slice(payload);
    };
    let record = |number: u8| codec::encode_contexts([&paid(number)]).expect("a context can be written");
    let name = |number: u8| codec::id(&record(number));
    let tags = |number: u8| if number > 127 { vec!["private".to_owned()] } else { Vec::new() };
    while !input.is_over() {
        let entry = match input.below(10) {
            0 => {
                out.extend_from_slice(input.bytes());
                continue;
            }
            1 => {
                let version = input.below(VERSIONS);
                frame(&mut out, &sealed(version, input.bytes()));
                continue;
            }
            2 => Entry::Alias { key: key(input.byte()), of: name(input.byte()) },
            3 => {
                let (at, of) = (input.byte(), vec![name(input.byte()), name(input.byte())]);
                Entry::Held { path: path(at).to_string(), tags: tags(at), removed: at & 64 > 0, of }
            }
            4 => Entry::Moved { from: path(input.byte()).to_string(), to: path(input.byte()).to_string() },
            5 => {
                let at = input.byte();
                Entry::Removed { path: path(at).to_string(), tags: tags(at) }
            }
            6 => Entry::Expansion { of: name(input.byte()), questions: vec!["why?".to_owned()], terms: Vec::new() },
            _ => {
                let keys = (0..input.below(3)).map(|_| key(input.byte())).collect();
                Entry::Context { keys, record: record(input.byte()) }
            }
        };
        frame(&mut out, &codec::encode_entry(&entry).expect("an entry can be written"));
    }
    out
}

/// What a journal says: for each key its contexts with who holds them, the first one first.
type Said = Vec<(ContextKey, Vec<(ContextRecord, Vec<Holder>)>)>;

fn said(journal: &Journal) -> Said {
    let mut keys = journal.keys();
    keys.sort_unstable();
    let all = |key| {
        let mut found = journal.all(key).0;
        for (_, holders) in &mut found {
            // Two notes that were removed, of one path and with equal tags, may count as one.
            holders.sort_by(|a, b| (&a.path, a.removed, &a.tags).cmp(&(&b.path, b.removed, &b.tags)));
            holders.dedup_by(|a, b| a == b && a.removed);
        }
        (key, found)
    };
    keys.into_iter().map(all).collect()
}

/// A journal of any frames and any damage. It opens, says the same each time and after it was compacted, and what is
/// written behind all that is found again.
pub fn journal(bytes: &[u8]) {
    let mut input = Input(bytes);
    let folder = Folder::new("journal");
    let file = folder.path().join(crate::JOURNAL);
    fs::write(&file, journal_of(&mut input)).expect("a file for a journal");

    let (journal, damaged) = Journal::open(&file).expect("a journal opens whatever is in it");
    let before = said(&journal);
    let peeked: HashMap<_, _> = crate::journaled(folder.path()).expect("it can be looked at").into_iter().collect();
    for (key, found) in &before {
        if let (Ok(Some(first)), Some((same, _))) = (journal.get(*key), found.first()) {
            assert_eq!(&first, same, "the last one wins");
            let peeked = peeked.get(key).expect("who looks beside it sees it too");
            assert_eq!(peeked.text, first.text);
        }
    }
    drop(journal);
    let (again, damage) = Journal::open(&file).expect("it opens again");
    assert_eq!(damage, damaged, "what a torn end left was no damage, and is gone");
    assert_eq!(said(&again), before);
    drop(again);

    journal::compact(&file).expect("it can be compacted");
    let (compacted, _) = Journal::open(&file).expect("it opens when it is compacted");
    let readable = |said: &Said| -> Said { said.iter().filter(|(_, found)| !found.is_empty()).cloned().collect() };
    assert_eq!(readable(&said(&compacted)), readable(&before), "nothing is lost by compaction");

    // One that no entry can be: a context that is known under its key already is not written again.
    let new = ContextRecord { text: "a new context".to_owned(), ..paid(200) };
    let (at, tags) = (path(9), Vec::new());
    let contexts = vec![(key(1), &new)];
    compacted.record(vec![NoteEvent::Held { path: &at, tags: &tags, contexts }]).expect("it can be written to");
    drop(compacted);
    let (journal, _) = Journal::open(&file).expect("it opens");
    let found = journal.get(key(1)).expect("it can be read");
    assert_eq!(found.map(|context| context.text), Some(new.text), "what was paid for last is found");
    assert!(journal.contains_of(key(1), at.as_str()));
}

/// Vectors that are put and asked for, while somebody damages the file between two openings of it.
pub fn vectors(bytes: &[u8]) {
    const DIMENSIONS: usize = 4;
    let mut input = Input(bytes);
    let folder = Folder::new("vectors");
    let open = || {
        VectorFile::open_and_read(folder.path(), "test", DIMENSIONS, &|| true)
            .expect("the file opens whatever is in it")
    };
    let of = |number: u8| InputHash([number % 16; 16]);
    let vector = |number: u8, with: u8| Vector { values: [number, with, 1, 2].map(u8::cast_signed).into(), scale: 0.5 };
    let (mut file, mut put, mut damaged) = (open(), HashMap::<InputHash, Vec<Vector>>::new(), false);
    while !input.is_over() {
        match input.below(4) {
            0 => {
                let (number, with) = (input.byte(), input.byte());
                file.put(&[(of(number), vector(number, with))]).expect("a vector can be put");
                // One that has a vector keeps it. What damage took can be put again, and is back if the damage is undone by
                // more of it.
                let held = file.get(of(number), false).map(|(_, vector)| vector);
                let known = put.entry(of(number)).or_default();
                known.push(vector(number, with));
                match held {
                    Some(held) => assert!(known[0] == held || damaged && known.contains(&held)),
                    None => assert!(damaged),
                }
            }
            1 => {
                let number = input.byte();
                let read = file.get(of(number), false);
                assert_eq!(file.get(of(number), true).as_ref(), read.as_ref(), "mapped or read, it is the same");
                match read {
                    Some((_, vector)) => assert!(put[&of(number)].contains(&vector), "damage makes no vector"),
                    None => assert!(damaged || !put.contains_key(&of(number)), "a vector is lost"),
                }
            }
            2 => {
                drop(file);
                if input.byte() > 127 {
                    vectors::compact(folder.path(), &put.keys().copied().collect()).expect("it can be compacted");
                }
                file = open();
            }
            _ => {
                drop(file);
                damaged |= damage(folder.path(), &mut input);
                file = open();
            }
        }
    }
}

/// Changes or cuts the file of vectors; whether anything of it was.
fn damage(folder: &std::path::Path, input: &mut Input<'_>) -> bool {
    let mut entries = fs::read_dir(folder).expect("the folder is there");
    let file = entries.next().expect("it holds one file").expect("its name can be read").path();
    let mut bytes = fs::read(&file).expect("the file can be read");
    let at = (usize::from(input.byte()) << 8 | usize::from(input.byte())) % (bytes.len() + 1);
    let cut = input.byte() > 200;
    let with = input.take(4);
    if cut {
        bytes.truncate(at);
        bytes.extend_from_slice(with);
    } else {
        bytes.iter_mut().skip(at).zip(with).for_each(|(byte, other)| *byte = *other);
    }
    fs::write(&file, bytes).expect("the file can be written");
    true
}

/// Characters of an exported line up to the end of its key.
const KEYED: usize = 52;

/// Contexts that are brought in, as JSON Lines. A line that is taken is written as one that says the same, and is taken
/// again; what comes of a whole file is counted line by line.
pub fn contexts(bytes: &[u8]) {
    let mut good = 0;
    for line in bytes.split(|byte| *byte == b'\n') {
        if let Some(again) = exchange::rewritten(line) {
            assert_eq!(exchange::rewritten(&again).as_ref(), Some(&again), "what is exported can be imported");
            good += 1;
        }
    }
    if good == 0 {
        return;
    }
    let folder = Folder::new("contexts");
    let store = |name: &str| {
        let dir = folder.path().join(name);
        crate::Store::open(&dir, "test", 4).expect("a store opens").0
    };
    let (one, other) = (store("one"), store("other"));
    let report = one.import(bytes).expect("a bad line stops nothing");
    assert!(report.added + report.known <= good);
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()).count() as u64;
    assert_eq!(report.added + report.known + report.bad.len() as u64, lines, "each line is told of");
    let keyed = |line: &String| line.chars().take(KEYED).collect::<String>();
    let export = |store: &crate::Store| {
        let mut out = Vec::new();
        store.export(&mut out, &ContextRecord::is_paid, &Private::default()).expect("it can be exported");
        let text = String::from_utf8(out).expect("JSON is text");
        // Which key comes first says nothing; under one key the last line is the one that is found.
        let mut lines: Vec<String> = text.lines().map(|line| line.to_owned() + "\n").collect();
        lines.sort_by_key(keyed);
        lines
    };
    let exported = export(&one);
    let report = other.import(exported.concat().as_bytes()).expect("what was exported can be imported");
    assert!(report.bad.is_empty(), "{:?}", report.bad);
    let again = export(&other);
    // The key of what a context was written for may find one more, which came before.
    assert!(exported.iter().all(|line| again.contains(line)), "nothing is lost on the way");
    let found = |lines: &[String]| -> HashMap<String, String> {
        lines.iter().map(|line| (keyed(line), line.clone())).collect()
    };
    assert_eq!(found(&again), found(&exported), "each key finds the same");
}

#[cfg(test)]
#[allow(clippy::duplicate_mod, reason = "each body stands alone")]
#[path = "../kept.rs"]
mod kept;

#[cfg(test)]
mod tests {
    use super::kept;

    #[test]
    fn records() {
        kept::run("codec", 6_000, super::codec);
    }

    #[test]
    fn journals() {
        kept::run("journal", 300, super::journal);
    }

    #[test]
    fn vector_files() {
        kept::run("vectors", 300, super::vectors);
    }

    #[test]
    fn imports() {
        kept::run("contexts", 300, super::contexts);
    }
}
