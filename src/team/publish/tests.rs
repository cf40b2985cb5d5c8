//! The plan against a collection in memory, with deaths and faults between any two effects.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::failure::Kind;

/// A collection: of each point its note, its number, the note's state, and its position among the note's points.
#[derive(Clone, Debug, Default)]
struct Model {
    points: BTreeSet<(String, u64, String, u32)>,
    revision: u64,
}

/// Points of every note.
const POINTS: u32 = 3;

impl Model {
    /// Carries an effect out; with `fault` up to some point of it, and then it fails.
    fn carry_out(&mut self, effect: &Effect, store: &BTreeMap<String, String>, fault: Option<usize>) -> Event {
        let failed = || Event::Failed(Failure::new(Kind::Unavailable, "it is down"));
        let event = match effect {
            Effect::Claim => Event::Claimed(self.revision),
            Effect::Clean(above) => {
                self.points.retain(|(_, revision, ..)| revision <= above);
                Event::Cleaned
            }
            Effect::List => {
                let first = self.points.iter().filter(|(.., position)| *position == 0);
                Event::Listed(
                    first.map(|(path, revision, state, _)| (path.clone(), *revision, state.clone())).collect(),
                )
            }
            Effect::Write(revision, paths) => {
                let known: BTreeMap<String, String> =
                    paths.iter().filter_map(|path| Some((path.clone(), store.get(path)?.clone()))).collect();
                let all = known.iter().flat_map(|(path, state)| {
                    (0..POINTS).map(|position| (path.clone(), *revision, state.clone(), position))
                });
                self.points.extend(all.take(fault.unwrap_or(usize::MAX)));
                Event::Written(known)
            }
            Effect::Raise(revision) => {
                assert!(*revision > self.revision, "numbers only grow");
                if fault.is_none_or(|at| at % 2 == 0) {
                    self.revision = *revision;
                }
                Event::Raised
            }
            Effect::Sweep(old) => {
                for (path, below) in old {
                    self.points.retain(|(of, revision, ..)| of != path || revision >= below);
                }
                Event::Swept
            }
            Effect::Rest => panic!("there is nothing to do"),
            Effect::Wait(..) => Event::Again,
        };
        if fault.is_some() && !matches!(effect, Effect::Wait(..)) { failed() } else { event }
    }

    /// What readers see: of each note the points of its highest visible number.
    fn seen(&self) -> BTreeMap<String, Vec<(String, u32)>> {
        let mut newest: BTreeMap<&str, u64> = BTreeMap::new();
        for (path, revision, ..) in self.points.iter().filter(|(_, revision, ..)| *revision <= self.revision) {
            let known = newest.entry(path).or_default();
            *known = (*known).max(*revision);
        }
        let mut seen: BTreeMap<String, Vec<(String, u32)>> = BTreeMap::new();
        for (path, revision, state, position) in &self.points {
            if newest.get(path.as_str()) == Some(revision) {
                seen.entry(path.clone()).or_default().push((state.clone(), *position));
            }
        }
        seen
    }

    fn assert_whole(&self) {
        for (path, points) in self.seen() {
            let states: BTreeSet<&String> = points.iter().map(|(state, _)| state).collect();
            assert_eq!((states.len(), points.len()), (1, POINTS as usize), "{path} is half there: {points:?}");
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    Save(u8, u8),
    Remove(u8),
    Work(u8),
    Fault(u8),
    Die,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (0..6_u8, 0..4_u8).prop_map(|(note, state)| Step::Save(note, state)),
        2 => (0..6_u8).prop_map(Step::Remove),
        6 => (1..8_u8).prop_map(Step::Work),
        2 => (0..12_u8).prop_map(Step::Fault),
        1 => Just(Step::Die),
    ];
    proptest::collection::vec(step, 0..60)
}

/// The keeper as an edge drives it.
struct Driven {
    plan: Publisher,
    next: Option<Effect>,
}

impl Driven {
    fn new(store: &BTreeMap<String, String>) -> Self {
        let mut plan = Publisher::default();
        assert_eq!(plan.on(Event::Wanted(store.clone())), None);
        let next = Some(Effect::Claim);
        Driven { plan, next }
    }

