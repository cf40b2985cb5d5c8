use super::*;

#[test]
fn an_estimate_says_work_money_time_and_where_to() {
    let status: Status = serde_json::from_value(json!({
        "state": "idle", "vaults": [], "problems": [], "leaves_machine": ["text of notes, to api.example.com", "what you `ask`, to api.example.com"],
        "contextualizer": "", "embedder": "", "uptime_s": 0, "rss_bytes": 0, "version": "", "pid": 1,
        "supervisor": "none", "socket": "/s",
        "contexts": {
            "provider": "anthropic", "model": "own\u{1b}[2J", "wanted": 0, "waiting": 0, "old_generation": 0,
            "drifted": 0, "failed": 0,
        },
    }))
    .unwrap();
    let estimate = Estimate {
        notes: 670,
        chunks: 3350,
        calls: 671,
        tokens_in: 1_200_000,
        tokens_cached: 0,
        tokens_out: 230_000,
        micro_dollars: Some(235_000),
        price_as_of: Some("2026-11-12".into()),
        minutes: 7.2,
    };
    let said = taken(&estimate, false, &status);
    let plain = anstream::adapter::strip_str(&said).to_string();
    assert_eq!(
        plain,
        "anthropic own writes contexts for 3,350 chunks of 670 notes in 671 calls: 1,200,000 tokens read, 230,000 \
         written; about $0.235 (prices of 2026-11-12), about 7 min.\nLeaves this machine: text of notes, to \
         api.example.com"
    );
    let unknown = Estimate { micro_dollars: None, price_as_of: None, ..estimate.clone() };
    let said = taken(&unknown, true, &status);
    assert!(said.contains("price unknown: 1,430,000 tokens") && !said.contains('$'), "{said}");
    assert!(said.contains("may take the provider a day"), "{said}");
    assert!(taken(&Estimate { chunks: 0, ..estimate.clone() }, false, &status).contains("costs nothing"));

    let scope = |path: Option<&str>| Scope { vault: Some("notes".into()), path: path.map(str::to_owned) };
    let offered = |vault: &str, what| {
        let mut status = status.clone();
        status.contexts.offers = vec![Offer { vault: vault.into(), what, ..Offer::default() }];
        status
    };
    for (path, status, expected) in [
        (None, offered("notes", OfferedWork::Contexts), true),
        (Some("a.md"), offered("notes", OfferedWork::Contexts), false),
        (None, offered("other", OfferedWork::Contexts), false),
        (None, offered("notes", OfferedWork::Vectors), false),
        (None, status.clone(), false),
    ] {
        assert_eq!(agrees(&scope(path), &estimate, &status), expected, "{path:?} {:?}", status.contexts.offers);
    }
}
