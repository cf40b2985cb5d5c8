//! A server that is asked by REST, with a key in a file.

use tempfile::TempDir;

use super::*;
use crate::testing::{Answer, FaultyServer, How};

const KEY: &str = "key-of-nobody";
const LONG: Duration = Duration::from_secs(60);

fn key_file(dir: &TempDir, text: &str) -> KeyConfig {
    let file = dir.path().join("key");
    std::fs::write(&file, text).unwrap();
    platform::files::set_mode(&file, 0o600).unwrap();
    KeyConfig { file: Some(file), ..KeyConfig::default() }
}

#[tokio::test]
async fn the_key_goes_into_the_header_and_a_body_is_put() {
    let dir = TempDir::new().unwrap();
    let server = FaultyServer::start(|_, _| Answer::new(200, "{}"));
    let rest = RestServer::new(&server.url(), "api-key", &key_file(&dir, KEY), None).unwrap();
    let body = rest.ask(Method::PUT, "/collections/a", b"{\"a\":1}".to_vec(), LONG).await.unwrap();
    assert_eq!(body, b"{}");
    let seen = server.seen();
    assert_eq!((seen[0].method.as_str(), seen[0].path.as_str()), ("PUT", "/collections/a"));
    assert_eq!((seen[0].header("api-key"), seen[0].text().as_str()), (Some(KEY), "{\"a\":1}"));
    assert!(!format!("{rest:?}").contains(KEY));
}

#[tokio::test]
async fn a_key_that_is_refused_is_looked_up_once_more() {
    let dir = TempDir::new().unwrap();
    let server = FaultyServer::start(|_, seen| {
        if seen.header("api-key") == Some("new") { Answer::new(200, "{}") } else { Answer::new(403, "forbidden") }
    });
    let rest = RestServer::new(&server.url(), "api-key", &key_file(&dir, "old"), None).unwrap();
    let refused = rest.ask(Method::GET, "/", Vec::new(), LONG).await.unwrap_err();
    assert_eq!(refused, RestError::Refused(403, b"forbidden".to_vec()));
    key_file(&dir, "new");
    assert!(rest.ask(Method::GET, "/", Vec::new(), LONG).await.is_ok());
}

#[tokio::test]
async fn a_server_that_never_answers_is_waited_for_as_long_as_was_said() {
    let server = FaultyServer::start(|_, _| Answer::new(200, "{}").how(How::Never));
    let rest = RestServer::new(&server.url(), "api-key", &KeyConfig::default(), None).unwrap();
    let within = Duration::from_millis(50);
    assert_eq!(rest.ask(Method::GET, "/", Vec::new(), within).await, Err(RestError::Late(within)));
}

#[test]
fn no_key_goes_over_a_network_for_all_to_read() {
    let dir = TempDir::new().unwrap();
    let refused = RestServer::new("http://qdrant.example.org:6333", "api-key", &key_file(&dir, KEY), None).unwrap_err();
    assert!(refused.contains("https://") && !refused.contains(KEY), "{refused}");
}
