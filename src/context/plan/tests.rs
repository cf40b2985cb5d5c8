//! Properties of the decision, over notes made of sections with a chunker small enough to see through.

use proptest::prelude::*;

use super::*;
use note::fingerprint::{chunk_id, section_key, structure_hash, text_hash};

/// A section: which heading (`None` before the first one) and how its body reads.
#[derive(Clone, Debug, PartialEq)]
struct Section {
    heading: Option<u8>,
    body: Vec<u8>,
}

type Draft = Vec<Section>;

struct Cut {
    keys: Vec<SectionKey>,
    ordinal: u32,
    heading: Option<u8>,
    text: String,
}

/// Merges sections of under four words into the chunk before, splits those of over eight.
fn cut(draft: &Draft) -> Vec<Cut> {
    let mut seen: HashMap<Option<u8>, u32> = HashMap::new();
    let mut chunks: Vec<Cut> = Vec::new();
    for section in draft {
        let ordinal = seen.entry(section.heading).or_default();
        let key = section_key(section.heading.map(|h| (1, HEADINGS[h as usize])), *ordinal);
        *ordinal += 1;
        let words: Vec<String> = section.body.iter().map(|w| format!("w{w}")).collect();
        let open = chunks.last_mut().filter(|c| c.text.split(' ').count() < 4 && words.len() < 4);
        if let Some(open) = open {
            open.keys.push(key);
            open.text = format!("{} # {}", open.text, words.join(" "));
            continue;
        }
        for (ordinal, part) in
            words.chunks(8).map(|w| w.join(" ")).chain(words.is_empty().then(String::new)).enumerate()
        {
            chunks.push(Cut { keys: vec![key], ordinal: ordinal as u32, heading: section.heading, text: part });
        }
    }
    chunks
}

/// Whether the index stays as it is.
fn is_keep(plan: &Plan) -> bool {
    plan.steps.iter().all(|step| step.action == Action::Keep)
}

const HEADINGS: [&str; 6] = ["Goals", "Plan", "Notes", "Risks", "Links", "Log"];

fn current<'a>(path: &str, draft: &Draft, cuts: &'a [Cut]) -> CurrentNote<'a> {
    let chunk = |c: &'a Cut| CurrentChunk {
        id: chunk_id(path, c.keys[0], c.ordinal),
        keys: c.keys.clone(),
        ordinal: c.ordinal,
        heading_path: c.heading.map(|heading| HEADINGS[heading as usize]).into_iter().collect(),
        hash: text_hash(c.text.as_bytes()),
        text: c.text.as_str().into(),
        template_hash: text_hash(path.as_bytes()),
        has_words: !c.text.is_empty(),
    };
    CurrentNote {
        path: VaultPath::parse(path).unwrap(),
        hash: text_hash(format!("{draft:?}").as_bytes()),
        structure: structure_hash(draft.iter().filter_map(|s| Some((1, HEADINGS[s.heading? as usize])))),
        chunks: cuts.iter().map(chunk).collect(),
    }
}

fn generation(costs: bool) -> Generation {
    Generation {
        contextualizer: if costs { "model/1" } else { "template/1" }.into(),
        costs,
        embedder: "e1".into(),
        chunker: "c1".into(),
        llm_min_chunks: 0,
    }
}

type Archive = HashMap<ContextKey, Archived>;

/// What the engine does with a plan, as far as later plans can see.
fn apply(
    stored: Option<&StoredNote>,
    now: &CurrentNote<'_>,
    plan: &Plan,
    by: &Generation,
    archive: &mut Archive,
) -> StoredNote {
    let mut chunks = Vec::new();
    for step in plan.steps.iter().filter(|s| s.action != Action::Remove) {
        let chunk = &now.chunks[step.chunk];
        let fresh = StoredChunk {
            id: chunk.id,
            keys: chunk.keys.clone(),
            ordinal: chunk.ordinal,
            heading_path: chunk.heading_path.iter().map(|heading| (*heading).to_owned()).collect(),
            hash: chunk.hash,
            context_hash: if by.costs && chunk.has_words { text_hash(b"paid") } else { chunk.template_hash },
            paid: by.costs && chunk.has_words,
            wanted: chunk.has_words,
            contextualizer: by.contextualizer.clone(),
            sketch: if by.costs { Sketch::of(&chunk.text) } else { Sketch::default() },
            due: None,
            later: step.later,
        };
        chunks.push(match (step.context, stored) {
            (ContextSource::Stored(i), Some(stored)) => {
                let old = &stored.chunks[i];
                let context_hash = if old.paid { old.context_hash } else { chunk.template_hash };
                let (paid, wanted, sketch) = (old.paid, old.wanted, old.sketch.clone());
                StoredChunk { context_hash, paid, wanted, sketch, contextualizer: old.contextualizer.clone(), ..fresh }
            }
            (ContextSource::Archive(key), _) => {
                let found = archive[&key].clone();
                StoredChunk { paid: true, contextualizer: found.contextualizer, sketch: found.sketch, ..fresh }
            }
            _ => fresh,
        });
    }
    for old in stored.into_iter().flat_map(|s| &s.chunks).filter(|old| old.paid) {
        let (contextualizer, sketch) = (old.contextualizer.clone(), old.sketch.clone());
        let archived = Archived { contextualizer, sketch, written_at: 0 };
        archive.insert(context_key(&old.keys, old.hash), archived);
    }
    StoredNote {
        path: now.path.clone(),
        hash: now.hash,
        structure: now.structure,
        embedder: by.embedder.clone(),
        chunker: by.chunker.clone(),
        chunks,
    }
}

