use super::*;
use crate::Said;
use crate::search::parse;
use jiff::civil::date;
use jiff::tz::Offset;
use note::{FileStat, OwnDays, VaultPath};

const TODAY: Date = date(2026, 11, 20);
const DAY: i64 = 86_400;

fn note(path: &str, tags: &[&str], kind: Option<&str>, date: Option<Date>, mtime: i64) -> NoteEntry {
    NoteEntry {
        stat: FileStat { mtime_ns: mtime * 1_000_000_000, ..FileStat::default() },
        texts: Said { title: "T", kind, tags, links: &["Future note"], ..Said::default() }.pack(),
        days: OwnDays { about: date, ..OwnDays::default() },
        rows: vec![0].into(),
        ..NoteEntry::new(1, 1, VaultPath::parse(path).unwrap())
    }
}

/// 2026-11-20 01:00 UTC.
const MTIME: i64 = 1_795_136_400;

fn admits(conditions: &[(Key, &str)], without: &[(Key, &str)], note: &NoteEntry) -> bool {
    let mut filter = Filter::default();
    conditions.iter().for_each(|(key, value)| filter.add(*key, value, TODAY).unwrap());
    without.iter().for_each(|(key, value)| filter.add_not(*key, value).unwrap());
    let notes = |_: Key, target: &str| (target == "Hub").then(|| HashSet::from([1]));
    Compiled::new(&filter, notes).admits(note)
}

#[test]
fn a_note_was_made_on_the_day_that_it_names_for_that() {
    let mut both = note("Plan.md", &[], None, Some(date(2026, 11, 28)), MTIME);
    both.days.created = Some(date(2024, 2, 29));
    let about = note("Plan.md", &[], None, Some(date(2026, 11, 28)), MTIME);
    for (typed, of_both, of_about) in
        [("2024", true, false), ("2026-11-28", false, true), ("<2025", true, false), (">=2026", false, true)]
    {
        let made = |note: &NoteEntry| admits(&[(Key::Created, typed)], &[], note);
        assert_eq!((made(&both), made(&about)), (of_both, of_about), "{typed}");
    }
    assert!(admits(&[(Key::On, "2026-11-28")], &[], &both), "it is about another day");
}

#[test]
fn conditions_on_the_vault() {
    use Key::{Path, Vault};
    let note = note("Work/Plan.md", &[], None, None, MTIME);
    // (conditions, what must not hold, the note's vault, whether it passes, whether `team` is asked)
    let cases: [(&[(Key, &str)], &[(Key, &str)], &str, bool, bool); 12] = [
        (&[], &[], "Work", true, true),
        (&[(Vault, "work")], &[], "Work", true, false),
        (&[(Vault, "wor")], &[], "Work", false, false),
        (&[(Vault, "Home"), (Vault, "Work")], &[], "Work", true, false),
        (&[(Vault, "Home")], &[], "Work", false, false),
        (&[(Vault, "Work"), (Path, "home")], &[], "Work", false, false),
        (&[], &[(Vault, "WORK")], "Work", false, true),
        (&[], &[(Vault, "Home")], "Work", true, true),
        (&[(Vault, "team")], &[], "team/notes", true, true),
        (&[(Vault, "team/notes")], &[], "team/notes", true, true),
        (&[(Vault, "team/other")], &[], "team/notes", false, true),
        (&[], &[(Vault, "Team")], "team/notes", false, false),
    ];
    for (with, without, vault, passes, is_team_asked) in cases {
        let mut filter = Filter::default();
        with.iter().for_each(|(key, value)| filter.add(*key, value, TODAY).unwrap());
        without.iter().for_each(|(key, value)| filter.add_not(*key, value).unwrap());
        assert_eq!(filter.admits_team("team"), is_team_asked, "{filter:?}");
        let admits = |filter: &Filter| Compiled::new(filter, |_, _| None).admits(&note);
        let others = !with.iter().any(|(key, _)| *key == Path);
        assert_eq!(admits(&filter), others, "without a name only other conditions are tested: {filter:?}");
        assert_eq!(filter.admits_vault(vault), passes || !others, "{filter:?}");
        for settle in [false, true] {
            let mut filter = filter.clone();
            filter.of_vault(vault, settle);
            assert_eq!(admits(&filter), passes, "{filter:?}");
            let has_none = filter.vaults().count() == 0;
            assert_eq!(has_none, with.len() + without.len() == 0 || settle && (passes || !others), "{filter:?}");
        }
    }
    // A team is asked for one of its vaults, and left out as a whole only.
    let asks = |typed: &str| parse(typed, TODAY).unwrap().filter.admits_team("team");
    assert_eq!(["vault:team/notes", "-vault:team/notes", "-vault:team"].map(asks), [true, true, false]);
    assert_eq!(parse("a AND (vault:b OR NOT vault:c) vault:d", TODAY).unwrap().vaults(), ["d", "b", "c"]);
}

