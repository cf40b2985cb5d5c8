//! Searches through a real index.

mod expect;
mod pasted;
mod patterns;
mod properties;
mod required;
mod times;
mod vaults;

use std::sync::Arc;

use jiff::civil::{Date, date};
use tempfile::TempDir;

use super::*;
use crate::embed::{Vector, builtin};
use crate::{ChunkDoc, ChunkEntry, Index, LexicalError, NoteEntry, Said, Snapshot};
use note::fingerprint::{chunk_id, section_key};
use note::{FileStat, VaultPath};

const TODAY: Date = date(2026, 11, 20);

struct Vault {
    snapshot: Arc<Snapshot>,
    _dir: TempDir,
}

/// A note whose chunks are `texts`, adjacent to each other.
fn put(index: &mut Index, no: u32, path: &str, tags: &[&str], day: Option<Date>, links: &[&str], texts: &[&str]) {
    let path = VaultPath::parse(path).unwrap();
    let title = path.stem().to_owned();
    let (mut at, mut line) = (0, 1);
    let mut chunks = Vec::new();
    for (position, text) in (0..).zip(texts) {
        let lines = text.matches('\n').count() as u32;
        let context = format!("From the note {title}.");
        chunks.push(ChunkDoc {
            entry: ChunkEntry {
                id: chunk_id(path.as_str(), section_key([], 0), position),
                note: no,
                position,
                span: (at, at + text.len() as u32),
                lines: (line, line + lines.saturating_sub(1)),
            },
            heading_path: ["Heading"].into_iter().collect(),
            text: (*text).to_owned(),
            searchable: (*text).to_owned(),
            windows: vec![builtin::model().embed(&format!("{context}\n\n{text}")).into()],
            context,
            expansion: String::new(),
        });
        at += text.len() as u32;
        line += lines;
    }
    let note = NoteEntry {
        stat: FileStat { mtime_ns: i64::from(no) * 1_000_000_000, ..FileStat::default() },
        texts: Said { title: &title, kind: Some("note"), tags, links, ..Said::default() }.pack(),
        days: note::OwnDays { about: day, ..note::OwnDays::default() },
        ..NoteEntry::new(no, 1, path)
    };
    index.put(note, chunks).unwrap();
}

fn vault() -> Vault {
    let dir = tempfile::tempdir().unwrap();
    let mut index = Index::open(dir.path(), builtin::DIMENSIONS).unwrap();
    put(
        &mut index,
        1,
        "Garden/Apples.md",
        &["fruit/apple"],
        Some(date(2026, 3, 1)),
        &["Pruning"],
        &[
            "Apple trees need full sun.\n",
            "Water the young trees every week.\n",
            "Harvest in autumn, when the fruit comes off easily.\n",
        ],
    );
    put(
        &mut index,
        2,
        "Garden/Pruning.md",
        &["garden"],
        Some(date(2026, 11, 2)),
        &[],
        &["Prune fruit trees in late winter, before the buds swell.\n"],
    );
    put(
        &mut index,
        3,
        "Work/Budget.md",
        &["work"],
        None,
        &[],
        &["The quarterly budget review moved to Thursday. Ask finance about travel costs.\n"],
    );
    put(&mut index, 4, "日記.md", &[], Some(date(2026, 11, 19)), &[], &["東京都庁へ行きました。\n"]);
    put(
        &mut index,
        5,
        "Work/Travel.md",
        &["work", "fruit"],
        Some(date(2025, 6, 1)),
        &["Apples"],
        &["Travel costs are paid back by finance within a month.\n"],
    );
    Vault { snapshot: index.publish(7).unwrap(), _dir: dir }
}

fn ask(vault: &Vault, query: &str, options: &Options) -> Answer {
    let parsed = parse(query, TODAY).unwrap();
    let vector: Option<Vector> = parsed.has_text().then(|| builtin::model().embed(&parsed.text()));
    search(&vault.snapshot, "v", &parsed, vector.as_ref(), options).unwrap()
}

fn paths(answer: &Answer) -> Vec<&str> {
    answer.hits.iter().map(|hit| hit.path.as_str()).collect()
}