/// Saves one draft after another; returns the plans.
fn history(drafts: &[(&str, &Draft)], by: &Generation) -> Vec<Plan> {
    let (mut stored, mut archive) = (None, Archive::new());
    let mut plans = Vec::new();
    for (path, draft) in drafts {
        let cuts = cut(draft);
        let now = current(path, draft, &cuts);
        let plan = plan(stored.as_ref(), Some(&now), by, Trigger::Save, &|key| archive.get(&key).cloned());
        stored = Some(apply(stored.as_ref(), &now, &plan, by, &mut archive));
        plans.push(plan);
    }
    plans
}

fn drafts() -> impl Strategy<Value = Draft> {
    let body = || proptest::collection::vec(0..40_u8, 0..20);
    let section = (0..6_u8, body()).prop_map(|(h, body)| Section { heading: Some(h), body });
    let lead = proptest::option::of(proptest::collection::vec(0..40_u8, 1..10));
    (lead, proptest::collection::vec(section, 1..7)).prop_map(|(lead, sections)| {
        lead.map(|body| Section { heading: None, body }).into_iter().chain(sections).collect()
    })
}

/// A draft and the same headings with other bodies.
fn body_edit() -> impl Strategy<Value = (Draft, Draft)> {
    drafts().prop_flat_map(|draft| {
        let bodies = draft.iter().map(|_| proptest::collection::vec(0..40_u8, 0..20)).collect::<Vec<_>>();
        (Just(draft), bodies).prop_map(|(draft, bodies)| {
            let edited = draft.iter().zip(bodies).map(|(s, body)| Section { heading: s.heading, body }).collect();
            (draft, edited)
        })
    })
}

/// The chunk at its place was written about another text, the one that goes was written about this one: waiting for the
/// archive to have it would buy or embed twice.
#[test]
fn a_section_that_shrinks_to_its_last_chunk_takes_the_context_of_that_at_once() {
    let long = vec![Section { heading: Some(2), body: [vec![0; 16], vec![29; 4]].concat() }];
    let last = vec![Section { heading: Some(2), body: vec![29; 4] }];
    let plans = history(&[("n.md", &long), ("n.md", &last), ("n.md", &last)], &generation(true));
    let step = plans[1].steps[0];
    assert_eq!((step.reason, step.context, step.later), (Reason::FoundInArchive, ContextSource::Stored(2), None));
    assert!(is_keep(&plans[2]), "{:?}", plans[2]);
}

