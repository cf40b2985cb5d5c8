//! One query, several vaults of unlike size and language.

use std::collections::BTreeMap;

use super::*;
use crate::Snapshot;
use note::Private;

/// A vault of these notes, one chunk each.
fn holding(notes: &[(String, String)]) -> Vault {
    let dir = tempfile::tempdir().unwrap();
    let mut index = Index::open(dir.path(), builtin::DIMENSIONS).unwrap();
    for (no, (path, text)) in (1..).zip(notes) {
        put(&mut index, no, path, &[], None, &[], &[text]);
    }
    Vault { snapshot: index.publish(1).unwrap(), _dir: dir }
}

fn notes(notes: &[(&str, &str)]) -> Vec<(String, String)> {
    notes.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
}

/// Much about sharing, in English; the skiff `Sharr` is not in it.
fn large() -> Vec<(String, String)> {
    let mut all = notes(&[("Share.md", "How to share a folder with the whole family.\n")]);
    all.extend((0..60).map(|n| {
        let text =
            format!("Meeting {n}: birds that nest early, and who is to share the costs of the boxes they nest in.\n");
        (format!("Meetings/{n}.md"), text)
    }));
    all
}

fn small() -> Vec<(String, String)> {
    notes(&[
        ("Spare parts.md", "The spare wheel lies under the bench.\n"),
        ("Herons.md", "The quibbleheron builds its nest in old alders by the water.\n"),
        ("Boats.md", "The skiff Sharr needs new varnish before May.\n"),
    ])
}

fn german() -> Vec<(String, String)> {
    notes(&[
        (
            "Haus.md",
            "Die Häuser der alten Stadt stehen dicht gedrängt am Ufer, und die Gärten dahinter reichen bis zum Wald.\n",
        ),
        (
            "Rad.md",
            "Das Ersatzrad liegt unter der Werkbank, gleich neben den Schläuchen und dem Flickzeug für unterwegs.\n",
        ),
    ])
}

fn parts<'a>(vaults: &[&'a Vault], query: &str, options: &Options) -> Vec<Part<'a>> {
    let parsed = parse(query, TODAY).unwrap();
    let part = |vault: &&'a Vault| Part {
        snapshot: &vault.snapshot,
        vector: (options.mode != Mode::Lexical).then(|| builtin::model().embed(&parsed.text())),
        query: parsed.clone(),
        options: options.clone(),
    };
    vaults.iter().map(part).collect()
}

