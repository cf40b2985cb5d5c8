//! What survives a restart, a crash and damage, on real folders.

use std::path::Path;

use super::super::testing::{chunks, id, note};
use super::super::*;
use super::{finds, open, segment_files};

fn loaded(docs: Vec<ChunkDoc>) -> Vec<(ChunkEntry, Vec<WindowVector>)> {
    docs.into_iter().map(|doc| (doc.entry, doc.windows)).collect()
}

#[test]
fn a_restart_tells_what_is_current_and_shows_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let mut index = open(dir.path());
    for (no, texts) in
        [(1, &["one", "shared"][..]), (2, &["two shared"]), (3, &["three shared"]), (4, &["four"]), (5, &["five"])]
    {
        index.put(note(no, u64::from(no), &format!("{no}.md")), chunks(no, texts)).unwrap();
    }
    index.publish(5).unwrap();
    drop(index);

    let mut index = open(dir.path());
    assert_eq!(index.rebuilt(), None);
    assert!(index.load(note(1, 1, "1.md"), loaded(chunks(1, &["", ""]))));
    assert!(!index.load(note(2, 9, "2.md"), loaded(chunks(2, &[""]))), "another time");
    assert!(!index.load(note(3, 3, "3.md"), loaded(chunks(3, &["", ""]))), "a chunk is missing");
    assert!(!index.load(note(6, 6, "6.md"), loaded(chunks(6, &[""]))), "never written");
    assert!(index.load(note(8, 8, "8.md"), vec![]), "nothing to write");
    let ghosts = index.publish(9).unwrap();
    assert_eq!(finds(&ghosts, "shared one two four"), ["1:0", "1:1", "3:0"], "only documents of the right time");
    assert_eq!(ghosts.text(ghosts.row_of(id(1, 0)).unwrap()).unwrap().text, "one");
    assert!(ghosts.text(ghosts.row_of(id(2, 0)).unwrap()).is_err());

    index.put(note(2, 9, "2.md"), chunks(2, &["two again"])).unwrap();
    assert_eq!(index.drop_unknown().unwrap(), 3, "3, 4 and 5; not what was just put");
    let mended = index.publish(10).unwrap();
    assert_eq!(finds(&mended, "one two three four five"), ["1:0", "2:0"]);
    drop(index);

    let mut index = open(dir.path());
    assert!(index.load(note(2, 9, "2.md"), loaded(chunks(2, &[""]))));
    assert!(!index.load(note(3, 3, "3.md"), loaded(chunks(3, &[""]))));
}

#[test]
fn what_was_not_published_is_gone_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let mut index = open(dir.path());
    index.put(note(1, 1, "1.md"), chunks(1, &["old"])).unwrap();
    index.publish(1).unwrap();
    index.put(note(1, 2, "1.md"), chunks(1, &["new"])).unwrap();
    drop(index);
    assert!(!open(dir.path()).load(note(1, 2, "1.md"), loaded(chunks(1, &[""]))));
}

/// A process that dies between writing a commit's files and naming them leaves files behind whose names
/// later changes give again: they are numbered by the changes since the last commit.
#[test]
fn files_of_a_commit_that_was_cut_short_are_not_in_the_way() {
    for count in 1..=5 {
        let dir = tempfile::tempdir().unwrap();
        let state = dir.path().join("words/meta.json");
        let mut index = open(dir.path());
        for no in 1..=5 {
            index.put(note(no, u64::from(no), &format!("{no}.md")), chunks(no, &["before"])).unwrap();
        }
        index.publish(5).unwrap();
        let named = std::fs::read(&state).unwrap();
        let change = |index: &mut Index, count| {
            index.put(note(1, 6, "1.md"), chunks(1, &["behind"; 5][..count])).unwrap();
            assert_eq!(finds(&index.publish(6).unwrap(), "behind").len(), count);
        };
        change(&mut index, 1);
        drop(index);
        std::fs::write(&state, named).unwrap();

        let mut index = open(dir.path());
        assert_eq!(index.rebuilt(), None);
        for no in 1..=5 {
            index.load(note(no, u64::from(no), &format!("{no}.md")), loaded(chunks(no, &[""])));
        }
        change(&mut index, count);
    }
}

fn built(dir: &Path, sync: bool) {
    let mut index = open(dir);
    index.put(note(1, 1, "1.md"), chunks(1, &["one"])).unwrap();
    index.publish(1).unwrap();
    if sync {
        index.sync().unwrap();
    }
}

