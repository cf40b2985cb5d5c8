//! Calls against a server that fails in every way.

mod batches;
mod faults;
mod limits;
mod streams;
mod table;

use std::future::Future;
use std::thread;
use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use super::testing::{Answer, FaultyServer, account, provider};
use super::{Completion, CompletionClient, Failure};
use context::models::{Model, Price, Thinking};
use context::prompt::{Form, Prompt};
use context::settings::{ContextConfig, Provider};

/// In every prompt of these tests, and nowhere else.
const NOTE: &str = "the gardener's secret";

fn prompt() -> Prompt {
    Prompt {
        form: Form::Chunk,
        system: "Write a caption.".to_owned(),
        document: format!("<note>{NOTE}</note>"),
        task: "Now.".to_owned(),
        wanted: vec![1],
        max_tokens: 200,
        tokens: 50,
        ..Prompt::default()
    }
}

fn model(provider: Provider) -> Model {
    Model { sampling: true, thinking: Thinking::Effort("none"), ..super::wire::made::model(provider, "model-1") }
}

/// Long limits, so that a slow machine fails no test that is not about them.
fn config(base: &str) -> ContextConfig {
    ContextConfig {
        provider: Provider::OpenAi,
        base_url: Some(base.to_owned()),
        timeout: Duration::from_mins(20),
        deadline: Duration::from_hours(2),
        ..ContextConfig::default()
    }
}

fn client_with(server: &FaultyServer, change: impl FnOnce(&mut ContextConfig)) -> CompletionClient {
    let mut config = config(&server.url());
    change(&mut config);
    CompletionClient::new(&config, &model(config.provider)).unwrap()
}

fn client(server: &FaultyServer) -> CompletionClient {
    client_with(server, |_| {})
}

fn completion_body(text: &str) -> String {
    json!({
        "choices": [{ "message": { "role": "assistant", "content": text }, "finish_reason": "stop" }],
        "usage": { "prompt_tokens": 50, "completion_tokens": 7 },
    })
    .to_string()
}

fn good() -> Answer {
    Answer::new(200, completion_body("A caption."))
}

fn error(status: u16) -> Answer {
    Answer::new(status, r#"{"error":{"type":"scripted","message":"as the test wants it"}}"#)
}

/// Carries something out while the runtime's clock goes a hundred times as fast as the world's, by ticks. A clock that
/// is merely paused would leap to the next timeout whenever all wait for the server's thread.
async fn hurried<T>(doing: impl Future<Output = T>) -> T {
    tokio::pin!(doing);
    let tick = async || {
        // The clock does not leap while a blocking task runs.
        tokio::task::spawn_blocking(|| thread::sleep(Duration::from_millis(1))).await.unwrap();
        tokio::time::advance(Duration::from_millis(100)).await;
    };
    loop {
        tokio::select! {
            biased;
            done = &mut doing => return done,
            () = tick() => {}
        }
    }
}

/// Waits for something to come true, for an hour of hurried time.
async fn until(is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_hours(1), "it never came true");
        tokio::task::yield_now().await;
    }
}

async fn complete(client: &CompletionClient) -> Result<Completion, Failure> {
    hurried(asked(client.clone())).await
}

/// Asks with all the money in the world.
async fn asked(client: CompletionClient) -> Result<Completion, Failure> {
    client.complete(&prompt(), &account()).await.map_err(provider)
}