/// A later version of the program may take other headings from the same text, as Org's without `TODO`.
#[test]
fn a_text_that_is_read_otherwise_keeps_its_contexts() {
    let section = |heading, body: u8| Section { heading: Some(heading), body: vec![body; 6] };
    let draft = vec![section(0, 1), section(1, 2), section(2, 3)];
    let other = vec![section(3, 1), section(1, 2), section(4, 3), Section { heading: Some(5), body: vec![4; 6] }];
    let (before, after) = (generation(true), Generation { chunker: "c2".into(), ..generation(true) });
    let (old_cuts, cuts) = (cut(&draft), cut(&other));
    let old = current("n.org", &draft, &old_cuts);
    let first = plan(None, Some(&old), &before, Trigger::Save, &|_| None);
    let stored = apply(None, &old, &first, &before, &mut Archive::new());
    let with = |path: &str, hash: TextHash| CurrentNote { hash, ..current(path, &other, &cuts) };
    let planned = |now: &CurrentNote<'_>, by| {
        let stored = StoredNote { path: now.path.clone(), ..stored.clone() };
        plan(Some(&stored), Some(now), by, Trigger::Save, &|_| None)
    };

    let again = planned(&with("n.org", old.hash), &after);
    let steps: Vec<_> = again.steps.iter().take(cuts.len()).map(|step| (step.context, step.due)).collect();
    assert_eq!(steps, [0, 1, 2, 2].map(|from| (ContextSource::Stored(from), None)), "{again:?}");
    let converted = planned(&with("n.epub", text_hash(b"converted anew")), &after);
    assert_eq!(converted.count(Action::Regenerate), 0, "{converted:?}");
    // Whoever changes the text has changed its headings.
    for (now, by) in [(with("n.org", text_hash(b"edited")), &after), (with("n.epub", text_hash(b"edited")), &before)] {
        assert_eq!(planned(&now, by).count(Action::Regenerate), 3);
    }
}

proptest! {
    #[test]
    fn planning_again_after_applying_only_keeps(a in drafts(), b in drafts(), costs: bool) {
        let plans = history(&[("n.md", &a), ("n.md", &b), ("n.md", &b)], &generation(costs));
        prop_assert!(is_keep(&plans[2]), "{:?}", plans[2]);
        prop_assert_eq!(plans[2].reason, Reason::Unchanged);
    }

    #[test]
    fn a_body_edit_never_regenerates((a, b) in body_edit(), costs: bool) {
        let plans = history(&[("n.md", &a), ("n.md", &b)], &generation(costs));
        prop_assert_eq!(plans[1].count(Action::Regenerate), 0, "{:?}", plans[1]);
    }

    #[test]
    fn undo_buys_nothing(a in drafts(), b in drafts()) {
        let plans = history(&[("n.md", &a), ("n.md", &b), ("n.md", &a)], &generation(true));
        let cuts = cut(&a);
        let bought = |s: &&Step| s.action == Action::Regenerate && !cuts[s.chunk].text.is_empty();
        prop_assert_eq!(plans[2].steps.iter().filter(bought).count(), 0, "{:?}", plans[2]);
    }

    #[test]
    fn a_move_buys_nothing_and_a_free_context_is_made_anew(a in drafts(), costs: bool) {
        let plans = history(&[("n.md", &a), ("folder/m.md", &a)], &generation(costs));
        prop_assert_eq!(plans[1].count(Action::Regenerate), 0);
        prop_assert_eq!(plans[1].reason, Reason::NoteMoved);
        prop_assert!(plans[1].steps.iter().all(|s| s.reason == Reason::NoteMoved), "{:?}", plans[1]);
    }

    #[test]
    fn a_renamed_heading_regenerates_only_chunks_that_hold_it(a in drafts(), at in any::<prop::sample::Index>()) {
        // A name that no other section has, so that no ordinals shift.
        let mut b = a.clone();
        let renamed = at.index(b.len());
        prop_assume!(b[renamed].heading.is_some());
        prop_assume!(b.iter().filter(|s| s.heading == b[renamed].heading).count() == 1);
        let free = (0..6).find(|h| a.iter().all(|s| s.heading != Some(*h)));
        prop_assume!(free.is_some());
        b[renamed].heading = free;
        let cuts = cut(&b);
        let new_key = section_key([(1, HEADINGS[free.unwrap() as usize])], 0);
        let plans = history(&[("n.md", &a), ("n.md", &b)], &generation(true));
        for step in plans[1].steps.iter().filter(|s| s.action != Action::Remove) {
            prop_assert_eq!(step.action == Action::Regenerate, cuts[step.chunk].keys.contains(&new_key), "{:?}", step);
        }
    }

    #[test]
    fn every_current_chunk_has_one_step_and_every_lost_place_a_removal(a in drafts(), b in drafts()) {
        let plans = history(&[("n.md", &a), ("n.md", &b)], &generation(true));
        let chunks: Vec<usize> = plans[1].steps.iter().filter(|s| s.action != Action::Remove).map(|s| s.chunk).collect();
        prop_assert_eq!(chunks, (0..cut(&b).len()).collect::<Vec<_>>());
    }

    #[test]
    fn moves_do_not_depend_on_order(
        gone in proptest::collection::vec((0..4_u8, 0..6_u64), 0..6),
        new in proptest::collection::vec((0..4_u8, 0..6_u64), 0..6),
    ) {
        let known = |(text, ino): (u8, u64)| NoteTraits {
            hash: text_hash(&[text]),
            stat: note::FileStat { ino, ..Default::default() },
        };
        let path = |kind: &str, i: usize| VaultPath::parse(&format!("{kind}/{i}.md")).unwrap();
        let mut gone: Vec<MissingNote> = gone.into_iter().enumerate().map(|(i, k)| MissingNote { path: path("old", i), known: known(k) }).collect();
        let mut new: Vec<_> = new.into_iter().enumerate().map(|(i, k)| NewNote { path: path("new", i), known: known(k), born_ns: None }).collect();
        let forwards = match_moves(&gone, &new);
        gone.reverse();
        new.reverse();
        let backwards = match_moves(&gone, &new);
        // Two gone notes with one inode number cannot be: hard links are told apart by their text only.
        let inodes: HashSet<u64> = gone.iter().map(|g| g.known.stat.ino).collect();
        prop_assume!(inodes.len() == gone.len());
        prop_assert_eq!(&forwards, &backwards);
        let givers: HashSet<_> = forwards.values().collect();
        prop_assert_eq!(givers.len(), forwards.len());
    }
}