#[test]
fn a_hit_explains_itself() {
    let vault = vault();
    let answer = ask(&vault, "when to prune trees", &Options { explain: true, ..Options::default() });
    assert_eq!((answer.seq, answer.mode, answer.truncated), (7, Mode::Hybrid, false));
    let hit = &answer.hits[0];
    assert_eq!((hit.path.as_str(), hit.line, hit.mtime), ("Garden/Pruning.md", 1, 2));
    assert!(hit.score > 0.5 && hit.score <= 1.0);
    let marked: Vec<&str> = hit.highlights.iter().map(|(a, b)| &hit.snippet[*a as usize..*b as usize]).collect();
    assert!(marked.contains(&"Prune") && marked.contains(&"trees"), "{marked:?}");
    let lanes = hit.lanes.as_ref().unwrap();
    assert_eq!((lanes.lexical.as_ref().unwrap().rank, lanes.dense.as_ref().unwrap().rank), (1, 1));
    assert!((lanes.fused - hit.score).abs() < 1e-6);
}

#[test]
fn every_lane_is_held_to_the_conditions() {
    let vault = vault();
    const WORK: &[&str] = &["Work/Budget.md", "Work/Travel.md"];
    // (query, what every lane must find, what any lane may find)
    let cases: [(&str, &[&str], &[&str]); 8] = [
        ("trees path:Work", &[], WORK),
        ("travel costs tag:work -budget", &["Work/Travel.md"], &["Work/Travel.md"]),
        ("fruit -tag:fruit", &["Garden/Pruning.md"], &["Garden/Pruning.md", "Work/Budget.md", "日記.md"]),
        ("\"travel costs\"", WORK, WORK),
        ("finance \"costs travel\"", &[], &[]),
        ("-finance \"travel costs\"", &[], &[]),
        ("costs link:apples", &["Work/Travel.md"], &["Work/Travel.md"]),
        ("trees after:2026-11", &["Garden/Pruning.md"], &["Garden/Pruning.md", "日記.md"]),
    ];
    for mode in [Mode::Hybrid, Mode::Lexical, Mode::Dense] {
        let options = Options { mode, ..Options::default() };
        for (query, must, may) in cases {
            let answer = ask(&vault, query, &options);
            let got = paths(&answer);
            assert!(must.iter().all(|path| got.contains(path)), "{mode:?} {query}: {got:?}");
            assert!(got.iter().all(|path| may.contains(path)), "{mode:?} {query}: {got:?}");
        }
    }
}

#[test]
fn a_listed_note_is_shown_where_it_meets_the_condition() {
    let dir = tempfile::tempdir().unwrap();
    let mut index = Index::open(dir.path(), builtin::DIMENSIONS).unwrap();
    put(&mut index, 1, "People/Ann Lee.md", &[], None, &[], &["My aunt.\n"]);
    let texts =
        ["Intro.\n", "Rain.\n\nMet [[Ann Lee]] for lunch #day/food.\n", "[She](../People/Ann%20Lee.md) left.\n"];
    put(&mut index, 2, "Diary.md", &["day/food"], None, &["Ann Lee"], &texts);
    put(
        &mut index,
        3,
        "Tagged above.md",
        &["day"],
        None,
        &["Ann Lee"],
        &["Intro.\n", "See [her](People/Ann%20Lee.md).\n"],
    );
    let vault = Vault { snapshot: index.publish(1).unwrap(), _dir: dir };
    for (query, shown) in [
        ("link:\"Ann Lee\"", [("Tagged above.md", 2), ("Diary.md", 4)]),
        ("tag:day", [("Tagged above.md", 1), ("Diary.md", 4)]),
        ("type:note -path:People", [("Tagged above.md", 1), ("Diary.md", 1)]),
    ] {
        let answer = ask(&vault, query, &Options::default());
        let lines: Vec<_> = answer.hits.iter().map(|hit| (hit.path.as_str(), hit.match_line)).collect();
        assert_eq!(lines, shown, "{query}: {:?}", answer.hits);
    }
}

#[test]
fn conditions_alone_give_the_newest_notes() {
    let vault = vault();
    let answer = ask(&vault, "type:note", &Options { limit: 4, ..Options::default() });
    assert_eq!(paths(&answer), ["日記.md", "Garden/Pruning.md", "Garden/Apples.md", "Work/Travel.md"]);
    assert!(answer.truncated && answer.hits.iter().all(|hit| (hit.score - 1.0).abs() < f32::EPSILON));
    assert_eq!(paths(&ask(&vault, "-trees tag:fruit", &Options::default())), ["Garden/Apples.md", "Work/Travel.md"]);
    let empty = ask(&vault, " ", &Options::default());
    assert_eq!((empty.hits.len(), empty.warnings.len()), (0, 1));
}

