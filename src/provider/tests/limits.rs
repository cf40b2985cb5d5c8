//! Keys, limits of time and of number, and the circuit, with a server behind them.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};

use tokio::task::JoinSet;

use super::*;
use crate::testing::How;
use crate::{Account, Embeddings, FailureKind, Health, RerankClient, Wanted};
use index::embed::TextKind;
use index::embed::settings::{EmbedConfig, EmbedProvider};
use index::search::rerank::{RerankConfig, RerankProvider};

/// A file with a key, as one should be.
pub(super) fn key_file(dir: &Path, key: &str) -> PathBuf {
    let file = dir.join("key");
    fs::write(&file, key).unwrap();
    platform::files::set_mode(&file, 0o600).unwrap();
    file
}

/// Takes one key, and refuses all others.
fn doorkeeper(right: &'static str) -> FaultyServer {
    FaultyServer::start(move |_, seen| match seen.header("authorization") {
        Some(key) if key == format!("Bearer {right}") => good(),
        _ => error(401),
    })
}

/// As long as it is up, good answers.
fn switched(up: &Arc<AtomicBool>, otherwise: Answer) -> FaultyServer {
    let up = up.clone();
    FaultyServer::start(move |_, _| if up.load(Ordering::SeqCst) { good() } else { otherwise.clone() })
}

async fn pass(seconds: u64) {
    tokio::time::advance(Duration::from_secs(seconds)).await;
}

#[tokio::test(start_paused = true)]
async fn the_key_is_read_when_it_is_needed_and_after_resuming() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("key");
    let server = doorkeeper("right");
    let client = client_with(&server, |config| config.key.file = Some(file));
    key_file(dir.path(), "right");
    assert!(complete(&client).await.is_ok());
    // From then on it is known.
    key_file(dir.path(), "wrong");
    assert!(complete(&client).await.is_ok());
    client.resume();
    assert_eq!(complete(&client).await.unwrap_err().kind, FailureKind::Unauthorized);
}

#[tokio::test(start_paused = true)]
async fn a_key_that_is_refused_is_looked_up_again() {
    let dir = tempfile::tempdir().unwrap();
    let file = key_file(dir.path(), "new");
    let rotated = file.clone();
    // The key changes while the provider has the request.
    let server = FaultyServer::start(move |n, seen| {
        let good_key = if n == 0 { "Bearer new" } else { "Bearer newer" };
        if n == 1 {
            fs::write(&rotated, "newer\n").unwrap();
        }
        if seen.header("authorization") == Some(good_key) { good() } else { error(401) }
    });
    let client = client_with(&server, |config| config.key.file = Some(file));
    assert_eq!(complete(&client).await.unwrap().attempts, 1);
    let completion = complete(&client).await.unwrap();
    assert_eq!((completion.attempts, client.health()), (2, Health::Good));
}

#[tokio::test(start_paused = true)]
async fn a_wrong_key_stops_all_calls_with_one_request() {
    let dir = tempfile::tempdir().unwrap();
    let file = key_file(dir.path(), "wrong");
    let server = doorkeeper("right");
    let client = client_with(&server, |config| config.key.file = Some(file));
    for _ in 0..5 {
        let failure = complete(&client).await.unwrap_err();
        assert_eq!((failure.kind, failure.maybe_billed), (FailureKind::Unauthorized, false));
        assert!(failure.message.contains("situated resume"), "{}", failure.message);
    }
    pass(100_000).await;
    assert!(complete(&client).await.is_err());
    assert_eq!(server.count(), 1);
    assert!(matches!(client.health(), Health::Stopped(why) if why.contains("401")));
    key_file(dir.path(), "right");
    client.resume();
    assert!(complete(&client).await.is_ok());
    assert_eq!(client.health(), Health::Good);
}

#[tokio::test(start_paused = true)]
async fn a_key_that_cannot_be_read_stops_without_a_request() {
    let dir = tempfile::tempdir().unwrap();
    let server = doorkeeper("right");
    let client = client_with(&server, |config| config.key.file = Some(dir.path().join("none")));
    assert_eq!(complete(&client).await.unwrap_err().kind, FailureKind::Unauthorized);
    assert!(matches!(client.health(), Health::Stopped(_)));
    // One that no header can carry is as bad.
    let odd = key_file(dir.path(), "two\nlines");
    let client = client_with(&server, |config| config.key.file = Some(odd));
    assert!(complete(&client).await.is_err());
    assert_eq!(server.count(), 0);
}

