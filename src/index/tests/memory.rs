//! What saves leave behind in memory: nothing of what they replace. (What a daemon takes and gives back is
//! `cargo bench --bench campaign -- load`'s.)

use std::sync::Weak;

use super::*;

#[test]
fn two_hundred_saves_keep_one_snapshot_and_no_more_rows_than_two() {
    let dir = tempfile::tempdir().unwrap();
    let mut index = open(dir.path());
    for no in 1..=20 {
        index.put(note(no, 1, &format!("{no}.md")), chunks(no, &["the same words", "and others"])).unwrap();
    }
    let mut snapshots = vec![Arc::downgrade(&index.publish(1).unwrap())];
    let mut rows = Vec::new();
    // A note that is now long, now short.
    for seq in 2..=201 {
        let texts = ["one", "two", "three", "four"];
        let texts = if seq % 2 == 0 { &texts[..] } else { &texts[..1] };
        index.put(note(7, seq, "7.md"), chunks(7, texts)).unwrap();
        let snapshot = index.publish(seq).unwrap();
        // As searches do.
        assert_eq!(finds(&snapshot, "one"), ["7:0"]);
        rows.push(snapshot.rows());
        snapshots.push(Arc::downgrade(&snapshot));
    }
    let alive = snapshots.iter().filter(|snapshot| snapshot.strong_count() > 0).count();
    assert!(alive <= 1, "{alive} snapshots of {} are in memory", snapshots.len());
    assert_eq!(snapshots.last().and_then(Weak::upgrade).map(|snapshot| snapshot.seq()), (alive == 1).then_some(201));
    assert_eq!(rows.last().max(rows.get(198)), rows[..2].iter().max(), "rows of chunks that are gone are used again");
}
