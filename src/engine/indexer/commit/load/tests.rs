use context::settings::{ContextConfig, Provider};
use index::{Index, NoteEntry};
use note::{FileStat, VaultPath};

use crate::EngineError;
use crate::decide::{Outcome, Task, read_note};
use crate::indexer::Indexer;
use crate::indexer::commit::open_index;
use crate::now_s;
use crate::testing::{Bench, file_system, path};

/// A vault of three notes that are indexed.
fn bench() -> Bench {
    let mut bench = Bench::new(|settings| {
        settings.context = ContextConfig { provider: Provider::Template, ..ContextConfig::default() };
    });
    let decided = ["a.md", "b.md", "c.md"].map(|name| {
        bench.write(name, &format!("# About {name}\n\nA text of {name}.\n\n## More\n\nAnd more.\n"));
        let (pipeline, task) = (bench.pipeline(), Task::again(path(name)));
        let Ok(read) = read_note(&*file_system(), &pipeline, &task) else { panic!("{name} cannot be read") };
        let Outcome::Decided(decided) = pipeline.look(&task, read, now_s()) else { panic!("{name} is new") };
        (path(name), *decided)
    });
    let commit = &mut bench.indexer.notes.commit;
    commit.apply(decided.into(), machine::now(), false).unwrap();
    commit.publish().unwrap();
    bench
}

/// What an index says of its notes, and how many vectors each of them has.
fn said(bench: &Bench) -> Vec<String> {
    let snapshot = bench.vault.snapshot().unwrap();
    let vectors = |note: &NoteEntry| note.rows.iter().map(|row| snapshot.vector_count(row)).collect::<Vec<_>>();
    snapshot.notes().map(|note| format!("{note:?} {:?}", vectors(note))).collect()
}

/// Loads the index again as a start does, and returns what answered while the store was read: how many notes, if
/// anything did. Also returns what has to be decided again.
fn load(bench: &mut Bench) -> (Vec<VaultPath>, Vec<Option<usize>>) {
    load_within(bench, u64::MAX)
}

/// The same with room for so many bytes at once.
fn load_within(bench: &mut Bench, most: u64) -> (Vec<VaultPath>, Vec<Option<usize>>) {
    let Indexer { notes, .. } = &mut bench.indexer;
    let dir = notes.actor.place.dir.join("lexical");
    bench.vault.withdraw();
    let pipeline = notes.commit.pipeline.clone();
    let dimensions = pipeline.service.embedder.dimensions();
    // The old one has to go before the new one opens the same files.
    drop(std::mem::replace(&mut notes.commit.index, Index::open(&dir.join("none"), dimensions).unwrap()));
    let room = |bytes| if bytes > most { Err(EngineError::NoRoom(most)) } else { Ok(()) };
    notes.commit.index = open_index(&dir, dimensions, None, &room).unwrap();
    notes.commit.index.set_matrix(pipeline.vectors.clone());
    let vault = bench.vault.clone();
    let mut answered = Vec::new();
    let again = notes.commit.load(&room, &mut |_| {
        answered.push(vault.snapshot().map(|snapshot| snapshot.note_count()));
    });
    (again.unwrap(), answered)
}

#[test]
fn saved_tables_answer_while_the_store_is_read() {
    let mut bench = bench();
    let before = said(&bench);
    assert_eq!(load(&mut bench), (vec![], vec![None; 3]), "nothing is saved yet");
    assert_eq!(said(&bench), before);
    bench.indexer.flush();
    assert_eq!(load(&mut bench), (vec![], vec![Some(3); 3]));
    assert_eq!(said(&bench), before);
    assert_eq!(load(&mut bench), (vec![], vec![None; 3]), "the file served one start");
    bench.indexer.flush();
    assert_eq!(load_within(&mut bench, 1000), (vec![], vec![None; 3]), "they take more memory than there is");
    assert_eq!(said(&bench), before);
}

#[test]
fn what_the_store_has_otherwise_is_loaded_from_it() {
    let mut bench = bench();
    let before = said(&bench);
    let ghost = NoteEntry::new(77, 77, path("ghost.md"));
    bench.indexer.notes.commit.index.put(ghost, Vec::new()).unwrap();
    bench.indexer.flush();
    let stat = FileStat { size: 7, ..FileStat::default() };
    // Changes no sequence number.
    bench.pipeline().store.touch(&path("b.md"), stat).unwrap();
    assert_eq!(load(&mut bench), (vec![], vec![Some(4); 3]));
    let snapshot = bench.vault.snapshot().unwrap();
    assert_eq!(snapshot.note_at(&path("b.md")).unwrap().stat, stat);
    assert!(snapshot.note_at(&path("ghost.md")).is_none());
    assert_eq!((said(&bench).len(), said(&bench)[0].clone()), (3, before[0].clone()));
}

#[test]
fn tables_of_another_state_do_not_answer() {
    let mut bench = bench();
    bench.indexer.flush();
    // A decision that the index does not know.
    bench.save("a.md", "# Another text\n");
    let (again, answered) = load(&mut bench);
    assert_eq!((again, answered), (vec![path("a.md")], vec![None; 3]), "its words are of before");
    let seq = bench.pipeline().store.note(&path("a.md")).unwrap().unwrap().seq;
    assert_eq!(bench.vault.snapshot().unwrap().note_at(&path("a.md")).unwrap().seq, seq);
}

#[test]
fn a_vault_that_nobody_has_looked_at_says_so_before_it_answers() {
    let mut bench = Bench::new(|_| {});
    let said = |bench: &Bench| bench.vault.incomplete().is_some_and(|why| why.contains("for the first time"));
    bench.vault.set_incomplete(None);
    load(&mut bench);
    assert!(said(&bench));
    let mut bench = self::bench();
    bench.vault.set_incomplete(None);
    load(&mut bench);
    assert!(!said(&bench), "what is stored answers already");
}
