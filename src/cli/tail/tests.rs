use super::*;
use protocol::jobs::{Job, JobKind, Scope};
use serde_json::json;

#[test]
fn one_vault_alone() {
    let args = Tail { vault: Some("work".into()), jsonl: false, follow: true };
    let follower = Follower { args, several: false, hidden: true };
    let decision = |vault: &str| {
        json!({
            "kind": "decision", "vault": vault, "path": "a.md", "reason": "NewNote", "kept": 0, "reembedded": 0,
            "regenerated": 1, "removed": 0, "steps": [], "seq": 1, "took_ms": 1.5, "at": 0,
        })
    };
    let job = |vault: Option<&str>| {
        let scope = Scope { vault: vault.map(str::to_owned), path: None };
        json!({ "kind": "job", "job": Job::dry_run(JobKind::Sync, scope, None, None) })
    };
    for (told, wanted) in [
        (decision("work"), true),
        (decision("home"), false),
        (job(Some("home")), false),
        (job(None), true),
        (json!({ "kind": "state", "state": "idle" }), true),
    ] {
        let event = Event::deserialize(&told).unwrap();
        assert_eq!(follower.is_wanted(Some(&event)), wanted, "{told}");
    }
    assert!(follower.is_wanted(None), "of what only a newer daemon tells nothing is known");
}
