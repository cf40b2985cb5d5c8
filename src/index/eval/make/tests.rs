//! Queries of small vaults: what becomes one, what does not, and that nothing shows it afterwards.

use proptest::prelude::*;

use super::*;

const SETTINGS: MakeSettings = MakeSettings { seed: 1, per_kind: 100 };

fn note(path: &str, text: &str) -> Note {
    parse(&VaultPath::parse(path).unwrap(), text.as_bytes(), &NoteRules::default())
}

/// Makes queries of these notes; links mean notes by path, file name or alias.
fn made(files: &[(&str, &str)], settings: MakeSettings) -> MadeQueries {
    let notes: Vec<Note> = files.iter().map(|(path, text)| note(path, text)).collect();
    let named: Vec<(VaultPath, Vec<String>)> =
        notes.iter().map(|n| (n.path.clone(), n.front.aliases.clone())).collect();
    let resolve = |mention: &str, _: &VaultPath| {
        let named = |target: &str| {
            let target = target.strip_prefix("dendron://vault/").unwrap_or(target);
            let is = |(path, aliases): &&(VaultPath, Vec<String>)| {
                path.as_str().trim_end_matches(".md") == target.trim_end_matches(".md")
                    || path.stem() == target
                    || aliases.iter().any(|alias| alias == target)
            };
            named.iter().find(is).map(|(path, _)| path.clone())
        };
        let (target, other) = mention.split_once('\n').unwrap_or((mention, ""));
        named(target).map(|path| (Side::First, path)).or_else(|| Some((Side::Second, named(other)?)))
    };
    make(notes, &NoteRules::default(), &resolve, settings)
}

fn asked(making: &MadeQueries) -> Vec<(&str, QueryKind, &str)> {
    making.queries.iter().map(|q| (q.text.as_str(), q.kind, q.target.as_str())).collect()
}

fn text_of<'a>(making: &'a MadeQueries, path: &str) -> &'a Note {
    making.notes.iter().find(|note| note.path.as_str() == path).unwrap()
}

const TIDES: &str =
    "---\naliases: [Lunar clockwork, Tides]\ndescription: Why the sea rises twice a day\n---\n# Tides\n\nHigh water.\n";

#[test]
fn each_kind_is_found_and_masked() {
    let making = made(
        &[
            ("Tides.md", TIDES),
            (
                "Log.md",
                "Read about [[Tides|the pull of the moon]], then [[Lunar clockwork]] and [ebb and flow](Tides.md).\n",
            ),
            ("Other.md", "Again [[Tides#Neap|The Pull of the Moon]] and [[Lunar clockwork|gears]].\n"),
        ],
        SETTINGS,
    );
    assert_eq!(
        asked(&making),
        [
            ("ebb and flow", QueryKind::Link, "Tides.md"),
            ("gears", QueryKind::Link, "Tides.md"),
            ("the pull of the moon", QueryKind::Link, "Tides.md"),
            ("Lunar clockwork", QueryKind::Alias, "Tides.md"),
            ("Why the sea rises twice a day", QueryKind::Description, "Tides.md"),
        ]
    );
    let sources = |i: usize| making.queries[i].sources.iter().map(VaultPath::as_str).collect::<Vec<_>>();
    assert_eq!(sources(2), ["Log.md", "Other.md"]);
    assert_eq!(sources(3), ["Tides.md", "Log.md", "Other.md"]);
    assert_eq!(text_of(&making, "Log.md").text, "Read about [[Tides]], then [[Tides]] and [](Tides.md).\n");
    assert_eq!(text_of(&making, "Other.md").text, "Again [[Tides#Neap]] and [[Tides]].\n");
    let tides = text_of(&making, "Tides.md");
    assert_eq!((tides.front.aliases.as_slice(), tides.front.description.as_deref()), (&["Tides".to_owned()][..], None));
    assert!(tides.front.properties.is_empty(), "{:?}", tides.front.properties);
}

#[test]
fn what_says_too_little_or_means_two_notes_is_left_out() {
    let filler: Vec<(String, String)> =
        (0..40).map(|i| (format!("Filler {i}.md"), format!("see the note about this thing here, no. {i}"))).collect();
    let log = "[[Tides|here]] [[Tides|this note]] [[Tides|2026-11-20]] [[Tides|tides]] [[Tides|…]] \
               [[Tides|harbour master]] [[Rocks|Harbour Master]] [[Tides|skerry names]] [[Tides|-exclude me now]] \
               [[Tides|tag:sea level]] [the [odd] barometer](Tides.md) [[Log|barograph paper]] ![[Tides|barograph drum]] \
               [[Nowhere|anemometer cups]] [[Tides#Neap range|neap range]] [[Sea ice of charts|charts of ice]] [[Tides|sextant]]";
    let mut files = vec![
        ("Tides.md", "# Tides\n\n## Neap range\n"),
        ("Rocks.md", "---\naliases: skerry names\n---\n# Rocks\n"),
        ("Sea ice of charts.md", "# Sea ice charts\n"),
        ("Log.md", log),
    ];
    files.extend(filler.iter().map(|(path, text)| (path.as_str(), text.as_str())));
    let making = made(&files, SETTINGS);
    assert_eq!(asked(&making), [("sextant", QueryKind::Link, "Tides.md")]);
    assert_eq!(text_of(&making, "Log.md").text, log.replace("[[Tides|sextant]]", "[[Tides]]"));
    assert_eq!(making.found, BTreeMap::from([(QueryKind::Link, 1)]));
}