#[test]
fn files_whose_inode_nobody_tells_are_known_by_their_text_alone() {
    let traits = |text: u8| NoteTraits { hash: text_hash(&[text]), stat: note::FileStat::default() };
    let path = |name: &str| VaultPath::parse(name).unwrap();
    let gone = [MissingNote { path: path("old.md"), known: traits(1) }];
    let [new, other] = [("new.md", 1), ("other.md", 2)].map(|(name, text)| NewNote {
        path: path(name),
        known: traits(text),
        born_ns: None,
    });
    assert!(match_moves(&gone, std::slice::from_ref(&other)).is_empty());
    let moved = match_moves(&gone, &[other, new]);
    assert_eq!(moved.into_iter().collect::<Vec<_>>(), [(path("new.md"), path("old.md"))]);
}

#[test]
fn a_file_that_was_given_the_inode_of_a_deleted_one_is_another_note() {
    let path = |name: &str| VaultPath::parse(name).unwrap();
    let traits = |text: u8, ctime_ns| NoteTraits {
        hash: text_hash(&[text]),
        stat: note::FileStat { ino: 7, ctime_ns, ..Default::default() },
    };
    let gone = [MissingNote { path: path("old.md"), known: traits(1, 100) }];
    let is_moved = |text, born_ns| {
        let new = NewNote { path: path("new.md"), known: traits(text, 200), born_ns };
        !match_moves(&gone, &[new]).is_empty()
    };
    assert!(is_moved(2, Some(50)), "renamed and written anew in place");
    assert!(is_moved(2, Some(100)), "looked at in the moment in which it was made");
    assert!(!is_moved(2, Some(150)));
    assert!(is_moved(1, Some(150)), "the same text, as by a copy");
    assert!(is_moved(2, None), "the file system does not say it");
}

#[test]
fn nothing_is_bought_on_a_save_when_the_model_changes() {
    let draft = vec![Section { heading: Some(0), body: vec![1, 2, 3, 4, 5] }];
    let cuts = cut(&draft);
    let now = current("n.md", &draft, &cuts);
    let first = plan(None, Some(&now), &generation(true), Trigger::Save, &|_| None);
    let stored = apply(None, &now, &first, &generation(true), &mut Archive::new());
    let other = Generation { contextualizer: "model/2".into(), ..generation(true) };
    let saved = plan(Some(&stored), Some(&now), &other, Trigger::Save, &|_| None);
    assert!(is_keep(&saved));
    assert_eq!(saved.steps[0].later, Some(Reason::ContextualizerChanged));
    let rebuilt = plan(Some(&stored), Some(&now), &other, Trigger::Rebuild, &|_| None);
    assert_eq!((rebuilt.steps[0].action, rebuilt.steps[0].reason), (Action::Regenerate, Reason::ContextualizerChanged));
}

#[test]
fn a_section_that_was_empty_when_its_context_was_due_counts_as_drifted() {
    let empty =
        vec![Section { heading: Some(5), body: vec![] }, Section { heading: Some(0), body: vec![1, 2, 3, 4, 5] }];
    let filled =
        vec![Section { heading: Some(5), body: vec![7; 8] }, Section { heading: Some(0), body: vec![1, 2, 3, 4, 5] }];
    let plans = history(&[("n.md", &empty), ("n.md", &filled)], &generation(true));
    let step = plans[1].steps[0];
    assert_eq!((step.action, step.reason, step.later), (Action::Reembed, Reason::BodyChanged, Some(Reason::Drifted)));
}