#[tokio::test(start_paused = true)]
async fn an_unknown_model_stops_all_calls() {
    let server = FaultyServer::script(vec![error(404)]);
    let client = client(&server);
    for _ in 0..3 {
        assert_eq!(complete(&client).await.unwrap_err().kind, FailureKind::UnknownModel);
    }
    assert_eq!(server.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_spend_limit_stops_for_an_hour() {
    let limit = || Answer::new(429, r#"{"error":{"type":"insufficient_quota","code":"insufficient_quota"}}"#);
    let server = FaultyServer::script(vec![limit(), limit(), good()]);
    let client = client(&server);
    for _ in 0..3 {
        let failure = complete(&client).await.unwrap_err();
        assert_eq!((failure.kind, failure.maybe_billed), (FailureKind::SpendLimit, false));
    }
    assert_eq!(server.count(), 1);
    assert!(matches!(client.health(), Health::Stopped(_)));
    pass(3601).await;
    assert!(complete(&client).await.is_err());
    assert!(complete(&client).await.is_err());
    assert_eq!(server.count(), 2);
    pass(3601).await;
    assert!(complete(&client).await.is_ok());
    assert_eq!(client.health(), Health::Good);
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_is_longer_than_the_deadline_is_not_waited_for() {
    let server = FaultyServer::script(vec![error(429).header("retry-after", "100"), good()]);
    let client = client_with(&server, |config| config.deadline = Duration::from_secs(60));
    let began = Instant::now();
    assert_eq!(complete(&client).await.unwrap_err().kind, FailureKind::Unavailable);
    // Nor by others, as long as the provider wants to be left alone, which it is said of it.
    for _ in 0..10 {
        let failure = complete(&client).await.unwrap_err();
        assert!(failure.message.contains("left alone"), "{}", failure.message);
    }
    assert!(began.elapsed() < Duration::from_secs(30));
    assert_eq!(server.count(), 1);
    let left = Duration::from_secs(100);
    assert!(matches!(client.health(), Health::Open(wait, why) if wait <= left && why.contains("left alone")));
    pass(100).await;
    assert_eq!(client.health(), Health::Good);
    assert!(complete(&client).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn no_wait_that_a_provider_asks_for_is_longer_than_an_hour() {
    for absurd in ["1000000000000", "86400", "Fri, 31 Dec 9999 23:59:59 GMT"] {
        let server = FaultyServer::script(vec![error(429).header("retry-after", absurd), good()]);
        let client = client_with(&server, |config| config.deadline = Duration::from_mins(30));
        assert_eq!(complete(&client).await.unwrap_err().kind, FailureKind::Unavailable);
        let hour = Duration::from_hours(1);
        assert!(matches!(client.health(), Health::Open(wait, _) if wait > hour / 2 && wait <= hour), "{absurd}");
        pass(3600).await;
        assert_eq!((client.health(), complete(&client).await.is_ok()), (Health::Good, true), "{absurd}");
        assert_eq!(server.count(), 2);
    }
    // One that makes no sense is none.
    for senseless in ["-1", "-1000000000000", "NaN", "never"] {
        let server = FaultyServer::script(vec![error(429).header("retry-after", senseless), good()]);
        let client = client(&server);
        assert_eq!(complete(&client).await.unwrap().attempts, 2, "{senseless}");
        assert_eq!(client.health(), Health::Good);
    }
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_was_down_for_a_day_is_found_well_within_minutes() {
    let up = Arc::new(AtomicBool::new(false));
    let server = switched(&up, error(503));
    let client = client(&server);
    for _ in 0..5 {
        assert!(complete(&client).await.is_err());
    }
    for _ in 0..12 {
        pass(3600).await;
        assert!(complete(&client).await.is_err());
    }
    up.store(true, Ordering::SeqCst);
    pass(300).await;
    assert!(complete(&client).await.is_ok());
    assert_eq!(client.health(), Health::Good);
}

#[tokio::test(start_paused = true)]
async fn one_busy_answer_holds_all_calls_back() {
    let server = FaultyServer::script(vec![error(429).header("retry-after", "30"), good()]);
    let client = client(&server);
    let began = Instant::now();
    let mut calls = JoinSet::new();
    let call = |calls: &mut JoinSet<_>| {
        let client = client.clone();
        calls.spawn(asked(client));
    };
    hurried(async {
        call(&mut calls);
        until(|| client.shared.pace.quiet().is_some()).await;
        (0..3).for_each(|_| call(&mut calls));
        while let Some(outcome) = calls.join_next().await {
            assert!(outcome.unwrap().is_ok() && began.elapsed() >= Duration::from_secs(30));
        }
    })
    .await;
    assert_eq!(server.count(), 5);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_not_wanted_any_more_is_not_tried_again() {
    for embeds in [false, true] {
        let asked = Arc::new(AtomicBool::new(false));
        let (seen, wanted) = (asked.clone(), Wanted::so_long(move || !asked.load(Ordering::SeqCst)));
        let server = FaultyServer::start(move |_, _| {
            seen.store(true, Ordering::SeqCst);
            error(429).header("retry-after", "5")
        });
        let account = Account { wanted: Some(wanted), ..account() };
        let failed = if embeds {
            let config =
                EmbedConfig { provider: EmbedProvider::OpenAi, base_url: Some(server.url()), ..EmbedConfig::default() };
            let (client, text) = (Embeddings::new(&config).unwrap(), vec![vec!["a".to_owned()]]);
            hurried(client.embed(&text, TextKind::Document, None, false, &account)).await.map(drop)
        } else {
            hurried(client(&server).complete(&prompt(), &account)).await.map(drop)
        };
        assert_eq!((provider(failed.unwrap_err()).kind, server.count()), (FailureKind::Cancelled, 1), "{embeds}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_ends_at_its_deadline() {
    let server = FaultyServer::script(vec![good().how(How::Never)]);
    let client = client_with(&server, |config| {
        config.timeout = Duration::from_secs(20);
        config.deadline = Duration::from_secs(30);
    });
    let began = Instant::now();
    assert!(complete(&client).await.is_err());
    assert!(began.elapsed() < Duration::from_secs(32), "{:?}", began.elapsed());
    assert_eq!(server.count(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_is_down_is_left_alone_and_found_again() {
    let up = Arc::new(AtomicBool::new(false));
    let server = switched(&up, error(503));
    let client = client(&server);
    for _ in 0..8 {
        assert_eq!(complete(&client).await.unwrap_err().kind, FailureKind::Unavailable);
    }
    assert_eq!(server.count(), 5 * 4);
    assert!(
        matches!(client.health(), Health::Open(left, why) if left <= Duration::from_mins(1) && why.contains("503"))
    );
    pass(60).await;
    // The probe asks once.
    assert!(complete(&client).await.is_err());
    assert!(complete(&client).await.is_err());
    assert_eq!(server.count(), 5 * 4 + 1);
    pass(60).await;
    assert!(complete(&client).await.is_err());
    assert_eq!(server.count(), 5 * 4 + 1);
    up.store(true, Ordering::SeqCst);
    pass(60).await;
    assert!(complete(&client).await.is_ok());
    assert_eq!(client.health(), Health::Good);
}

#[tokio::test(start_paused = true)]
async fn calls_that_wait_for_a_place_do_not_wait_for_a_dead_provider() {
    let server = FaultyServer::script(vec![error(503)]);
    let client = client(&server);
    let mut calls = JoinSet::new();
    for _ in 0..200 {
        let client = client.clone();
        calls.spawn(asked(client));
    }
    hurried(async {
        while let Some(outcome) = calls.join_next().await {
            assert_eq!(outcome.unwrap().unwrap_err().kind, FailureKind::Unavailable);
        }
    })
    .await;
    // Five calls fail after four attempts each, while others have begun theirs.
    assert!(server.count() <= 4 * 9, "{}", server.count());
}

#[tokio::test(start_paused = true)]
async fn calls_at_once_are_limited_and_grow() {
    // The first four are not answered before all of them are there, nor the last six.
    let (four, six) = (Barrier::new(4), Barrier::new(6));
    let server = FaultyServer::start(move |n, _| {
        match n {
            0..4 => drop(four.wait()),
            114..120 => drop(six.wait()),
            _ => {}
        }
        good()
    });
    let client = client_with(&server, |config| config.concurrency = 6);
    for (calls, most) in [(19, 4), (101, 6)] {
        let mut set = JoinSet::new();
        for _ in 0..calls {
            let client = client.clone();
            set.spawn(asked(client));
        }
        hurried(async { while set.join_next().await.transpose().unwrap().transpose().unwrap().is_some() {} }).await;
        assert_eq!(server.most_at_once(), most);
    }
    let seen = server.seen();
    assert_eq!(seen.len(), 120);
    assert!(seen.is_sorted_by_key(|seen| seen.at));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_given_up_leaves_its_place() {
    let server = FaultyServer::start(|n, _| if n == 0 { good().how(How::Never) } else { good() });
    let client = client_with(&server, |config| config.concurrency = 1);
    let call = tokio::spawn({
        let client = client.clone();
        asked(client)
    });
    hurried(until(|| server.count() > 0)).await;
    call.abort();
    assert!(complete(&client).await.is_ok());
    assert_eq!(client.health(), Health::Good);
}

#[tokio::test(start_paused = true)]
async fn many_refusals_and_answers_leave_all_places_in_order() {
    let server = FaultyServer::start(|n, _| if n % 3 == 2 { error(529) } else { good() });
    let client = client(&server);
    let mut calls = JoinSet::new();
    for _ in 0..60 {
        let client = client.clone();
        calls.spawn(asked(client));
    }
    let mut answered = 0;
    hurried(async {
        while let Some(outcome) = calls.join_next().await {
            answered += usize::from(outcome.unwrap().is_ok());
        }
    })
    .await;
    assert_eq!(answered, 60);
}

#[test]
fn what_leaves_the_machine_is_known() {
    for (base, leaves) in [
        ("http://127.0.0.1:8080", None),
        ("http://localhost:11434/v1", None),
        ("http://[::1]:1", None),
        ("https://api.example.org/v1", Some("api.example.org")),
        ("http://192.168.1.5:8000", Some("192.168.1.5:8000")),
    ] {
        let client = CompletionClient::new(&config(base), &model(Provider::OpenAi)).unwrap();
        assert_eq!(client.leaves_to().as_deref(), leaves, "{base}");
        assert!(client.batches().is_none());
    }
    assert!(CompletionClient::new(&config("not an address"), &model(Provider::OpenAi)).is_err());
}

/// Whatever asks for it, and by whichever interface.
#[test]
fn what_ollama_passes_on_leaves_the_machine() {
    let (base_url, ollama) = (|| Some("http://127.0.0.1:11434".to_owned()), Some("127.0.0.1:11434"));
    for (id, to) in [
        ("glm-4.6:cloud", ollama),
        ("gpt-oss:120b-cloud", ollama),
        ("GLM-4.6:Cloud", ollama),
        ("llama3.2:3b", None),
        ("cloudy:7b", None),
    ] {
        for provider in [Provider::Ollama, Provider::OpenAi] {
            let context = ContextConfig {
                provider,
                model: Some(id.to_owned()),
                base_url: base_url(),
                ..ContextConfig::default()
            };
            let model = crate::model(&context).unwrap();
            let client = CompletionClient::new(&context, &model).unwrap();
            assert_eq!((client.leaves_to().as_deref(), crate::leaves(&context)), (to, to.is_some()), "{id}");
            assert_eq!(model.price == Price::Free, to.is_none(), "{id}");
        }
        for provider in [EmbedProvider::Ollama, EmbedProvider::OpenAi] {
            let embed =
                EmbedConfig { provider, model: Some(id.to_owned()), base_url: base_url(), ..EmbedConfig::default() };
            let client = Embeddings::new(&embed).unwrap();
            assert_eq!((client.leaves_to().as_deref(), client.price()), (to, to.is_none().then_some(0)), "{id}");
        }
        let (provider, model) = (RerankProvider::Tei, Some(id.to_owned()));
        let rerank = RerankConfig { provider, model, base_url: base_url(), ..RerankConfig::default() };
        assert_eq!(RerankClient::new(&rerank).unwrap().leaves_to().as_deref(), to, "{id}");
    }
}
