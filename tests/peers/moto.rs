//! `moto`: AWS that verifies signatures. It has no models, and answers every question with `{}`.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::orchard::{CAPTIONS, came_to, captions, daemon, doctor, finished, held, place};
use crate::server::{Faults, Moto, Server};
use crate::support::Place;

/// An id with the colon that has to be encoded in the path, and once more in what is signed.
const DATED: &str = "us.anthropic.claude-haiku-4-5-20251001-v1:0";

/// The vault, with a key file that only we can read.
fn signed(server: &Server, access: &str, secret: &str, model: &str) -> Place {
    let place = place("bedrock", &server.url(), &format!("key_file = \"~/key\"\nmodel = \"{model}\""));
    let file = place.dir.path().join("key");
    std::fs::write(&file, format!("{access}:{secret}\n")).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    place
}

fn kind(report: &Value) -> &str {
    report["failure"]["kind"].as_str().unwrap_or_else(|| panic!("{report}"))
}

#[test]
#[ignore = "needs servers that .ci/peers installs"]
fn aws_takes_our_signatures_and_no_others() {
    let moto = Moto::start();
    for model in ["global.anthropic.claude-haiku-5-5", DATED] {
        let report = doctor(&signed(&moto.server, &moto.access, &moto.secret, model));
        // The signature is taken; but there is no model that could answer.
        assert_eq!(kind(&report), "unavailable", "{report}");
        let report = doctor(&signed(&moto.server, &moto.access, "not-the-secret", model));
        assert_eq!(kind(&report), "unauthorized", "{report}");
        assert!(!report.to_string().contains("not-the-secret"), "{report}");
    }
    let report = doctor(&signed(&moto.server, "AKIAOFNOBODY00000000", &moto.secret, DATED));
    assert_eq!(kind(&report), "unauthorized", "{report}");
    assert!(!report.to_string().contains(&moto.secret), "{report}");
}

#[test]
#[ignore = "needs servers that .ci/peers installs"]
fn contexts_are_written_by_way_of_signed_requests() {
    let moto = Moto::start();
    let text = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m",
        "content": [{ "type": "text", "text": captions() }], "stop_reason": "end_turn",
        "usage": { "input_tokens": 900, "output_tokens": 80 },
    });
    // The words are put where moto, that has verified the signature, has none.
    let filled = Faults::before(&moto.server, "", Some(&text.to_string()));
    let good = signed(&filled.0, &moto.access, &moto.secret, DATED);
    let mut good = daemon(&good);
    assert_eq!(finished(&mut good)["outcomes"], json!({"taken_note": 3}));
    assert_eq!(held(&mut good), CAPTIONS);
    assert_eq!(filled.done().len(), 1);
    drop(good);

    let place = signed(&filled.0, &moto.access, "not-the-secret", DATED);
    let mut bad = daemon(&place);
    came_to(&mut bad, "failed_unauthorized");
    let status = bad.wait_for("stopped", |status| status.problems.len() == 1);
    assert_eq!(status.contexts.waiting, 3, "{status:?}");
    assert!(!format!("{status:?}").contains("not-the-secret") && !bad.log().contains("not-the-secret"));
    assert_eq!(filled.done().len(), 2, "a refused key is not tried again");
}