#[test]
fn a_text_that_comes_back_gets_the_context_that_was_written_for_it() {
    let draft =
        |body: Vec<u8>| vec![Section { heading: Some(0), body }, Section { heading: Some(1), body: vec![9; 4] }];
    let (before, after) = (draft((0..40).collect()), draft((100..140).collect()));
    let cuts = cut(&before);
    let now = current("n.md", &before, &cuts);
    let first = plan(None, Some(&now), &generation(true), Trigger::Save, &|_| None);
    let mut stored = apply(None, &now, &first, &generation(true), &mut Archive::new());
    // The other text was there for long enough to be bought.
    let cuts = cut(&after);
    let other = Sketch::of(&current("n.md", &after, &cuts).chunks[0].text);
    let own = Sketch::of(&now.chunks[0].text);
    stored.chunks.iter_mut().for_each(|chunk| (chunk.paid, chunk.due) = (true, None));
    (stored.chunks[0].sketch, stored.chunks[0].hash) = (other.clone(), TextHash([7; 16]));
    stored.hash = TextHash([8; 16]);
    let decided = |by: &str, sketch: &Sketch| {
        let found = Archived { contextualizer: by.to_owned(), sketch: sketch.clone(), written_at: 1 };
        let step = plan(Some(&stored), Some(&now), &generation(true), Trigger::Save, &|_| Some(found.clone())).steps[0];
        (step.action, step.reason, step.later)
    };
    assert_eq!(decided("model/1", &own), (Action::Reembed, Reason::FoundInArchive, None));
    // What the archive has under this text may be of the other text, or another model's.
    let stays = (Action::Reembed, Reason::BodyChanged, Some(Reason::Drifted));
    assert_eq!(decided("model/1", &other), stays);
    assert_eq!(decided("model/0", &own), stays);
    // Nor is it bought when it was asked for while the other text was there; by a rebuild it is.
    for (reason, wanted) in [(Reason::Drifted, None), (Reason::Rebuild, Some(Reason::Rebuild))] {
        let mut stored = stored.clone();
        stored.chunks[0].due = Some(PendingContext { reason, since: 5, tries: 0 });
        let found = Archived { contextualizer: "model/1".to_owned(), sketch: own.clone(), written_at: 1 };
        let decided = plan(Some(&stored), Some(&now), &generation(true), Trigger::Save, &|_| Some(found.clone()));
        assert_eq!(decided.steps[0].due, wanted, "{reason:?}");
    }
}

/// A note of one section that waits for a model since second 10, or was written by one.
fn waiting(paid: bool, due: Option<PendingContext>) -> (Draft, StoredNote) {
    let draft = vec![Section { heading: Some(0), body: vec![1, 2, 3, 4, 5] }];
    let cuts = cut(&draft);
    let now = current("n.md", &draft, &cuts);
    let first = plan(None, Some(&now), &generation(true), Trigger::Save, &|_| None);
    let mut stored = apply(None, &now, &first, &generation(true), &mut Archive::new());
    let chunk = &mut stored.chunks[0];
    (chunk.paid, chunk.due) = (paid, due);
    if !paid {
        chunk.context_hash = now.chunks[0].template_hash;
        chunk.contextualizer = "template/1".into();
    }
    drop(now);
    (draft, stored)
}

/// The simulation found this: a rebuild gave such a note its template, and the next look the archive's context.
#[test]
fn a_rebuild_leaves_what_no_model_is_asked_about_as_the_next_save_would() {
    let draft = vec![Section { heading: Some(0), body: vec![1, 2, 3] }];
    let (cuts, large) = (cut(&draft), Generation { llm_min_chunks: 9, ..generation(true) });
    let now = current("n.md", &draft, &cuts);
    let first = plan(None, Some(&now), &large, Trigger::Save, &|_| None);
    let mut stored = apply(None, &now, &first, &large, &mut Archive::new());
    stored.chunks[0].paid = false;
    let found = Archived { contextualizer: "model/1".into(), sketch: Sketch::default(), written_at: 1 };
    let decided = |stored: Option<&StoredNote>, trigger| {
        let step = plan(stored, Some(&now), &large, trigger, &|_| Some(found.clone())).steps[0];
        (step.context, step.due)
    };
    let bought = (ContextSource::Archive(context_key(&now.chunks[0].keys, now.chunks[0].hash)), None);
    for trigger in [Trigger::Rebuild, Trigger::Save] {
        assert_eq!((decided(Some(&stored), trigger), decided(None, trigger)), (bought, bought), "{trigger:?}");
    }
    let mut paid = stored.clone();
    paid.chunks[0].paid = true;
    for trigger in [Trigger::Rebuild, Trigger::Save] {
        assert_eq!(decided(Some(&paid), trigger), (ContextSource::Stored(0), None), "{trigger:?}");
    }
}