#[test]
fn windows_and_limits() {
    let vault = vault();
    let options = Options { per_note: 1, ..Options::default() };
    let answer = ask(&vault, "water young trees", &options);
    let hit = &answer.hits[0];
    assert_eq!((hit.text.as_str(), hit.window_lines), ("Water the young trees every week.\n", (1, 3)));
    assert!(hit.window.starts_with("Apple trees need") && hit.window.ends_with("comes off easily.\n"));
    assert_eq!(paths(&answer).iter().filter(|path| **path == "Garden/Apples.md").count(), 1);
    let narrow = ask(&vault, "water young trees", &Options { window_chars: 0, contextual: false, ..options });
    assert_eq!((narrow.hits[0].window.as_str(), narrow.hits[0].context.as_str()), (hit.text.as_str(), ""));
}

#[test]
fn any_script_finds_something() {
    let vault = vault();
    let answer = ask(&vault, "東京", &Options::default());
    assert_eq!(answer.hits[0].path, "日記.md");
    assert_eq!(answer.hits[0].highlights, [(0, 6)]);
}

#[test]
fn without_a_vector_the_words_answer() {
    let vault = vault();
    let parsed = parse("budget", TODAY).unwrap();
    let words = search(&vault.snapshot, "v", &parsed, None, &Options::default()).unwrap();
    assert_eq!((paths(&words), words.mode), (vec!["Work/Budget.md"], Mode::Lexical));
    let dense = Options { mode: Mode::Dense, ..Options::default() };
    let none = search(&vault.snapshot, "v", &parsed, None, &dense).unwrap();
    assert_eq!((none.hits.len(), none.warnings.len()), (0, 1));
}

#[test]
fn related_notes_say_whether_they_are_linked() {
    let vault = vault();
    let options = Options { per_note: 1, ..Options::default() };
    let answer = near(&vault, &Seed::Note(1), &options);
    assert!(!paths(&answer).contains(&"Garden/Apples.md"));
    let linked = |path: &str| answer.hits.iter().find(|hit| hit.path == path).and_then(|hit| hit.linked);
    assert_eq!(answer.hits[0].path, "Garden/Pruning.md");
    assert_eq!((linked("Garden/Pruning.md"), linked("Work/Budget.md").unwrap_or(false)), (Some(true), false));
    let text = Seed::Text("money for trips".to_owned(), Some(builtin::model().embed("money for trips")));
    let answer = near(&vault, &text, &options);
    assert!(answer.hits[0].path.starts_with("Work/") && answer.hits[0].linked.is_none());
    assert_eq!(near(&vault, &Seed::Note(99), &options).warnings.len(), 1);
}

fn near(vault: &Vault, seed: &Seed, options: &Options) -> Answer {
    let vaults = [Near { snapshot: &vault.snapshot, vault: "v", seed, hidden: None }];
    related(&vaults, false, options).unwrap().pop().unwrap()
}

/// A vault of many small notes of one chunk each.
fn many(notes: u32) -> Vault {
    let dir = tempfile::tempdir().unwrap();
    let mut index = Index::open(dir.path(), builtin::DIMENSIONS).unwrap();
    for no in 1..=notes {
        put(&mut index, no, &format!("{no}.md"), &["fruit"], None, &[], &["Ripe apples and sour cherries.\n"]);
    }
    Vault { snapshot: index.publish(1).unwrap(), _dir: dir }
}