    fn tell(&mut self, store: &BTreeMap<String, String>) {
        let next = self.plan.on(Event::Wanted(store.clone()));
        self.next = self.next.take().filter(|effect| *effect != Effect::Rest).or(next);
        assert_planned(&self.plan, None);
    }

    /// Does one thing, if there is one.
    fn work(&mut self, model: &mut Model, store: &BTreeMap<String, String>, fault: Option<usize>) -> bool {
        let Some(effect) = self.next.take().filter(|effect| *effect != Effect::Rest) else { return false };
        let event = model.carry_out(&effect, store, fault);
        model.assert_whole();
        self.next = self.plan.on(event);
        assert_planned(&self.plan, self.next.as_ref());
        true
    }
}

/// What is kept of what differs is what all notes, looked through, say; and a revision has the first of them.
fn assert_planned(plan: &Publisher, next: Option<&Effect>) {
    let wanted = || plan.wanted.iter().flatten();
    let differs =
        |(path, state): &(&String, &String)| plan.there.get(*path) != Some(*state) && !plan.held.contains(*path);
    let to_write: Vec<&String> = wanted().filter(differs).map(|(path, _)| path).collect();
    let gone = |path: &&String| plan.wanted.as_ref().is_some_and(|wanted| !wanted.contains_key(*path));
    let to_remove: Vec<&String> = plan.there.keys().filter(gone).collect();
    assert_eq!(plan.to_write.iter().collect::<Vec<_>>(), to_write);
    assert_eq!(plan.to_remove.iter().collect::<Vec<_>>(), to_remove);
    assert_eq!(plan.left(), to_write.len() + to_remove.len());
    match next {
        Some(Effect::Write(revision, paths)) => {
            assert_eq!(*revision, plan.revision + 1);
            assert_eq!(paths.iter().collect::<Vec<_>>(), to_write.into_iter().take(NOTES).collect::<Vec<_>>());
        }
        Some(Effect::Rest) => assert_eq!((to_write.len(), to_remove.len()), (0, 0)),
        _ => {}
    }
}

proptest! {
    #[test]
    fn every_note_is_whole_at_any_time_and_all_is_there_in_the_end(steps in steps()) {
        let mut store = BTreeMap::new();
        let mut model = Model::default();
        let mut keeper = Driven::new(&store);
        for step in steps {
            match step {
                Step::Save(note, state) => {
                    store.insert(format!("n{note}"), format!("state {state}"));
                    keeper.tell(&store);
                }
                Step::Remove(note) => {
                    store.remove(&format!("n{note}"));
                    keeper.tell(&store);
                }
                Step::Work(times) => {
                    for _ in 0..times {
                        keeper.work(&mut model, &store, None);
                    }
                }
                Step::Fault(at) => {
                    keeper.work(&mut model, &store, Some(at.into()));
                }
                Step::Die => keeper = Driven::new(&store),
            }
        }
        keeper.tell(&store);
        let mut turns = 0;
        while keeper.work(&mut model, &store, None) {
            turns += 1;
            prop_assert!(turns < 200, "it does not come to rest");
        }
        let seen: BTreeMap<String, String> =
            model.seen().into_iter().map(|(path, points)| (path, points[0].0.clone())).collect();
        prop_assert_eq!(seen, store.clone());
        prop_assert_eq!(model.points.len(), store.len() * POINTS as usize, "something is left over");
        prop_assert_eq!((keeper.plan.left(), keeper.plan.notes()), (0, store.len()));
    }
}

/// Notes by number, each in a state of so many.
fn some_notes() -> impl Strategy<Value = BTreeMap<String, String>> {
    let note = (0..300_u16, 0..3_u8).prop_map(|(note, state)| (format!("n{note:03}"), format!("state {state}")));
    proptest::collection::btree_map(0..300_u16, note, 0..250).prop_map(|notes| notes.into_values().collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// More notes than a revision has; some of them cannot be read, and some are found amiss.
    #[test]
    fn the_plan_is_that_of_looking_through_all_notes(
        before in some_notes(), after in some_notes(), unreadable in some_notes(), amiss in some_notes(),
    ) {
        let mut plan = Publisher::default();
        plan.on(Event::Wanted(before.clone()));
        let mut effect = Some(Effect::Claim);
        let (mut model, mut store, mut told, mut turns) = (Model::default(), before, 0, 0);
        while let Some(now) = effect.take() {
            turns += 1;
            prop_assert!(turns < 200, "it does not come to rest");
            let event = match (now, told) {
                (Effect::Rest, 0) => {
                    store.clone_from(&after);
                    told = 1;
                    Event::Wanted(after.clone())
                }
                (Effect::Rest, 1) => {
                    told = 2;
                    Event::Amiss(amiss.keys().filter(|path| store.contains_key(*path)).cloned().collect())
                }
                (Effect::Rest, _) => break,
                (now, _) => match model.carry_out(&now, &store, None) {
                    Event::Written(mut written) => {
                        // What cannot be read is not written either.
                        let revision = model.revision + 1;
                        written.retain(|path, _| !unreadable.contains_key(path));
                        model.points.retain(|(path, at, ..)| *at < revision || !unreadable.contains_key(path));
                        Event::Written(written)
                    }
                    event => event,
                },
            };
            effect = plan.on(event);
            assert_planned(&plan, effect.as_ref());
        }
        prop_assert_eq!(told, 2);
    }
}

#[test]
fn nothing_is_taken_away_before_the_store_is_known() {
    let mut plan = Publisher::default();
    plan.on(Event::Claimed(7));
    plan.on(Event::Cleaned);
    assert_eq!(plan.on(Event::Listed(vec![("a".to_owned(), 3, "x".to_owned())])), Some(Effect::Rest));
    assert_eq!(plan.notes(), 1);
}

#[test]
fn what_cannot_pass_by_itself_is_tried_seldom() {
    let wait = |kind: Kind| match Publisher::default().on(Event::Failed(Failure::new(kind, "why"))) {
        Some(Effect::Wait(wait, _)) => wait,
        other => panic!("{other:?}"),
    };
    assert_eq!(wait(Kind::Unavailable), FIRST);
    assert_eq!(wait(Kind::Forbidden), LONGEST);
    let mut plan = Publisher::default();
    let waits: Vec<_> = (0..20).map(|_| plan.on(Event::Failed(Failure::new(Kind::Unavailable, "why")))).collect();
    assert!(matches!(waits.last(), Some(Some(Effect::Wait(LONGEST, _)))));
}

#[test]
fn after_a_failed_write_what_is_gone_is_taken_away_first() {
    let store = BTreeMap::from([("kept".to_owned(), "new".to_owned())]);
    let listed = ["kept", "gone"].map(|path| (path.to_owned(), 1, "old".to_owned())).to_vec();
    let mut plan = Publisher::default();
    plan.on(Event::Wanted(store));
    let listing = |plan: &mut Publisher| {
        plan.on(Event::Claimed(1));
        plan.on(Event::Cleaned);
        plan.on(Event::Listed(listed.clone())).unwrap()
    };
    // A note that has moved is there under its new path before it is gone under the old.
    assert_eq!(listing(&mut plan), Effect::Write(2, vec!["kept".to_owned()]));
    plan.on(Event::Failed(Failure::new(Kind::Unavailable, "the disk is full")));
    plan.on(Event::Again);
    assert_eq!(listing(&mut plan), Effect::Sweep(vec![("gone".to_owned(), 2)]));
    assert_eq!(plan.on(Event::Swept), Some(Effect::Write(2, vec!["kept".to_owned()])));
}