fn saved(draft: &Draft, stored: &StoredNote, written: Option<(&str, i64)>, trigger: Trigger) -> Step {
    let cuts = cut(draft);
    let now = current("n.md", draft, &cuts);
    let found =
        written.map(|(by, written_at)| Archived { contextualizer: by.into(), sketch: Sketch::default(), written_at });
    plan(Some(stored), Some(&now), &generation(true), trigger, &|_| found.clone()).steps[0]
}

#[test]
fn a_wish_stands_until_it_is_answered() {
    let due = Some(PendingContext { reason: Reason::NewNote, since: 10, tries: 0 });
    let (draft, stored) = waiting(false, due);
    let mut edited = draft.clone();
    edited[0].body.push(9);
    let wish = |step: Step| (step.action, step.reason, step.due, step.later);
    let save = |draft, written| wish(saved(draft, &stored, written, Trigger::Save));
    assert_eq!(save(&draft, None), (Action::Keep, Reason::Unchanged, Some(Reason::NewNote), None));
    assert_eq!(save(&edited, None), (Action::Reembed, Reason::BodyChanged, Some(Reason::NewNote), None));
    assert_eq!(save(&draft, Some(("model/1", 10))), (Action::Reembed, Reason::ContextWritten, None, None));
    // Another model's serves, and the wish stands.
    let other = (Action::Reembed, Reason::FoundInArchive, Some(Reason::NewNote), None);
    assert_eq!(save(&draft, Some(("model/0", 12))), other);
}

#[test]
fn what_a_model_wrote_serves_until_it_has_written_again() {
    let due = Some(PendingContext { reason: Reason::Rebuild, since: 10, tries: 0 });
    let (draft, stored) = waiting(true, due);
    let save = |written| saved(&draft, &stored, written, Trigger::Save);
    // The archive may hold the very context that is to be replaced.
    let step = save(Some(("model/1", 9)));
    assert_eq!((step.action, step.context, step.due), (Action::Keep, ContextSource::Stored(0), Some(Reason::Rebuild)));
    assert_eq!(save(Some(("model/1", 10))).reason, Reason::ContextWritten);

    let (draft, stored) = waiting(true, None);
    let step = saved(&draft, &stored, Some(("model/1", 99)), Trigger::Rebuild);
    assert_eq!((step.action, step.reason), (Action::Regenerate, Reason::Rebuild));
    assert_eq!((step.context, step.due), (ContextSource::Stored(0), Some(Reason::Rebuild)));
}

#[test]
fn what_failed_for_a_text_is_not_wished_for_again_until_the_text_changes() {
    let (draft, mut stored) = waiting(false, None);
    stored.chunks[0].later = Some(Reason::ContextFailed);
    let step = saved(&draft, &stored, None, Trigger::Save);
    assert_eq!((step.due, step.later), (None, Some(Reason::ContextFailed)));
    let mut edited = draft;
    edited[0].body.push(9);
    assert_eq!(saved(&edited, &stored, None, Trigger::Save).later, Some(Reason::ContextualizerChanged));
}

/// With contexts off nothing counts as paid for, and what was made says so by the hash of no context.
#[test]
fn contexts_that_come_back_are_embedded_again_and_cost_nothing() {
    let draft = vec![Section { heading: Some(0), body: vec![1, 2, 3, 4, 5] }];
    let cuts = cut(&draft);
    let now = current("n.md", &draft, &cuts);
    let paid = generation(true);
    let fresh = plan(None, Some(&now), &paid, Trigger::Save, &|_| None);
    let mut stored = apply(None, &now, &fresh, &paid, &mut Archive::new());
    assert!(is_keep(&plan(Some(&stored), Some(&now), &paid, Trigger::Save, &|_| None)));
    stored.chunks[0].context_hash = text_hash(b"");
    let back = plan(Some(&stored), Some(&now), &paid, Trigger::Save, &|_| None);
    let step = back.steps[0];
    assert_eq!((step.action, step.reason, step.due), (Action::Reembed, Reason::ContextualizerChanged, None));
    assert_eq!(step.context, ContextSource::Stored(0));
}
