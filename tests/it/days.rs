//! Days of notes: in names as people and Obsidian form them, and of pages that live.

use protocol::search::SearchRequest;
use serde_json::json;

use crate::requests::{by_words, hit_in, query};
use crate::support::{Daemon, Place};

/// A day long ago, for files that nobody has touched since.
const LONG_AGO: &str = "2019-05-05T12:00:00";

fn found(daemon: &mut Daemon, query: &str) -> Vec<String> {
    let answer = daemon.ask(&by_words(query));
    // Where nothing is found it is said which condition no note meets, and that alone is said.
    assert!(answer.warnings.iter().all(|said| answer.hits.is_empty() && said.contains(" meet")), "{answer:?}");
    let mut paths: Vec<String> = answer.hits.into_iter().map(|hit| hit.path).collect();
    paths.sort();
    paths
}

/// Makes a file look as if it had been changed then.
fn age(place: &Place, path: &str) {
    let then: jiff::civil::DateTime = LONG_AGO.parse().unwrap();
    let seconds = then.to_zoned(jiff::tz::TimeZone::UTC).unwrap().timestamp().as_second();
    let file = std::fs::File::options().write(true).open(place.vault.join(path)).unwrap();
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds.cast_unsigned());
    file.set_modified(time).unwrap();
}

#[test]
fn daily_notes_are_known_by_the_names_that_people_give_them() {
    let place = Place::with(&[
        ("October 23, 2025.md", "# Notes\n\nA badger came by.\n"),
        ("23.09.2025.md", "# Notes\n\nThe badger again.\n"),
        ("2025-08-23 Saturday.md", "No badger today.\n"),
        ("Mittwoch, 23. Juli 2025.md", "Ein badger im Garten.\n"),
        ("2025-W24.md", "A week with one badger.\n"),
        ("About the badger of October 2025.md", "# Badger\n\nAll about it.\n"),
    ]);
    let mut daemon = place.start();
    daemon.wait_idle();
    let daily = ["2025-08-23 Saturday.md", "23.09.2025.md", "Mittwoch, 23. Juli 2025.md", "October 23, 2025.md"];
    assert_eq!(found(&mut daemon, "badger type:daily"), daily);
    assert_eq!(found(&mut daemon, "badger type:weekly"), ["2025-W24.md"]);
    for (query, path) in [
        ("badger in:october-2025", "October 23, 2025.md"),
        ("badger on:2025-09-23", "23.09.2025.md"),
        ("badger after:2025-08 before:2025-09", "2025-08-23 Saturday.md"),
        ("badger in:\"juli 2025\"", "Mittwoch, 23. Juli 2025.md"),
    ] {
        assert_eq!(found(&mut daemon, query), [path], "{query}");
    }
}

#[test]
fn daily_notes_are_named_as_obsidian_is_set() {
    let place = Place::with(&[
        (".obsidian/daily-notes.json", r#"{"format": "MM-DD-YYYY", "folder": "Journal"}"#),
        ("Journal/10-03-2025.md", "A badger came by.\n"),
        ("10-04-2025.md", "A badger in the inbox.\n"),
    ]);
    let mut daemon = place.start();
    daemon.wait_idle();
    assert_eq!(found(&mut daemon, "badger type:daily"), ["Journal/10-03-2025.md"]);
    assert_eq!(found(&mut daemon, "badger on:2025-10-03"), ["Journal/10-03-2025.md"]);
    // Other settings are in force after a look at everything; what names no day is told, and harms nothing.
    for (format, daily) in [("DD-MM-YYYY", "2025-03-10"), ("[nonsense]", "")] {
        place.write(".obsidian/daily-notes.json", json!({"format": format, "folder": "Journal"}).to_string());
        daemon.sync();
        daemon.wait_idle();
        let notes = found(&mut daemon, "badger type:daily");
        assert_eq!(notes.is_empty(), daily.is_empty(), "{format}: {notes:?}");
        if daily.is_empty() {
            assert!(daemon.log().contains("the format of daily notes names no day"), "{}", daemon.log());
        } else {
            assert_eq!(found(&mut daemon, &format!("badger on:{daily}")), ["Journal/10-03-2025.md"]);
        }
    }
}

#[test]
fn a_living_page_is_as_new_as_its_last_change() {
    let today = jiff::Zoned::now().date();
    let place = Place::with(&[
        ("Home.md", "---\ncreated: 2025-03-01\n---\n\n# Home\n\nThe badger project.\n"),
        ("Told.md", &format!("---\ncreated: 2025-03-01\nmodified: {today}\n---\n\n# Told\n\nThe badger project.\n")),
        ("Old.md", "---\ncreated: 2025-03-01\n---\n\n# Old\n\nThe badger project.\n"),
        ("2025-03-01.md", "The badger project.\n"),
    ]);
    age(&place, "Told.md");
    age(&place, "Old.md");
    let mut daemon = place.start();
    daemon.wait_idle();
    assert_eq!(found(&mut daemon, "badger after:7d"), ["Home.md", "Told.md"]);
    assert_eq!(found(&mut daemon, "badger created:2025-03"), ["2025-03-01.md", "Home.md", "Old.md", "Told.md"]);
    assert_eq!(found(&mut daemon, "badger modified:<2020"), ["Old.md"]);
    assert_eq!(found(&mut daemon, "badger in:2025"), ["2025-03-01.md", "Old.md"]);
    let hits = daemon.ask(&SearchRequest { explain: true, ..query("badger project") }).hits;
    let days: Vec<&str> = hits.iter().map(|hit| hit.date.as_deref().unwrap()).collect();
    assert_eq!(days, ["2025-03-01"; 4], "each note says a day");
    let newness = |path: &str| hit_in(&hits, path).lanes.as_ref().unwrap().boosts.recency;
    assert!(newness("Home.md") > 0.1 && newness("Told.md") > 0.1, "{hits:?}");
    assert!(newness("2025-03-01.md") < 0.01, "{hits:?}");
}

#[test]
fn a_day_that_nobody_understands_is_said() {
    let place = Place::with(&[("a.md", "# A\n\nA badger.\n")]);
    let mut daemon = place.start();
    daemon.wait_idle();
    for query in ["badger on:soon", "badger last:fortnight", "badger created:>", "badger in:31-february"] {
        let warnings = daemon.ask(&by_words(query)).warnings.concat();
        assert!(warnings.contains("2026-11-20"), "{query}: {warnings}");
    }
}

#[test]
fn a_question_that_names_a_time_prefers_notes_of_it() {
    let text = "# Log\n\nA badger came by the pond.\n";
    let place = Place::with(&[("2025-06-23.md", text), ("2025-08-23.md", text), ("2025-10-23.md", text)]);
    let mut daemon = place.start();
    daemon.wait_idle();
    let mut first = |asked: &str| {
        let answer = daemon.ask(&SearchRequest { explain: true, ..query(asked) });
        let date = |path: &str| hit_in(&answer.hits, path).lanes.as_ref().unwrap().boosts.date;
        let dates = ["2025-06-23.md", "2025-08-23.md", "2025-10-23.md"].map(|path| date(path) > 0.0);
        (answer.hits[0].path.clone(), dates)
    };
    assert_eq!(first("badger by the pond").1, [false; 3]);
    assert_eq!(first("badger by the pond in August 2025"), ("2025-08-23.md".to_owned(), [false, true, false]));
    assert_eq!(first("Dachs am Teich, badger, im Juni 2025"), ("2025-06-23.md".to_owned(), [true, false, false]));
    let shown = place.run(&["search", "badger in August 2025", "--explain", "-n", "1"]);
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains("of that time"), "{shown}");
}
