//! A daemon that serves three vaults of unlike size and language, and answers over all of them.

use serde_json::{Value, json};

use crate::support::{Daemon, Place};

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

fn search(daemon: &mut Daemon, params: Value) -> (Vec<(String, String)>, Vec<String>, Value) {
    let answer = daemon.call("search", params);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let hits = answer["hits"].as_array().unwrap().iter().map(|hit| (text(&hit["vault"]), text(&hit["path"]))).collect();
    let warnings = answer["warnings"].as_array().unwrap().iter().map(text).collect();
    (hits, warnings, answer)
}

fn first(hits: &[(String, String)]) -> (&str, &str) {
    (hits[0].0.as_str(), hits[0].1.as_str())
}

#[test]
fn one_answer_over_three_vaults() {
    let place = place();
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_status("three vaults idle", |status| {
        let count = |at: usize| status["vaults"][at]["notes"].as_u64().unwrap_or_default();
        status["state"] == "idle" && (count(0), count(1), count(2)) == (61, 2, 1)
    });
    for mode in ["hybrid", "lexical"] {
        // Another vault has the word: nothing is corrected in any.
        let (hits, warnings, _) = search(&mut daemon, json!({"query": "spare", "mode": mode}));
        assert_eq!((first(&hits), warnings.len()), (("work", "Spare parts.md"), 0), "{mode}: {warnings:?}");
        // Asked alone, a vault corrects as before.
        let (_, warnings, _) = search(&mut daemon, json!({"query": "spare", "mode": mode, "vault": "notes"}));
        assert_eq!(warnings, ["`spare` is nowhere; searched for `share`"], "{mode}");
        // No vault has this one: it is said once.
        let (hits, warnings, _) = search(&mut daemon, json!({"query": "sprae", "mode": mode}));
        assert_eq!(warnings, ["`sprae` is nowhere; searched for `spare`"], "{mode}");
        assert_eq!(first(&hits), ("work", "Spare parts.md"), "{mode}");
        let (hits, warnings, answer) = search(&mut daemon, json!({"query": "quibbleheron nest", "mode": mode}));
        assert_eq!((first(&hits), warnings.len()), (("work", "Herons.md"), 0), "{mode}: {hits:?}");
        let scores: Vec<f64> =
            answer["hits"].as_array().unwrap().iter().map(|h| h["score"].as_f64().unwrap()).collect();
        assert!(scores[1] < 0.8 * scores[0], "{mode}: {scores:?}");
        let (hits, _, _) = search(&mut daemon, json!({"query": "Gartens", "mode": mode}));
        assert_eq!(first(&hits), ("heim", "Haus.md"), "{mode}");
    }
    // What is said of a note that was expected is measured by the same scale.
    let (_, _, answer) = search(
        &mut daemon,
        json!({"query": "quibbleheron nest", "mode": "lexical", "expect": "Meetings/7.md", "limit": 1}),
    );
    let expected = &answer["expected"];
    assert_eq!((&expected["vault"], &expected["standing"]), (&json!("notes"), &json!("below")), "{expected}");
    assert!(expected["score"].as_f64().unwrap() < 0.8, "{expected}");
    let near = daemon.call("related", json!({"text": "a quibbleheron in the alders"}));
    assert_eq!(near["hits"][0]["path"], "Herons.md", "{near}");
}
