//! `LiteLLM`'s proxy: a gateway with envelopes and refusals of its own, before models that give fixed answers.

use serde_json::json;

use crate::orchard::{CAPTIONS, came_to, daemon, doctor, finished, held, place};
use crate::server::litellm;

#[test]
#[ignore = "needs servers that .ci/peers installs"]
fn a_gateway_writes_contexts_and_says_what_is_wrong() {
    // One server for all of it, for it takes long to start.
    let gateway = litellm();
    for (provider, model) in
        [("anthropic", "claude-haiku-4-5"), ("openai", "gpt-6-luna"), ("openai", "claude-haiku-4-5")]
    {
        let place = place(provider, &gateway.url(), &format!("model = \"{model}\""));
        let mut daemon = daemon(&place);
        let stats = finished(&mut daemon);
        assert_eq!(stats["outcomes"], json!({"taken_note": 3}), "{provider} {model}: {stats}\n{}", gateway.log());
        assert_eq!(held(&mut daemon), CAPTIONS, "{provider} {model}");
        let today = daemon.call("cost", json!({}))["today"].clone();
        assert_eq!(today["calls"], 1, "{provider} {model}: {today}");
        assert!(today["tokens_in"].as_u64().is_some_and(|tokens| tokens > 0), "{provider} {model}: {today}");
    }

    // (provider, model, key, what the doctor finds, attempts at most)
    let doctors = [
        ("anthropic", "claude-haiku-4-5-20251001", None, None),
        ("openai", "claude-haiku-4-5-20251001", None, None),
        ("anthropic", "busy", None, Some("unavailable")),
        ("openai", "busy", None, Some("unavailable")),
        ("anthropic", "broken", None, Some("unavailable")),
        ("anthropic", "short", None, Some("too_long")),
        ("openai", "short", None, Some("too_long")),
        ("anthropic", "nobody-knows", None, Some("unknown_model")),
        ("openai", "nobody-knows", None, Some("unknown_model")),
        ("anthropic", "claude-haiku-4-5", Some("sk-wrong"), Some("unauthorized")),
        ("openai", "claude-haiku-4-5", Some("sk-wrong"), Some("unauthorized")),
    ];
    for (provider, model, key, expected) in doctors {
        let key = key.map_or(String::new(), |key| format!("key_command = \"echo {key}\"\n"));
        let place = place(provider, &gateway.url(), &format!("{key}model = \"{model}\""));
        let report = doctor(&place);
        match expected {
            None => assert_eq!(report["ok"], true, "{provider} {model}: {report}"),
            Some(kind) => assert_eq!(report["failure"]["kind"], kind, "{provider} {model}: {report}"),
        }
        assert!(!report.to_string().contains("sk-wrong"), "{provider} {model}: {report}");
    }

    // A fixed answer that is not about the note is no context, however well it reads.
    let strange = place("anthropic", &gateway.url(), "model = \"claude-haiku-4-5-20251001\"");
    let mut daemon_of_strange = daemon(&strange);
    let stats = finished(&mut daemon_of_strange);
    assert_eq!((&stats["contextualized"], &stats["failed"]), (&json!(0), &json!(3)), "{stats}");
    assert_eq!(stats["outcomes"]["fell_back_to_template"], 3, "{stats}");
    drop(daemon_of_strange);

    // A model that the gateway does not have stops the queue, and one message says so.
    let unknown = place("anthropic", &gateway.url(), "model = \"nobody-knows\"");
    let mut daemon = daemon(&unknown);
    came_to(&mut daemon, "failed_unknown_model");
    let status = daemon.wait_for("stopped", |status| status.problems.len() == 1);
    assert_eq!(status.contexts.waiting, 3, "{status:?}");
    assert!(status.problems[0].contains("nobody-knows"), "{status:?}");
}
