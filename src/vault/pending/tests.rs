//! Tables of when a batch is due, and properties of what is in it.

use super::*;
use proptest::prelude::*;

const TIMING: Timing = Timing {
    lone: Duration::from_millis(50),
    saved: Duration::from_millis(5),
    burst: Duration::from_millis(300),
    storm: Duration::from_secs(2),
    burst_longest: Duration::from_secs(2),
    storm_longest: Duration::from_secs(30),
    storm_paths: 10,
};

fn path(text: &str) -> Hint {
    Hint::Path(VaultPath::parse(text).unwrap())
}

fn saved(text: &str) -> Hint {
    Hint::Saved(VaultPath::parse(text).unwrap())
}

fn folder(text: &str) -> Hint {
    Hint::Folder(VaultPath::parse(text).unwrap())
}

fn set(texts: &[&str]) -> BTreeSet<VaultPath> {
    texts.iter().map(|text| VaultPath::parse(text).unwrap()).collect()
}

fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

#[test]
fn when_a_batch_is_due() {
    let many = |count: usize| (0..count).map(|i| (i as u64, path(&format!("{i}.md")))).collect::<Vec<_>>();
    let every = |step: u64, count: u64| (0..count).map(|i| (i * step, path("a.md"))).collect::<Vec<_>>();
    // Hints with the milliseconds of their coming, whether git holds its lock, when the batch is due.
    type Case = (&'static str, Vec<(u64, Hint)>, bool, Option<u64>);
    let cases: Vec<Case> = vec![
        ("nothing", vec![], false, None),
        ("one save", vec![(0, path("a.md"))], false, Some(50)),
        (
            "one save in four writes",
            vec![0, 5, 20, 40].into_iter().map(|t| (t, path("a.md"))).collect(),
            false,
            Some(90),
        ),
        ("one save, and closed", vec![(0, path("a.md")), (2, saved("a.md"))], false, Some(7)),
        ("closed, and written to again", vec![(0, saved("a.md")), (2, path("a.md"))], false, Some(52)),
        ("two notes, closed", vec![(0, saved("a.md")), (3, saved("b.md"))], false, Some(303)),
        ("closed behind the lock", vec![(0, saved("a.md"))], true, Some(2000)),
        ("closed beside a folder", vec![(0, folder("a")), (3, saved("b.md"))], false, Some(303)),
        ("two notes", vec![(0, path("a.md")), (10, path("b.md"))], false, Some(310)),
        ("a new folder", vec![(0, folder("a"))], false, Some(300)),
        ("a file that never rests", every(40, 100), false, Some(2000)),
        ("a storm", many(11), false, Some(2010)),
        ("just no storm", many(10), false, Some(309)),
        ("a storm that never rests", (0..300).map(|i| (i * 200, path(&format!("{i}")))).collect(), false, Some(30_000)),
        ("one save behind the lock", vec![(0, path("a.md"))], true, Some(2000)),
        ("saves behind the lock for long", every(1000, 60), true, Some(30_000)),
        ("a user asks", vec![(7, Hint::Rescan(RescanReason::Asked))], true, Some(7)),
        ("a user asks in a storm", [many(11), vec![(20, Hint::Rescan(RescanReason::Asked))]].concat(), false, Some(0)),
        ("another root", vec![(0, Hint::Rescan(RescanReason::RootChanged))], false, Some(0)),
        (
            "lost events in a storm",
            [many(11), vec![(20, Hint::Rescan(RescanReason::Overflow))]].concat(),
            false,
            Some(2020),
        ),
        ("lost events", vec![(0, Hint::Rescan(RescanReason::Overflow)), (9, path("a.md"))], false, Some(309)),
    ];
    let start = Instant::now();
    for (name, hints, locked, due) in cases {
        let mut pending = Pending::new(TIMING);
        for (at, hint) in hints {
            pending.hint(start + ms(at), hint);
        }
        assert_eq!(pending.deadline(locked), due.map(|at| start + ms(at)), "{name}");
        if let Some(due) = due.filter(|due| *due > 0) {
            assert_eq!(pending.take(start + ms(due - 1), locked), None, "{name}: too early");
            assert!(pending.take(start + ms(due), locked).is_some(), "{name}");
        }
    }
}

#[test]
fn what_is_in_a_batch() {
    let paths = |paths: &[&str], folders: &[&str]| Batch::Paths { paths: set(paths), folders: set(folders) };
    let rescan = Hint::Rescan;
    use RescanReason as R;
    let cases = [
        (vec![path("b.md"), path("a.md"), path("b.md")], paths(&["a.md", "b.md"], &[])),
        (vec![folder("a/b"), folder("a"), folder("a b"), folder("c/d")], paths(&[], &["a", "a b", "c/d"])),
        // A path is looked at even where its folder is walked: a walk trusts what `stat` says.
        (vec![folder("a"), path("a/x.md")], paths(&["a/x.md"], &["a"])),
        (vec![path("a.md"), rescan(R::Interval)], Batch::Walk(R::Interval)),
        (vec![rescan(R::Interval), path("a.md")], Batch::Walk(R::Interval)),
        (vec![rescan(R::Asked), rescan(R::RootChanged), rescan(R::Poll)], Batch::Walk(R::RootChanged)),
        ((0..11).map(|i| path(&format!("{i}"))).collect(), Batch::Walk(R::Storm)),
        ((0..11).map(|i| path(&format!("{i}"))).chain([rescan(R::Overflow)]).collect(), Batch::Walk(R::Overflow)),
    ];
    let now = Instant::now();
    for (hints, batch) in cases {
        let mut pending = Pending::new(TIMING);
        for hint in &hints {
            pending.hint(now, hint.clone());
        }
        assert!(!pending.is_empty(), "{hints:?}");
        let distinct: BTreeSet<String> = hints.iter().map(|hint| format!("{hint:?}")).collect();
        let walk = matches!(batch, Batch::Walk(_));
        assert_eq!(pending.len(), if walk { 1 } else { distinct.len() }, "{hints:?}");
        assert_eq!(pending.take(now + ms(30_000), false), Some(batch), "{hints:?}");
        assert_eq!((pending.len(), pending.deadline(false), pending.is_empty()), (0, None, true), "{hints:?}");
    }
}

#[test]
fn the_lock_delays_paths_and_does_not_make_a_walk_of_them() {
    let now = Instant::now();
    let mut pending = Pending::new(TIMING);
    pending.hint(now, Hint::Path(VaultPath::parse("a.md").unwrap()));
    assert_eq!(pending.take(now + ms(1999), true), None);
    let taken = pending.take(now + ms(2000), true);
    assert_eq!(taken, Some(Batch::Paths { paths: set(&["a.md"]), folders: set(&[]) }));
}

#[test]
fn absurd_timings_do_not_overflow_the_clock() {
    let timing = Timing { lone: Duration::MAX, burst_longest: Duration::MAX, ..TIMING };
    let now = Instant::now();
    let mut pending = Pending::new(timing);
    pending.hint(now, path("a.md"));
    assert!(pending.deadline(false).is_some());
}

fn hints() -> impl Strategy<Value = Vec<(u64, Hint)>> {
    use RescanReason as R;
    let text = "[a-d]{1,2}(/[a-d]{1,2}){0,2}";
    let reasons =
        [R::Start, R::Overflow, R::WatchLost, R::Resume, R::Interval, R::Asked, R::RootChanged, R::Doubt, R::Poll];
    let hint = prop_oneof![
        12 => text.prop_map(|text| path(&text)),
        4 => text.prop_map(|text| folder(&text)),
        1 => proptest::sample::select(reasons.to_vec()).prop_map(Hint::Rescan),
    ];
    proptest::collection::vec((0..5000u64, hint), 0..40)
}

/// Gives the hints at their instants, and takes a batch as soon as one is due.
fn run(start: Instant, hints: &[(u64, Hint)], locked: bool) -> Vec<(Instant, Batch)> {
    let mut pending = Pending::new(TIMING);
    let mut taken = Vec::new();
    for at in 0..40_000 {
        let now = start + ms(at);
        // What is due is taken before a hint of the same instant comes.
        taken.extend(pending.take(now, locked).map(|batch| (now, batch)));
        hints.iter().filter(|(t, _)| *t == at).for_each(|(_, hint)| pending.hint(now, hint.clone()));
        if at > 5000 && pending.is_empty() {
            break;
        }
    }
    assert!(pending.is_empty(), "something is never answered");
    taken
}

fn answers(batch: &Batch, hint: &Hint) -> bool {
    match (batch, hint) {
        (Batch::Walk(_), _) => true,
        (Batch::Paths { paths, .. }, Hint::Path(path) | Hint::Saved(path)) => paths.contains(path),
        (Batch::Paths { folders, .. }, Hint::Folder(folder)) => folders.iter().any(|above| folder.is_under(above)),
        (Batch::Paths { .. }, Hint::Rescan(_)) => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_order_of_hints_is_irrelevant(
        (ordered, shuffled) in hints().prop_flat_map(|hints| (Just(hints.clone()), Just(hints).prop_shuffle())),
        locked: bool,
    ) {
        let start = Instant::now();
        let mut one = Pending::new(TIMING);
        let mut other = Pending::new(TIMING);
        for (at, hint) in &ordered {
            one.hint(start + ms(*at), hint.clone());
        }
        for (at, hint) in &shuffled {
            other.hint(start + ms(*at), hint.clone());
        }
        prop_assert_eq!(one.deadline(locked), other.deadline(locked));
        prop_assert_eq!(one.take(start + ms(60_000), locked), other.take(start + ms(60_000), locked));
    }

    #[test]
    fn every_hint_is_answered_within_its_bound(hints in hints(), locked: bool) {
        let start = Instant::now();
        let taken = run(start, &hints, locked);
        for (at, hint) in &hints {
            let came = start + ms(*at);
            let answer = taken.iter().find(|(when, batch)| *when > came && answers(batch, hint));
            let Some((when, batch)) = answer else { return Err(TestCaseError::fail(format!("{hint:?} is lost"))) };
            let no_storm = matches!(batch, Batch::Paths { .. }) || hints.len() <= TIMING.storm_paths;
            let calm = !locked && no_storm;
            let bound = if calm { TIMING.burst_longest } else { TIMING.storm_longest };
            // One tick of the loop above, for a hint of the very instant of a batch.
            prop_assert!(*when <= came + bound + ms(1), "{hint:?} waited {:?}", *when - came);
        }
    }
}