#[test]
fn a_note_whose_words_are_lost_keeps_no_other_from_being_found() {
    let dir = tempfile::tempdir().unwrap();
    let mut index = Index::open(dir.path(), builtin::DIMENSIONS).unwrap();
    for no in 1..=3 {
        put(&mut index, no, &format!("{no}.md"), &[], None, &[], &["Ripe apples and sour cherries.\n"]);
    }
    let snapshot = index.publish(1).unwrap();
    let note = NoteEntry { seq: 2, ..(**snapshot.note(2).unwrap()).clone() };
    let chunk = |row| {
        let windows = snapshot.vectors(row).into_iter().map(Into::into).collect();
        (snapshot.chunk(row).unwrap().clone(), windows)
    };
    // As after a write that failed: the tables have the note's new state, and its words are of the old one.
    let rows = note.rows.iter().map(chunk).collect();
    assert!(!index.load(note, rows));
    let vault = Vault { snapshot: index.publish(2).unwrap(), _dir: dir };
    for mode in [Mode::Hybrid, Mode::Lexical, Mode::Dense] {
        let answer = ask(&vault, "apples", &Options { mode, ..Options::default() });
        let mut found = paths(&answer);
        found.sort_unstable();
        assert_eq!(found, ["1.md", "3.md"], "{mode:?}");
    }
}

#[test]
fn a_cancelled_search_ends_wherever_it_is() {
    const NOTES: u32 = 320;
    let vault = many(NOTES);
    let run = |query: &str, cancel: &Cancel| {
        let parsed = parse(query, TODAY).unwrap();
        let vector = parsed.has_text().then(|| builtin::model().embed(&parsed.text()));
        let options = Options { cancel: cancel.clone(), ..Options::default() };
        rank(&vault.snapshot, &parsed, vector.as_ref(), &options)
    };
    let looks = |query: &str| {
        let cancel = Cancel::new();
        assert!(!run(query, &cancel).unwrap().rows(1).is_empty(), "{query}");
        cancel.looks()
    };
    let plain = looks("apples cherries");
    assert!(looks("apples cherries tag:fruit") >= plain + NOTES as usize / 32, "a filter looks at every note");
    assert!(looks("\"ripe apples\"") > plain, "a phrase looks at every document");
    for query in ["apples", "apples tag:fruit", "\"ripe apples\"", "cherries -pears", "tag:fruit"] {
        for look in 1..=looks(query) {
            let cancel = Cancel::at_look(look);
            assert!(matches!(run(query, &cancel), Err(LexicalError::Cancelled)), "{query}: look {look}");
        }
    }
}

/// A note of many chunks with the word of a query, and others with one.
fn long_and_short(chunks: usize, notes: u32) -> Vault {
    let dir = tempfile::tempdir().unwrap();
    let mut index = Index::open(dir.path(), builtin::DIMENSIONS).unwrap();
    put(&mut index, 1, "log.md", &[], None, &[], &vec!["A heron, a heron at the pier.\n"; chunks]);
    let walk = "On the walk along the river we met friends, talked about boats, and saw a heron there.\n";
    for no in 2..2 + notes {
        put(&mut index, no, &format!("walk{no}.md"), &[], None, &[], &[walk]);
    }
    Vault { snapshot: index.publish(1).unwrap(), _dir: dir }
}

#[test]
fn a_long_note_hides_no_other() {
    let vault = long_and_short(1_000, 20);
    for mode in [Mode::Hybrid, Mode::Lexical, Mode::Dense] {
        for (query, limit, of_log) in
            [("heron", 20, 3), ("\"heron\"", 20, 3), ("heron", 50, 3), ("heron path:log", 9, 3)]
        {
            let options = Options { mode, limit, window_chars: 0, ..Options::default() };
            let answer = ask(&vault, query, &options);
            let (log, walks): (Vec<&str>, Vec<&str>) = paths(&answer).into_iter().partition(|path| *path == "log.md");
            let found = if query.contains("path") { 0 } else { limit.min(23) - 3 };
            assert_eq!((log.len(), walks.len()), (of_log, found), "{mode:?} {query} {limit}");
            assert_eq!(answer.truncated, found + 3 == limit, "{mode:?} {query} {limit}");
        }
    }
}

#[test]
fn notes_of_the_time_that_is_asked_about_come_first_however_many_are_as_good() {
    let dir = tempfile::tempdir().unwrap();
    let mut index = Index::open(dir.path(), builtin::DIMENSIONS).unwrap();
    for no in 1..=400_u32 {
        let day = date(2025, 10, 16).checked_add(jiff::Span::new().days(i64::from(no))).unwrap();
        let text = "Standup with the team: talked about the harbour project and tides.\n";
        put(&mut index, no, &format!("{no:03}/standup.md"), &[], Some(day), &[], &[text]);
    }
    let vault = Vault { snapshot: index.publish(1).unwrap(), _dir: dir };
    for (query, first) in [("standup yesterday", "2026-11-19"), ("latest standup", "2026-11-20")] {
        for limit in [3, 50] {
            let boosts =
                Boosts { today: Some(TODAY), asked: asked(query, TODAY).map(|asked| asked.when), ..Boosts::default() };
            let answer = ask(&vault, query, &Options { limit, boosts, ..Options::default() });
            assert_eq!(answer.hits[0].date.as_deref(), Some(first), "{query} {limit}");
        }
    }
}