/// Whether the index of [`built`] survives what `damage` does to its folder.
fn survives(sync: bool, damage: impl Fn(&Path)) -> bool {
    let dir = tempfile::tempdir().unwrap();
    built(dir.path(), sync);
    damage(&dir.path().join("words"));
    let mut index = open(dir.path());
    let current = index.load(note(1, 1, "1.md"), loaded(chunks(1, &[""])));
    assert_eq!(current, index.rebuilt().is_none());
    index.put(note(1, 2, "1.md"), chunks(1, &["mended"])).unwrap();
    assert_eq!(finds(&index.publish(2).unwrap(), "mended"), ["1:0"]);
    current
}

#[test]
fn damage_and_doubt_start_an_empty_index() {
    let write =
        |name: &'static str, text: &'static str| move |words: &Path| std::fs::write(words.join(name), text).unwrap();
    assert!(survives(false, |_| {}), "the death of the process loses nothing");
    assert!(survives(true, write("boot", "another boot")), "synced before the machine stopped");
    assert!(!survives(false, write("boot", "another boot")), "not synced before the machine stopped");
    assert!(!survives(true, write("format", "situated words 0\n")));
    assert!(!survives(true, write("meta.json", "{")));
    assert!(!survives(true, write("meta.json", "")));
    assert!(!survives(true, |words| std::fs::remove_file(words.join("meta.json")).unwrap()));
    assert!(!survives(true, |words| std::fs::remove_file(&segment_files(words)[0]).unwrap()));
    assert!(!survives(true, |words| segment_files(words).iter().for_each(|f| std::fs::write(f, "").unwrap())));
    for at in 0..segment_files_of_one_note() {
        assert!(
            !survives(true, |words| {
                let mut files = segment_files(words);
                files.sort_by_key(|f| f.extension().map(ToOwned::to_owned));
                let mut bytes = std::fs::read(&files[at]).unwrap();
                let middle = bytes.len() / 4;
                bytes[middle] ^= 0xFF;
                std::fs::write(&files[at], bytes).unwrap();
            }),
            "file {at}"
        );
    }
}

fn segment_files_of_one_note() -> usize {
    let dir = tempfile::tempdir().unwrap();
    built(dir.path(), false);
    segment_files(&dir.path().join("words")).len()
}

/// Whoever published meanwhile would show a note that is found neither by its old words nor by its new ones.
#[cfg(unix)]
#[test]
fn a_note_whose_words_could_not_be_written_is_found_as_it_was_until_they_are() {
    let dir = tempfile::tempdir().unwrap();
    let (words, away) = (dir.path().join("words"), dir.path().join("away"));
    let mut index = open(dir.path());
    index.put(note(1, 1, "1.md"), chunks(1, &["old"])).unwrap();
    index.put(note(2, 2, "2.md"), chunks(2, &["other"])).unwrap();
    let before = index.publish(2).unwrap();

    std::fs::rename(&words, &away).unwrap();
    let put = index.put(note(1, 3, "1.md"), chunks(1, &["new"]));
    assert!(put.is_err() || index.publish(3).is_err());
    std::fs::rename(&away, &words).unwrap();
    assert_eq!(index.take_lost(), [1]);
    let error = index.publish(3).err().map_or_else(String::new, |error| error.to_string());
    assert!(error.contains("words of 1 notes are still to be written again"), "{error}");
    assert_eq!(finds(&before, "old other"), ["1:0", "2:0"]);

    index.put(note(1, 3, "1.md"), chunks(1, &["new"])).unwrap();
    assert_eq!(finds(&index.publish(4).unwrap(), "old new other"), ["1:0", "2:0"]);
}

/// A note that is gone lacks nothing.
#[cfg(unix)]
#[test]
fn words_that_were_lost_with_their_note_keep_nothing_back() {
    let dir = tempfile::tempdir().unwrap();
    let (words, away) = (dir.path().join("words"), dir.path().join("away"));
    let mut index = open(dir.path());
    index.put(note(1, 1, "1.md"), chunks(1, &["old"])).unwrap();
    index.publish(1).unwrap();
    std::fs::rename(&words, &away).unwrap();
    let put = index.put(note(1, 2, "1.md"), chunks(1, &["new"]));
    assert!(put.is_err() || index.publish(2).is_err());
    std::fs::rename(&away, &words).unwrap();
    index.remove(1).unwrap();
    assert_eq!(finds(&index.publish(3).unwrap(), "old new"), Vec::<String>::new());
}