#[test]
fn a_description_that_the_text_repeats_is_left_out() {
    let making =
        made(&[("a.md", "---\nsummary: Sounding the harbour basin\n---\nSounding the harbour  basin.\n")], SETTINGS);
    assert_eq!(asked(&making), []);
}

#[test]
fn the_seed_draws_and_the_order_of_notes_does_not_matter() {
    let texts: Vec<(String, String)> =
        (0..30).map(|i| (format!("n{i}.md"), format!("[[n{}|callsign zulu{i} echo{i}]]\n", (i + 1) % 30))).collect();
    let mut files: Vec<(&str, &str)> = texts.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let drawn = |files: &[(&str, &str)], seed| {
        let making = made(files, MakeSettings { seed, per_kind: 10 });
        (making.queries.into_iter().map(|q| q.text).collect::<Vec<_>>(), making.found)
    };
    let (first, found) = drawn(&files, 1);
    assert_eq!((first.len(), found[&QueryKind::Link]), (10, 30));
    files.reverse();
    assert_eq!(drawn(&files, 1).0, first);
    assert_ne!(drawn(&files, 2).0, first);
}

#[test]
fn links_whose_text_stands_first_are_read_so() {
    let making = made(
        &[
            ("sea.tides.md", "# Tides\n\nHigh water.\n"),
            ("Log.md", "[[pull of the moon|sea.tides]], [[ebb and flow|dendron://vault/sea.tides#neap]].\n"),
            ("Other.md", "[[sea.tides|Pull of the Moon]], [[gear box|rusty thing]].\n"),
        ],
        SETTINGS,
    );
    assert_eq!(
        asked(&making),
        [("ebb and flow", QueryKind::Link, "sea.tides.md"), ("pull of the moon", QueryKind::Link, "sea.tides.md"),]
    );
    assert_eq!(text_of(&making, "Log.md").text, "[[sea.tides]], [[dendron://vault/sea.tides#neap]].\n");
    assert_eq!(text_of(&making, "Other.md").text, "[[sea.tides]], [[gear box|rusty thing]].\n");
}

#[test]
fn first_sentences_are_asked_and_cut_out() {
    let text = |n: usize| {
        format!(
            "# N{n}\n\nBeacon{n} lantern{n} shows every light. It stays{n}.\n\n## One\n\nHarbour{n} bell{n} rings \
             in fog. So there{n} it is heard.\n\n## Two\n\nAnchor{n} chain{n} holds the buoy. And more{n} of the same.\n"
        )
    };
    let texts: Vec<(String, String)> = (0..ENOUGH).map(|n| (format!("n{n}.md"), text(n))).collect();
    let files: Vec<(&str, &str)> = texts.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let count = |making: &MadeQueries, kind| making.queries.iter().filter(|query| query.kind == kind).count();

    let few = made(&files[..20], SETTINGS);
    assert_eq!((count(&few, QueryKind::Lead), count(&few, QueryKind::Section)), (20, 40));
    let query = few.queries.iter().find(|query| query.text == "Harbour7 bell7 rings in fog").unwrap();
    assert_eq!((query.target.as_str(), &query.sources), ("n7.md", &vec![query.target.clone()]));
    let left = "# N7\n\nIt stays7.\n\n## One\n\nSo there7 it is heard.\n\n## Two\n\nAnd more7 of the same.\n";
    assert_eq!(text_of(&few, "n7.md").text, left);

    // Sections of as many notes as can be.
    let drawn = made(&files[..20], MakeSettings { per_kind: 22, ..SETTINGS });
    let of_sections = drawn.queries.iter().filter(|query| query.kind == QueryKind::Section);
    let notes: HashSet<&VaultPath> = of_sections.map(|query| &query.target).collect();
    assert_eq!((count(&drawn, QueryKind::Section), notes.len()), (22, 20));

    let enough = made(&files, SETTINGS);
    assert_eq!((count(&enough, QueryKind::Lead), count(&enough, QueryKind::Section)), (ENOUGH, 0));
    assert_eq!(enough.found[&QueryKind::Section], 2 * ENOUGH);
}

proptest! {
    /// Whatever is written: no panic, and nothing shows what is asked.
    #[test]
    fn no_source_shows_its_query(bodies in proptest::collection::vec(proptest::collection::vec(prop_oneof![
        Just("[[n0|amber lamp]]"), Just("[[n1|slate roof]]"), Just("[amber lamp](n0.md)"), Just("[[Second|tin cup]]"),
        Just("[[Second]]"), Just("![[n1|slate roof]]"), Just("| a |\n| - |\n| [[n0\\|amber lamp]] |\n"), Just("["),
        Just("]]"), Just("%%"), Just("`"), Just("\n"), Just("amber"), Just("é"), Just("[[n0|[tin] cup]]"),
    ], 0..12), 1..4)) {
        let mut files: Vec<(String, String)> =
            bodies.iter().enumerate().map(|(i, parts)| (format!("s{i}.md"), parts.concat())).collect();
        files.push(("n0.md".into(), "---\ndescription: wooden oar\n---\nLight.\n".into()));
        files.push(("n1.md".into(), "---\naliases: [Second]\n---\nHouse.\n".into()));
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        let making = made(&files, SETTINGS);
        for query in &making.queries {
            prop_assert!(!query.sources.is_empty());
            let asked = key(&query.text);
            for note in &making.notes {
                for link in note.links.iter().filter(|l| l.target.starts_with(query.target.stem())) {
                    prop_assert!(link.alias.as_deref().is_none_or(|shown| key(shown) != asked), "{:?}", query);
                }
            }
            let target = text_of(&making, query.target.as_str());
            prop_assert!(!all_names(target).contains(&asked));
        }
    }
}
