//! A daemon that serves three vaults of unlike size and language, and answers over all of them.

use protocol::hit::{Hit, NoteStanding};
use protocol::search::{Mode, RelatedRequest, SearchRequest};
use protocol::status::RunState;

use crate::requests::{by_words, query};
use crate::support::Place;

/// Vaults `notes` (large, English), `work` (small, English) and `heim` (small, German).
fn place() -> Place {
    let place = Place::new();
    place.write("Share.md", "# Share\n\nHow to share a folder with the whole family.\n");
    for n in 0..60 {
        let text = format!(
            "# Meeting {n}\n\nBirds that nest early, and who is to share the costs of the boxes they nest in.\n"
        );
        place.write(&format!("Meetings/{n}.md"), text);
    }
    let other = |name: &str, notes: &[(&str, &str)]| {
        let folder = place.dir.path().join(name);
        std::fs::create_dir(&folder).unwrap();
        notes.iter().for_each(|(path, text)| std::fs::write(folder.join(path), text).unwrap());
        let path = toml::Value::from(folder.to_str().unwrap());
        format!("[[vault]]\nname = \"{name}\"\npath = {path}\n")
    };
    let work = other(
        "work",
        &[
            ("Spare parts.md", "# Spare parts\n\nThe spare wheel lies under the bench.\n"),
            ("Boats.md", "# Boats\n\nThe skiff Sharr needs new varnish.\n"),
            ("Herons.md", "# Herons\n\nThe quibbleheron builds its nest in old alders by the water.\n"),
        ],
    );
    let heim = other(
        "heim",
        &[(
            "Haus.md",
            "# Haus\n\nDie Häuser der alten Stadt stehen dicht gedrängt am Ufer, und die Gärten dahinter reichen bis zum Wald.\n",
        )],
    );
    place.configure(&format!("{work}{heim}"));
    place
}

fn first(hits: &[Hit]) -> (&str, &str) {
    (&hits[0].vault, &hits[0].path)
}

#[test]
fn one_answer_over_three_vaults() {
    let place = place();
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_for("three vaults idle", |status| {
        let counts: Vec<u64> = status.vaults.iter().map(|vault| vault.notes).collect();
        status.state == RunState::Idle && counts == [61, 3, 1]
    });
    for mode in [Mode::Hybrid, Mode::Lexical] {
        let mut search = |text: &str, vault: Option<&str>| {
            let vault = vault.map(str::to_owned);
            let answer = daemon.ask(&SearchRequest { mode: Some(mode), vault, ..query(text) });
            (answer.hits, answer.warnings)
        };
        // Another vault has the word: nothing is corrected in any.
        let (hits, warnings) = search("sharr", None);
        assert_eq!((first(&hits), warnings.len()), (("work", "Boats.md"), 0), "{mode:?}: {warnings:?}");
        // Asked alone, a vault corrects as before.
        let (_, warnings) = search("sharr", Some("notes"));
        assert_eq!(warnings, ["`sharr` is nowhere; searched for `share`"], "{mode:?}");
        // No vault has this one: it is said once.
        let (hits, warnings) = search("sprae", None);
        assert_eq!(warnings, ["`sprae` is nowhere; searched for `spare`"], "{mode:?}");
        assert_eq!(first(&hits), ("work", "Spare parts.md"), "{mode:?}");
        let (hits, warnings) = search("quibbleheron nest", None);
        assert_eq!((first(&hits), warnings.len()), (("work", "Herons.md"), 0), "{mode:?}: {hits:?}");
        assert!(hits[1].score < 0.8 * hits[0].score, "{mode:?}: {hits:?}");
        let (hits, _) = search("Gartens", None);
        assert_eq!(first(&hits), ("heim", "Haus.md"), "{mode:?}");
    }
    // What is said of a note that was expected is measured by the same scale.
    let expect = Some("Meetings/7.md".to_owned());
    let answer = daemon.ask(&SearchRequest { expect, limit: Some(1), ..by_words("quibbleheron nest") });
    let expected = answer.expected.unwrap();
    assert_eq!((expected.vault.as_str(), expected.standing), ("notes", NoteStanding::Below), "{expected:?}");
    assert!(expected.score.unwrap() < 0.8, "{expected:?}");
    let text = Some("a quibbleheron in the alders".to_owned());
    let near = daemon.ask(&RelatedRequest { text, ..RelatedRequest::default() });
    assert_eq!(near.hits[0].path, "Herons.md", "{near:?}");
}