#[test]
fn a_hit_opens_where_the_phrase_stands_and_not_only_its_words() {
    let dir = tempfile::tempdir().unwrap();
    let mut index = Index::open(dir.path(), builtin::DIMENSIONS).unwrap();
    let filler = "Nothing else was to be seen in the whole valley that day.\n".repeat(5);
    let fox = "The fox that we saw was quick, and its tail was brown.\n";
    let text = format!("{fox}{filler}Foxes are quick.\nThen the quick brown foxes jumped.\n");
    put(&mut index, 1, "fox.md", &[], None, &[], &[&text]);
    put(
        &mut index,
        2,
        "cat.md",
        &[],
        None,
        &[],
        &["今日は天気がいい。\n\n昨日は雨だった。\n\n明日、猫を飼う予定です。\n"],
    );
    let vault = Vault { snapshot: index.publish(1).unwrap(), _dir: dir };
    for (query, path, line, marked) in [
        ("\"quick brown fox\"", "fox.md", 8, "quick brown foxes"),
        ("\"quick brown fox\" OR tag:x", "fox.md", 8, "quick brown foxes"),
        ("猫", "cat.md", 5, "猫"),
    ] {
        let answer = ask(&vault, query, &Options::default());
        let hit = answer.hits.iter().find(|hit| hit.path == path).unwrap();
        let shown: Vec<&str> = hit.highlights.iter().map(|(a, b)| &hit.snippet[*a as usize..*b as usize]).collect();
        assert_eq!((hit.match_line, shown.last().copied()), (line, Some(marked)), "{query}: {}", hit.snippet);
    }
}

#[test]
fn a_note_whose_whole_name_is_the_query_comes_first() {
    let dir = tempfile::tempdir().unwrap();
    let mut index = Index::open(dir.path(), builtin::DIMENSIONS).unwrap();
    let vitamins = &["Vitamin C and vitamin D, and what each vitamin does for a body.\n"];
    put(&mut index, 1, "Vitamins.md", &[], None, &[], vitamins);
    put(&mut index, 2, "Food/Vitamin A.md", &[], None, &[], &["It is in carrots.\n", "And in the liver.\n"]);
    put(&mut index, 3, "Bills/INV-2024-0117.md", &["bill"], None, &[], &["For the roof.\n"]);
    put(&mut index, 4, "Other bills.md", &[], None, &[], &["The invoice INV of 2024, and 0117 of the roof.\n"]);
    put(&mut index, 5, "Roof - repairs.md", &[], None, &[], &["Two tiles.\n"]);
    put(&mut index, 6, "Repairs.md", &[], None, &[], &["Of the roof: roof repairs, all repairs of a roof.\n"]);
    let vault = Vault { snapshot: index.publish(7).unwrap(), _dir: dir };
    for mode in [Mode::Hybrid, Mode::Lexical] {
        let options = Options { mode, ..Options::default() };
        for (query, path) in [
            ("vitamin a", "Food/Vitamin A.md"),
            ("vitamin-a", "Food/Vitamin A.md"),
            ("Food/Vitamin A.md", "Food/Vitamin A.md"),
            ("\"Vitamin A\" -nothing", "Food/Vitamin A.md"),
            ("INV-2024-0117", "Bills/INV-2024-0117.md"),
            ("[[INV-2024-0117]]", "Bills/INV-2024-0117.md"),
            ("roof - repairs", "Roof - repairs.md"),
            ("Vitamin - A", "Food/Vitamin A.md"),
        ] {
            let answer = ask(&vault, query, &options);
            assert_eq!(paths(&answer)[0], path, "{mode:?} {query}");
            assert!(answer.hits.iter().all(|hit| hit.score <= answer.hits[0].score), "{mode:?} {query}");
        }
        assert_ne!(paths(&ask(&vault, "INV-2024-0117 -tag:bill", &options))[0], "Bills/INV-2024-0117.md", "{mode:?}");
    }
    let plain = Options { boosts: Boosts { link_weight: 0.0, ..Boosts::default() }, ..Options::default() };
    assert_eq!(paths(&ask(&vault, "vitamin a", &plain))[0], "Vitamins.md");
}