#[test]
fn conditions() {
    use Key::{After, Before, Link, LinkedFrom, Modified, Path, Tag, Type};
    let note = note("Work/Plan.md", &["Project/alpha", "todo"], Some("meeting"), Some(date(2026, 3, 5)), MTIME);
    let cases: [(&[(Key, &str)], bool); 35] = [
        (&[], true),
        (&[(Tag, "project")], true),
        (&[(Tag, "#Project/Alpha")], true),
        (&[(Tag, "proj")], false),
        (&[(Tag, "project"), (Tag, "todo")], true),
        (&[(Tag, "project"), (Tag, "done")], false),
        (&[(Path, "home"), (Path, "work")], true),
        (&[(Path, "home")], false),
        (&[(Path, "work"), (Tag, "done")], false),
        (&[(Type, "Meeting")], true),
        (&[(Type, "daily"), (Type, "meeting")], true),
        (&[(Link, "Hub")], true),
        (&[(Link, "[[future note]]")], true),
        (&[(Link, "Other")], false),
        (&[(Link, "Hub#Income")], true),
        (&[(Link, "[[Hub#^id|the hub]]")], true),
        (&[(Link, "the hub|Hub")], true),
        (&[(Link, "future note#x")], true),
        (&[(LinkedFrom, "Hub#x")], true),
        (&[(LinkedFrom, "Future note")], false),
        (&[(LinkedFrom, "Hub")], true),
        (&[(After, "2026-03-05")], true),
        (&[(Before, "2026-03-05")], false),
        (&[(After, "2026"), (Before, "2026-04")], true),
        (&[(After, "7d")], false),
        (&[(Modified, "today")], true),
        (&[(Modified, "yesterday")], false),
        (&[(Modified, ">=2026-11")], true),
        (&[(Modified, ">2026-11")], false),
        (&[(Modified, ">2026-10")], true),
        (&[(Modified, ">7d")], true),
        (&[(Modified, "<2026-11")], false),
        (&[(Modified, "<=2026-11")], true),
        (&[(Modified, "<=yesterday")], false),
        (&[(Modified, "2025")], false),
    ];
    for (conditions, want) in cases {
        assert_eq!(admits(conditions, &[], &note), want, "{conditions:?}");
    }
    for (without, want) in
        [((Tag, "project"), false), ((Tag, "x"), true), ((Path, "work"), false), ((Link, "Hub"), false)]
    {
        assert_eq!(admits(&[], &[without], &note), want, "-{without:?}");
    }
}

#[test]
fn a_path_on_the_disk_means_what_is_there() {
    let note = note("Work/My plan.md", &[], None, None, MTIME);
    let folders = [("v", "/home/me/Notes"), ("v", "~/Notes"), ("other", "/home/me/Other")];
    let folders = folders.map(|(vault, folder)| (vault.to_owned(), folder.to_owned()));
    let admits = |path: &str| {
        let mut filter = Filter { folders: Arc::new(folders.clone()), ..Filter::default() };
        filter.add(Key::Path, path, TODAY).unwrap();
        filter.of_vault("v", true);
        Compiled::new(&filter, |_, _| None).admits(&note)
    };
    for path in [
        "/home/me/Notes/Work",
        "/home/me/Notes/Work/My plan.md",
        "/home/me/Notes",
        "/home/me/Notes/",
        "~/Notes/*/My*",
        "file:///home/me/Notes/Work/My%20plan.md",
        "/Work",
    ] {
        assert!(admits(path), "{path}");
    }
    for path in ["/home/me/Notes/Home", "/home/me/Notes2", "/home/me/Other", "/home/me/Other/Work", "/home", "home"] {
        assert!(!admits(path), "{path}");
    }
}