fn answer(parts: &[Part<'_>]) -> Answer {
    let rankings = rank_together(parts).unwrap();
    let answers = ["large", "small", "german"].iter().zip(parts).zip(rankings);
    let answers = answers.map(|((name, part), ranking)| finish(part.snapshot, name, ranking, &part.options).unwrap());
    merge(answers.collect(), 20)
}

fn found(answer: &Answer) -> Vec<(&str, &str)> {
    answer.hits.iter().map(|hit| (hit.vault.as_str(), hit.path.as_str())).collect()
}

#[test]
fn a_word_is_nowhere_only_if_no_vault_has_it() {
    let (large, small, german) = (holding(&large()), holding(&small()), holding(&german()));
    let all = [&large, &small, &german];
    for mode in [Mode::Hybrid, Mode::Lexical] {
        let options = Options { mode, ..Options::default() };
        let alone = answer(&parts(&all[..1], "sharr", &options));
        assert_eq!(alone.warnings, ["`sharr` is nowhere; searched for `share`"], "{mode:?}");
        let together = answer(&parts(&all, "sharr", &options));
        assert_eq!(together.warnings, Vec::<String>::new(), "{mode:?}");
        assert_eq!(found(&together)[0], ("small", "Boats.md"), "{mode:?}");
        assert!(mode == Mode::Hybrid || together.hits.len() == 1, "no vault is searched for `share`");
        // In German it is looked up as German is written, in the others as English is.
        let house = answer(&parts(&all, "Hauses", &options));
        assert_eq!((found(&house)[0], house.warnings.len()), (("german", "Haus.md"), 0), "{mode:?}");
        // No vault has this one: all look for the same name, and it is said once.
        let slip = answer(&parts(&all, "quibblehreon", &options));
        assert_eq!(slip.warnings, ["`quibblehreon` is nowhere; searched for `quibbleheron`"], "{mode:?}");
        let slip = answer(&parts(&all, "sprae", &options));
        assert_eq!(slip.warnings, ["`sprae` is nowhere; searched for `spare`"], "{mode:?}");
        assert_eq!(found(&slip)[0], ("small", "Spare parts.md"), "{mode:?}");
    }
}

#[test]
fn a_word_is_looked_up_in_the_languages_of_all_vaults() {
    let work = holding(&notes(&[("People.md", "Mail from Lüdenscheidt about the invoice of the boat house.\n")]));
    let home = holding(&german());
    for mode in [Mode::Hybrid, Mode::Lexical] {
        // The German stem of the word is the English form of the name.
        let options = Options { mode, ..Options::default() };
        let together = answer(&parts(&[&work, &home], "Luedenscheidt", &options));
        assert_eq!((found(&together)[0].1, together.warnings.len()), ("People.md", 0), "{mode:?}");
    }
}

#[test]
fn weak_matches_of_one_vault_do_not_bury_the_exact_hit_of_another() {
    let (large, small, german) = (holding(&large()), holding(&small()), holding(&german()));
    let all = [&large, &small, &german];
    for mode in [Mode::Hybrid, Mode::Lexical] {
        let options = Options { mode, explain: true, ..Options::default() };
        let together = answer(&parts(&all, "quibbleheron nest", &options));
        assert_eq!(found(&together)[0], ("small", "Herons.md"), "{mode:?}");
        let of_large = together.hits.iter().find(|hit| hit.vault == "large").unwrap();
        assert!(of_large.score < 0.8 * together.hits[0].score, "{mode:?}: {}", of_large.score);
        // Asked alone, the best of the vault is the measure.
        let alone = answer(&parts(&all[..1], "quibbleheron nest", &options));
        assert!(mode == Mode::Hybrid || (alone.hits[0].score - 1.0).abs() < 1e-6);
    }
}

/// Scores by path.
fn scores(snapshots: &[(&Snapshot, Ranking)]) -> BTreeMap<String, f32> {
    let of = |(snapshot, ranking): &(&Snapshot, Ranking)| {
        let ranked = ranking.ranked.iter().map(|ranked| {
            let note = snapshot.note(snapshot.chunk(ranked.candidate.row).unwrap().note).unwrap();
            (note.path.as_str().to_owned(), ranked.score)
        });
        ranked.collect::<Vec<_>>()
    };
    snapshots.iter().flat_map(of).collect()
}

#[test]
fn several_vaults_score_as_one_vault_with_all_notes_would() {
    let (first, second) = (holding(&large()), holding(&small()));
    let whole = holding(&[large(), small()].concat());
    for mode in [Mode::Hybrid, Mode::Lexical, Mode::Dense] {
        let options = Options { mode, ..Options::default() };
        for query in ["quibbleheron nest", "share the costs", "varnish", "spare wheel", "sprae wheel", "boxes -varnish"]
        {
            let apart = parts(&[&first, &second], query, &options);
            let rankings = rank_together(&apart).unwrap();
            let apart: Vec<_> = apart.iter().map(|part| part.snapshot).zip(rankings).collect();
            let one = parts(&[&whole], query, &options);
            let one = [(one[0].snapshot, rank_together(&one).unwrap().remove(0))];
            let (apart, one) = (scores(&apart), scores(&one));
            assert_eq!(apart.keys().collect::<Vec<_>>(), one.keys().collect::<Vec<_>>(), "{query} ({mode:?})");
            for (path, score) in &one {
                assert!((apart[path] - score).abs() < 1e-5, "{query} ({mode:?}), {path}: {} {score}", apart[path]);
            }
        }
    }
}

#[test]
fn a_beginning_stands_for_the_words_of_all_vaults() {
    let (large, small) = (holding(&large()), holding(&small()));
    let mut asked = parts(&[&large, &small], "quibbleh", &Options { mode: Mode::Lexical, ..Options::default() });
    asked.iter_mut().for_each(|part| part.query.prefix = true);
    assert_eq!(found(&answer(&asked)), [("small", "Herons.md")]);
}

#[test]
fn what_is_hidden_in_one_vault_is_hidden_there_alone_and_names_nothing() {
    let (large, small) = (holding(&large()), holding(&small()));
    let mut asked = parts(&[&large, &small], "spare wheel", &Options::default());
    asked[1].query.filter.hidden = Some(Arc::new(Private::new(&["Spare*".to_owned()])));
    let hidden = answer(&asked);
    assert!(!found(&hidden).iter().any(|(_, path)| path.starts_with("Spare")), "{:?}", found(&hidden));
    assert!(found(&hidden).iter().any(|(vault, _)| *vault == "large"));
    // The same glob covers nothing in the other vault, where it was not given.
    let mut asked = parts(&[&large, &small], "share", &Options::default());
    asked[1].query.filter.hidden = Some(Arc::new(Private::new(&["Share*".to_owned()])));
    assert_eq!(found(&answer(&asked))[0], ("large", "Share.md"));
    let mut asked = parts(&[&large, &small], "sprae", &Options::default());
    asked[1].query.filter.hidden = Some(Arc::new(Private::new(&["Spare*".to_owned()])));
    let warnings = answer(&asked).warnings;
    assert!(warnings[0].starts_with("no note has a word of this query") && warnings.len() == 1, "{warnings:?}");
}

#[test]
fn the_condition_that_leaves_nothing_is_named() {
    let (large, small) = (holding(&large()), holding(&small()));
    let said = |query: &str| answer(&parts(&[&large, &small], query, &Options::default())).warnings;
    assert_eq!(said("tag:nosuch share"), ["no note meets `tag:nosuch`"]);
    assert_eq!(said("tag:nosuch path:Meetings path:Nowhere"), ["no note meets `tag:nosuch`"]);
    assert_eq!(said("type:x -path:Boats.md prop.a:b"), ["no note meets `type:x` or `prop.a:b`"]);
    assert_eq!(
        said("path:Boats.md \"spare wheel\""),
        ["notes meet each of these conditions, but none meets all: `path:Boats.md`, `\"spare wheel\"`"]
    );
    assert_eq!(said("\"wheel spare\""), ["no note meets `\"wheel spare\"`"]);
    // What one vault has is enough, and so is a note without the words.
    assert_eq!(said("path:Meetings share"), Vec::<String>::new());
    assert_eq!(said("path:Boats.md varnish"), Vec::<String>::new());
    // What is hidden from whoever asks is no note of theirs.
    let mut asked = parts(&[&large, &small], "path:Boats.md", &Options::default());
    assert_eq!(answer(&asked).warnings, Vec::<String>::new());
    asked.iter_mut().for_each(|part| part.query.filter.hidden = Some(Arc::new(Private::new(&["Boats*".to_owned()]))));
    assert_eq!(answer(&asked).warnings, ["no note meets `path:Boats.md`"]);
    // Without any condition there is none to name.
    asked.iter_mut().for_each(|part| {
        part.query = parse("share", TODAY).unwrap();
        part.query.filter.hidden = Some(Arc::new(Private::new(&["*".to_owned()])));
    });
    let all_hidden = answer(&asked);
    assert!(all_hidden.hits.is_empty() && !all_hidden.warnings.iter().any(|said| said.starts_with("no note meets")));
}

#[test]
fn what_lies_near_a_note_is_measured_by_one_scale() {
    let (large, small) = (holding(&large()), holding(&small()));
    let seed = Seed::Note(2);
    let elsewhere = Seed::Text(seed.words(&small.snapshot).unwrap(), seed.vector(&small.snapshot));
    let vaults = [
        Near { snapshot: &large.snapshot, vault: "large", seed: &elsewhere, hidden: None },
        Near { snapshot: &small.snapshot, vault: "small", seed: &seed, hidden: None },
    ];
    let answers = related(&vaults, false, &Options { explain: true, ..Options::default() }).unwrap();
    let bm25 = |hit: &Hit| hit.lanes.as_ref().and_then(|lanes| lanes.lexical.as_ref()).map_or(0.0, |lane| lane.score);
    let best = answers.iter().flat_map(|answer| &answer.hits).map(bm25).fold(0.0, f32::max);
    assert!(best > 0.0);
    for hit in answers.iter().flat_map(|answer| &answer.hits) {
        let lanes = hit.lanes.as_ref().unwrap();
        let cosine = lanes.dense.as_ref().map_or(0.0, |lane| lane.score.max(0.0));
        let fused = 0.8 * cosine + 0.2 * bm25(hit) / best;
        assert!((lanes.fused - fused).abs() < 1e-4, "{}: {} {fused}", hit.path, lanes.fused);
    }
}

/// A vault of notes of these days, all tagged `work`, numbered from 1.
fn diary(name: &str, days: &[Date]) -> Vault {
    let dir = tempfile::tempdir().unwrap();
    let mut index = Index::open(dir.path(), builtin::DIMENSIONS).unwrap();
    for (no, day) in (1..).zip(days) {
        put(&mut index, no, &format!("{name}{day}.md"), &["work"], Some(*day), &[], &["Bread and soup.\n"]);
    }
    Vault { snapshot: index.publish(1).unwrap(), _dir: dir }
}

#[test]
fn the_newest_of_all_vaults_come_first() {
    let old = diary("a", &[date(2020, 3, 1), date(2026, 11, 13), date(2020, 5, 1)]);
    let new = diary("b", &[date(2026, 11, 9), date(2026, 11, 14), date(2026, 11, 12)]);
    let first = ["b2026-11-14.md", "a2026-11-13.md", "b2026-11-12.md", "b2026-11-09.md"];
    let listed = answer(&parts(&[&old, &new], "tag:work", &Options::default()));
    assert_eq!(paths(&listed), [&first[..], &["a2020-05-01.md", "a2020-03-01.md"]].concat());
    assert!(listed.hits.iter().all(|hit| hit.score > 0.999));
    let mut of_week = parts(&[&old, &new], "last week", &Options::default());
    for part in &mut of_week {
        let time = asked(&part.query.words, TODAY).unwrap();
        part.query.read_time(&time.words);
        part.options.boosts = Boosts { asked: Some(time.when), today: Some(TODAY), ..Boosts::default() };
    }
    let found = answer(&of_week);
    assert_eq!(paths(&found)[..4], first, "{:?}", found.hits.iter().map(|hit| hit.score).collect::<Vec<_>>());
    assert!(found.hits.is_sorted_by(|a, b| a.score >= b.score));
}

#[test]
fn an_exclusion_that_leaves_nothing_is_named_with_the_others() {
    let vault = vault();
    let said = |query: &str| answer(&parts(&[&vault], query, &Options::default())).warnings;
    assert_eq!(
        said("tag:work tag:fruit -\"travel costs\""),
        ["notes meet each of these conditions, but none meets all: `tag:work`, `tag:fruit`, `-\"travel costs\"`"]
    );
    assert_eq!(
        said("tag:garden -prune"),
        ["notes meet each of these conditions, but none meets all: `tag:garden`, `-\"prune\"`"]
    );
}

#[test]
fn a_path_on_the_disk_calls_its_note() {
    let (large, small) = (holding(&large()), holding(&small()));
    let folders = [("large", "/home/me/Notes"), ("small", "/home/me/More notes")];
    let folders: Arc<[_]> = folders.map(|(vault, folder)| (vault.to_owned(), folder.to_owned())).into();
    for (query, first) in [
        ("/home/me/Notes/Meetings/7.md", "Meetings/7.md"),
        ("/home/me/More notes/Boats.md", "Boats.md"),
        ("file:///home/me/More%20notes/Spare%20parts.md", "Spare parts.md"),
        ("/Boats.md", "Boats.md"),
    ] {
        let mut parts = parts(&[&large, &small], query, &Options::default());
        for (part, name) in parts.iter_mut().zip(["large", "small"]) {
            part.query.filter.folders = folders.clone();
            part.query.of_vault(name);
        }
        assert_eq!(found(&answer(&parts))[0].1, first, "{query}");
    }
}
