use super::*;
use protocol::contexts::{Estimate, Offer, OfferedWork};
use protocol::jobs::{JobKind, Scope};

fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

#[test]
fn a_line_says_how_far_it_is() {
    let generation = GenerationInfo {
        vault: "notes".into(),
        name: "bo\u{1b}[2Jld".into(),
        provider: "anthropic".into(),
        model: "m".into(),
        active: false,
        built: true,
        notes: 3,
        chunks: 12,
        waiting: 4,
        failed: 0,
    };
    let said = plain(&line(&generation));
    assert!(said.contains("built") && said.contains("12 chunks, 4 to be written"), "{said}");
    assert!(!said.contains('\u{1b}') && !said.contains("given up"), "{said}");
    let unbuilt = GenerationInfo { built: false, waiting: 0, ..generation };
    assert!(line(&unbuilt).contains("not built"));
    let free = GenerationInfo { provider: "none".into(), model: String::new(), ..unbuilt };
    assert!(plain(&line(&free)).ends_with("  none"));
}

#[test]
fn vectors_that_cost_are_said_with_where_text_goes() {
    let status = |provider: &str| {
        serde_json::from_value(json!({
            "state": "idle", "vaults": [], "problems": [], "leaves_machine": [], "contextualizer": "", "embedder": "",
            "uptime_s": 0, "rss_bytes": 0, "version": "", "pid": 1, "supervisor": "none", "socket": "/s",
            "contexts": {
                "provider": provider, "model": "m", "wanted": 0, "waiting": 0, "old_generation": 0, "drifted": 0,
                "failed": 0,
            },
        }))
        .unwrap()
    };
    let job = |estimate, vectors| Job {
        vectors,
        ..Job::dry_run(JobKind::Generation, Scope { vault: None, path: None }, None, estimate)
    };
    let takes = Estimate { notes: 3, calls: 1, tokens_in: 700, micro_dollars: Some(70_000), ..Estimate::default() };
    let vectors = Offer {
        vault: "notes".into(),
        provider: "openai".into(),
        model: "e".into(),
        what: OfferedWork::Vectors,
        leaves_to: Some("api.example".into()),
        estimate: takes.clone(),
        ..Offer::default()
    };
    for (provider, said) in [
        ("template", "Its contexts come from the notes themselves: it costs nothing."),
        ("none", "It has no contexts: it costs nothing."),
    ] {
        assert_eq!(described(&job(None, Vec::new()), &status(provider)), said);
    }
    let said = plain(&described(&job(None, vec![vectors.clone()]), &status("template")));
    assert!(said.contains("themselves.\nnotes: openai e makes the vectors of 3 notes in 1 call: "), "{said}");
    assert!(said.contains("$0.07") && said.contains("Leaves this machine: text of notes, to api.example."), "{said}");
    let said = plain(&described(&job(Some(Estimate { chunks: 4, ..takes }), vec![vectors]), &status("openai")));
    assert!(said.contains("openai m writes contexts for 4 chunks") && said.contains("makes the vectors"), "{said}");
}