#[test]
fn of_notes_of_one_name_the_newest_comes_first_and_each_opens_at_its_beginning() {
    let dir = tempfile::tempdir().unwrap();
    let mut index = Index::open(dir.path(), builtin::DIMENSIONS).unwrap();
    let texts = ["What was talked about.\n", "See also: weekly review, weekly review, weekly review.\n"];
    for (no, path, day) in [
        (1, "2026-09/Weekly review.md", date(2026, 9, 4)),
        (2, "2026-11/Weekly review.md", date(2026, 11, 13)),
        (3, "2026-10/Weekly review.md", date(2026, 10, 9)),
    ] {
        put(&mut index, no, path, &[], Some(day), &[], &texts);
    }
    let vault = Vault { snapshot: index.publish(1).unwrap(), _dir: dir };
    let answer = ask(&vault, "weekly review", &Options { window_chars: 0, ..Options::default() });
    let first: Vec<_> = answer.hits.iter().take(3).map(|hit| (&hit.path[..7], hit.line)).collect();
    assert_eq!(first, [("2026-11", 1), ("2026-10", 1), ("2026-09", 1)]);
}

#[test]
fn a_passage_that_has_the_words_of_a_query_in_a_row_is_among_the_first_two() {
    let dir = tempfile::tempdir().unwrap();
    let mut index = Index::open(dir.path(), builtin::DIMENSIONS).unwrap();
    for no in 1..8 {
        let text = "Disable scripts: a disabled script, running on a system. Disable this, disable scripts.\n";
        put(&mut index, no, &format!("Disable {no}.md"), &[], None, &[], &[text]);
    }
    let start = ["Where to begin, and what else.\n", "It said:\nRunning scripts is disabled on this system.\n"];
    put(&mut index, 10, "Start.md", &["start"], None, &[], &start);
    let link = "See [what the whole manual says](x.md).\n";
    put(&mut index, 9, "Links.md", &["start"], None, &[], &[link]);
    let vault = Vault { snapshot: index.publish(7).unwrap(), _dir: dir };
    let options = Options { explain: true, window_chars: 0, ..Options::default() };
    // (query, whether the passage comes second for its words)
    for (query, in_a_row) in [
        ("running scripts is disabled on this system", true),
        ("Running scripts is (disabled) on", true),
        ("running scripts is disabled on this system -tag:start", false),
        ("scripts running is disabled on this system", false),
        ("is disabled on", false),
        ("what the whole manual says", false),
    ] {
        let answer = ask(&vault, query, &options);
        let is_lifted = |hit: &Hit| hit.lanes.as_ref().unwrap().boosts.all_words > 0.0;
        let lifted: Vec<_> = answer.hits.iter().enumerate().filter(|(_, hit)| is_lifted(hit)).collect();
        let lifted: Vec<_> =
            lifted.iter().map(|(at, hit)| (*at, hit.path.as_str(), hit.line, hit.match_line)).collect();
        let expected = if in_a_row { vec![(1, "Start.md", 2, 3)] } else { vec![] };
        assert_eq!(lifted, expected, "{query}: {:?}", paths(&answer));
    }
    // A note that is called so comes before; of more notes than three none is told from others.
    let mut index = index;
    let title = "Running scripts is disabled on this system";
    put(&mut index, 11, &format!("{title}.md"), &[], None, &[], &["What to do then.\n"]);
    for (no, lifted) in [(12, 2), (13, 0)] {
        put(&mut index, no, &format!("{no}.md"), &[], None, &[], &[&format!("Again: {title}!\n")]);
        let vault = Vault { snapshot: index.publish(7 + u64::from(no)).unwrap(), _dir: tempfile::tempdir().unwrap() };
        let answer = ask(&vault, title, &options);
        let boosts = |hit: &Hit| hit.lanes.as_ref().map(|lanes| lanes.boosts).unwrap_or_default();
        assert_eq!(answer.hits[0].title, title);
        assert_eq!(answer.hits.iter().filter(|hit| boosts(hit).all_words > 0.0).count(), lifted, "{no}");
        assert!(answer.hits.is_sorted_by(|a, b| a.score >= b.score));
    }
}

