use std::time::Duration;

use secrecy::ExposeSecret as _;
use serde_json::Value;

use super::*;

fn vectors() -> Vec<Value> {
    serde_json::from_str(include_str!("../testdata/sigv4_vectors.json")).unwrap()
}

/// Made by botocore at a stopped clock: 2026-11-20T12:00:00Z.
fn clock() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_795_176_000)
}

#[test]
fn signatures_are_those_of_the_vendors_own_client() {
    assert_eq!(vectors().len(), 4);
    for vector in vectors() {
        let text = |path: &str| vector.pointer(path).and_then(Value::as_str);
        let request = Request {
            url: text("/url").unwrap().to_owned(),
            headers: vec![super::super::plain(super::super::JSON)],
            body: text("/body").unwrap().as_bytes().to_vec(),
        };
        let address = Address::parse(&request.url, &[]).unwrap();
        let secret = |path: &str| text(path).map(SecretString::from);
        let (access, secret, session) =
            (secret("/access_key").unwrap(), secret("/secret_key").unwrap(), secret("/session_token"));
        let place = Place { host: address.authority(), region: text("/region").unwrap() };
        let signer = Signer { access: &access, secret: &secret, session: session.as_ref() };
        let signed = sign::signature(&request, place, signer, clock()).unwrap();
        for name in ["authorization", "x-amz-date", "x-amz-security-token"] {
            let ours = signed.iter().find(|(n, _)| *n == name).map(|(_, v)| v.expose_secret());
            assert_eq!(ours, text(&format!("/headers/{name}")), "{name} of {}", text("/name").unwrap());
        }
    }
}

#[test]
fn ids_are_encoded_once() {
    for (id, path) in [
        ("anthropic.claude-haiku-5-5", "anthropic.claude-haiku-5-5"),
        ("us.anthropic.claude-haiku-4-5-20251001-v1:0", "us.anthropic.claude-haiku-4-5-20251001-v1%3A0"),
        ("arn:aws:bedrock:us-west-2:1:x/ab c", "arn%3Aaws%3Abedrock%3Aus-west-2%3A1%3Ax%2Fab%20c"),
    ] {
        assert_eq!(utf8_percent_encode(id, RESERVED).to_string(), path);
    }
}