#[test]
fn days_that_lie_ahead_have_an_end() {
    let made = |day: Date| NoteEntry {
        days: OwnDays { about: Some(day), created: Some(day), ..OwnDays::default() },
        ..note("a.md", &[], None, None, MTIME)
    };
    let [today, tomorrow, december, march] =
        [TODAY, date(2026, 11, 21), date(2026, 12, 24), date(2027, 3, 1)].map(made);
    for (key, value, of_each) in [
        (Key::On, "today", [true, false, false, false]),
        (Key::On, "november", [true, true, false, false]),
        (Key::On, "2026-12-24", [false, false, true, false]),
        (Key::On, "2026", [true, true, true, false]),
        (Key::On, "7d", [true, false, false, false]),
        (Key::Created, "<=today", [true, false, false, false]),
        (Key::Created, "<=2026-12-24", [true, true, true, false]),
        (Key::Created, ">2026-12-24", [false, false, false, true]),
    ] {
        let admitted = [&today, &tomorrow, &december, &march].map(|note| admits(&[(key, value)], &[], note));
        assert_eq!(admitted, of_each, "{key:?} {value}");
    }
    let unknown = note("a.md", &[], None, None, MTIME);
    assert!(!admits(&[(Key::Created, "<=today")], &[], &unknown), "nobody knows when it was made");
    // A clock may be ahead, but not for days.
    let saved = |days: i64| note("a.md", &[], None, None, MTIME + days * DAY);
    for (key, value) in [(Key::On, "today"), (Key::Modified, "today"), (Key::Modified, "<=7d"), (Key::On, "7d")] {
        let admitted = [0, 1, 2].map(|days| admits(&[(key, value)], &[], &saved(days)));
        assert_eq!(admitted, if value == "<=7d" { [false; 3] } else { [true, true, false] }, "{key:?} {value}");
    }
}

#[test]
fn without_a_date_the_modification_counts() {
    let old = note("a.md", &[], None, None, MTIME - 400 * DAY);
    assert!(admits(&[(Key::Before, "2026")], &[], &old));
    assert!(!admits(&[(Key::After, "2026")], &[], &old));
}

#[test]
fn a_living_page_has_the_day_of_its_last_change() {
    let mut page = note("Lr Home.md", &[], None, None, MTIME - 400 * DAY);
    page.days.created = Some(date(2025, 3, 1));
    assert!(!admits(&[(Key::After, "2026")], &[], &page));
    for days in [
        OwnDays { modified: Some(date(2026, 11, 19)), ..page.days },
        OwnDays { created: Some(date(2026, 11, 18)), ..page.days },
    ] {
        let page = NoteEntry { days, ..page.clone() };
        assert!(admits(&[(Key::After, "7d")], &[], &page), "{days:?}");
    }
    page.stat.mtime_ns = MTIME * 1_000_000_000;
    for (key, value, admitted) in [
        (Key::On, "today", true),
        (Key::On, "2025-03", false),
        (Key::Modified, "today", true),
        (Key::Created, "2025-03", true),
        (Key::Created, ">2025-02-28", true),
        (Key::Created, ">2025-03-01", false),
        (Key::Created, ">=2025-03-01", true),
        (Key::Last, "month", false),
    ] {
        assert_eq!(admits(&[(key, value)], &[], &page), admitted, "{key:?} {value}");
    }
    // What is about a day stays there, whatever is done to it.
    page.days.about = Some(date(2025, 10, 16));
    assert!(admits(&[(Key::On, "october-2025")], &[], &page) && !admits(&[(Key::On, "today")], &[], &page));
    let unknown = note("a.md", &[], None, None, MTIME);
    assert!(!admits(&[(Key::Created, "2026")], &[], &unknown), "nobody knows when it was made");
}

#[test]
fn the_day_of_a_modification_is_that_of_the_users_zone() {
    let note = note("a.md", &[], None, None, MTIME);
    assert_eq!(modified_on(&note, &TimeZone::UTC), TODAY);
    assert_eq!(modified_on(&note, &TimeZone::fixed(Offset::from_seconds(-5 * 3600).unwrap())), date(2026, 11, 19));
    // The night before in winter time, which is that of a search in November.
    let mut in_summer = note.clone();
    in_summer.stat.mtime_ns = 1_783_722_600_000_000_000;
    let berlin = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
    assert_eq!(modified_on(&in_summer, &berlin), date(2026, 7, 11));
    for mtime in [i64::MIN, i64::MAX] {
        let mut extreme = note.clone();
        extreme.stat.mtime_ns = mtime;
        modified_on(&extreme, &TimeZone::UTC);
    }
}

#[test]
fn bad_values_leave_the_filter_as_it_was() {
    let mut filter = Filter::default();
    for (key, value) in
        [(Key::After, "soon"), (Key::Modified, ">"), (Key::Tag, "#"), (Key::Path, "/"), (Key::Link, "[[]]")]
    {
        assert!(filter.add(key, value, TODAY).is_err(), "{key:?} {value}");
    }
    assert!(filter.add_not(Key::After, "2026").is_err());
    assert!(filter.is_empty());
}

#[test]
fn a_condition_that_is_typed_twice_is_looked_up_once() {
    let mut filter = Filter::default();
    for _ in 0..60 {
        filter.add(Key::Link, "Hub", TODAY).unwrap();
        filter.add_not(Key::LinkedFrom, "Hub").unwrap();
    }
    let looked = std::cell::Cell::new(0);
    Compiled::new(&filter, |_, _| {
        looked.set(looked.get() + 1);
        None
    });
    assert_eq!(looked.get(), 2);
}