#[test]
fn a_phrase_may_end_within_a_run_of_a_script_without_spaces() {
    let dir = tempfile::tempdir().unwrap();
    let mut index = Index::open(dir.path(), builtin::DIMENSIONS).unwrap();
    let text = "我用Python写代码，他用Rust。是的，我知道。\n";
    put(&mut index, 1, "a.md", &[], None, &[], &[text, "我写代码。\n"]);
    let vault = Vault { snapshot: index.publish(1).unwrap(), _dir: dir };
    for (query, marked) in [
        ("\"用Python写\"", Some("用Python写")),
        ("\"是的，我\"", Some("是的，我")),
        ("\"我知道\"", Some("我知道")),
        ("\"Python写\"", Some("Python写")),
        ("\"代码，他用Rust。是\"", Some("代码，他用Rust。是")),
        ("\"用Python他\"", None),
        ("\"是的，他\"", None),
    ] {
        let answer = ask(&vault, query, &Options { window_chars: 0, ..Options::default() });
        let shown = |hit: &Hit| {
            let highlights = hit.highlights.iter().map(|(a, b)| hit.snippet[*a as usize..*b as usize].to_owned());
            highlights.max_by_key(String::len).unwrap_or_default()
        };
        assert_eq!(answer.hits.first().map(shown).as_deref(), marked, "{query}: {:?}", answer.warnings);
        assert_eq!(answer.hits.len(), usize::from(marked.is_some()), "{query}");
    }
}

#[test]
fn a_note_that_alone_has_all_words_is_among_the_first() {
    let dir = tempfile::tempdir().unwrap();
    let mut index = Index::open(dir.path(), builtin::DIMENSIONS).unwrap();
    for no in 1..10 {
        let text =
            if no % 2 == 0 { "The alfama street: alfama, up in alfama.\n" } else { "An adapter, the adapter.\n" };
        put(&mut index, no, &format!("{no}.md"), &[], None, &[], &[text]);
    }
    let filler = "Of other things, at length, and what else there was to say about them.\n";
    let trip = [filler, "We slept in alfama that night.\n", filler, "Do not forget the adapter.\n"];
    put(&mut index, 10, "Trip.md", &["trip"], None, &[], &trip);
    let vault = Vault { snapshot: index.publish(7).unwrap(), _dir: dir };
    let options = Options { explain: true, ..Options::default() };
    let place = |query: &str| paths(&ask(&vault, query, &options)).iter().position(|path| *path == "Trip.md");
    assert_eq!(place("alfama adapter"), Some(2));
    assert_eq!(place("Trip adapter"), Some(0), "its name counts as its word");
    assert!(place("alfama adapter -tag:trip").is_none());
    let answer = ask(&vault, "alfama adapter", &options);
    assert!(answer.hits.is_sorted_by(|a, b| a.score >= b.score));
    let lifted = answer.hits.iter().filter(|hit| hit.lanes.as_ref().unwrap().boosts.all_words > 0.0).count();
    assert_eq!(lifted, 1);
    // The lanes by themselves answer as they are; so does a query whose last word is not finished.
    let lexical = Options { mode: Mode::Lexical, ..options.clone() };
    assert!(
        ask(&vault, "alfama adapter", &lexical)
            .hits
            .iter()
            .all(|hit| hit.lanes.as_ref().unwrap().boosts.all_words == 0.0)
    );
    // A second note with all words, and then too many.
    let mut index = index;
    for (no, found) in [(11, 2), (12, 3), (13, 0)] {
        put(&mut index, no, &format!("{no}.md"), &[], None, &[], &[filler, "Near alfama.\n", filler, "One adapter.\n"]);
        let vault = Vault { snapshot: index.publish(7 + u64::from(no)).unwrap(), _dir: tempfile::tempdir().unwrap() };
        let answer = ask(&vault, "alfama adapter", &options);
        let lifted = answer.hits.iter().filter(|hit| hit.lanes.as_ref().unwrap().boosts.all_words > 0.0).count();
        assert_eq!(lifted, found, "{no}: {:?}", paths(&answer));
    }
}
