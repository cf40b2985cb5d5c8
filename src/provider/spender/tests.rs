//! Money on its way, against a provider that fails, and one that bills for failures.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::*;
use crate::testing::{Answer, FaultyServer, How};
use crate::{Completion, CompletionClient, Usage};
use context::models::{Model, Price, Rates, Thinking};
use context::prompt::{Form, Prompt};
use context::settings::{ContextConfig, Provider};
use protocol::cost::Sums;

/// Tokens of the prompt below, and of the longest answer to it.
const MOST: (u64, u64) = (50, 200);

/// Micro-dollars per token read and written.
const RATES: (u64, u64) = (1, 5);

/// What an attempt is reserved for: a dollar per million tokens read, five per million written.
const UPPER: u64 = MOST.0 * RATES.0 + MOST.1 * RATES.1;

/// What the answer of the server takes.
const EXACT: u64 = 40 * RATES.0 + 7 * RATES.1;

fn prompt() -> Prompt {
    Prompt {
        form: Form::Chunk,
        system: "Write a caption.".to_owned(),
        document: "<note>text</note>".to_owned(),
        task: "Now.".to_owned(),
        wanted: vec![1],
        max_tokens: MOST.1 as u32,
        tokens: MOST.0 as u32,
        ..Prompt::default()
    }
}

fn client(server: &FaultyServer) -> CompletionClient {
    let config = ContextConfig {
        provider: Provider::OpenAi,
        base_url: Some(server.url()),
        timeout: Duration::from_secs(20),
        concurrency: 2,
        ..ContextConfig::default()
    };
    let rates = Rates {
        as_of: "2026-11-12".to_owned(),
        input: RATES.0 * 1_000_000,
        output: RATES.1 * 1_000_000,
        cache_write: 0,
        cache_read: 0,
        batch_percent: 50,
        above: None,
    };
    let model = Model {
        provider: Provider::OpenAi,
        id: "model-1".to_owned(),
        known: true,
        sampling: true,
        thinking: Thinking::Effort("none"),
        output_cap: None,
        json_schema: false,
        min_cache_tokens: None,
        context_size: 100_000,
        token_factor: 1.0,
        price: Price::Tokens(rates),
    };
    CompletionClient::new(&config, &model).unwrap()
}

fn good() -> Answer {
    let body = json!({
        "choices": [{ "message": { "role": "assistant", "content": "A caption." }, "finish_reason": "stop" }],
        "usage": { "prompt_tokens": 40, "completion_tokens": 7 },
    });
    Answer::new(200, body.to_string())
}

/// An answer that makes no sense: the provider bills it.
fn billed_failure() -> Answer {
    Answer::new(200, "{\"choices\": [")
}

fn spender(day: u64) -> Arc<Spender> {
    Spender::new(Ledger::in_memory(), BudgetLimits { day, day_tokens: 0 })
}

fn account(spender: &Arc<Spender>) -> Account {
    Account { path: "a.md".into(), vault: "notes".into(), ..Account::of(spender, Purpose::Change) }
}

fn today(spender: &Spender) -> Sums {
    spender.ledger().report(jiff::Zoned::now()).today
}

async fn complete(server: &FaultyServer, spender: &Arc<Spender>) -> Result<Completion, Unanswered> {
    client(server).complete(&prompt(), &account(spender)).await
}

/// Calls, failed ones, those that are not settled, and millionths of a dollar.
fn counts(spender: &Spender) -> (u64, u64, u64, u64) {
    let today = today(spender);
    (today.calls, today.failed, today.unsettled_calls, today.micro_dollars)
}

#[tokio::test]
async fn every_attempt_that_was_billed_is_in_the_ledger() {
    let server = FaultyServer::script(vec![billed_failure(), billed_failure(), good()]);
    let spender = spender(1_000_000);
    let completion = complete(&server, &spender).await.unwrap();
    assert_eq!((completion.attempts, server.count()), (3, 3));
    assert_eq!(counts(&spender), (3, 2, 0, 2 * UPPER + EXACT));
}

#[tokio::test]
async fn a_call_that_fails_at_last_has_all_its_attempts_in_the_ledger() {
    let server = FaultyServer::script(vec![billed_failure()]);
    let spender = spender(1_000_000);
    assert!(complete(&server, &spender).await.is_err());
    assert_eq!(server.count(), 4);
    assert_eq!(counts(&spender), (4, 4, 0, 4 * UPPER));
}

#[tokio::test]
async fn attempts_that_are_not_billed_cost_nothing_and_reserve_once() {
    let server = FaultyServer::script(vec![Answer::new(500, "{}"), Answer::new(503, "{}"), good()]);
    // Enough for one attempt, and not for two.
    let spender = spender(UPPER);
    complete(&server, &spender).await.unwrap();
    assert_eq!(counts(&spender), (1, 0, 0, EXACT));
    let refused = FaultyServer::script(vec![Answer::new(400, "{}")]);
    let spender = super::tests::spender(UPPER);
    assert!(matches!(complete(&refused, &spender).await, Err(Unanswered::Provider(_))));
    assert_eq!(counts(&spender), (0, 0, 0, 0));
}

#[tokio::test]
async fn the_budget_holds_for_attempts_too() {
    let server = FaultyServer::script(vec![billed_failure(), billed_failure(), good()]);
    let spender = spender(2 * UPPER + UPPER / 2);
    let refused = complete(&server, &spender).await.unwrap_err();
    assert!(matches!(refused, Unanswered::Budget(OverBudget::Day { .. })), "{refused:?}");
    assert_eq!(server.count(), 2, "a third attempt would not fit");
    assert_eq!(counts(&spender), (2, 2, 0, 2 * UPPER));
}

#[tokio::test]
async fn nothing_is_reserved_without_a_place() {
    let server = FaultyServer::script(vec![good().how(How::Never)]);
    let spender = spender(1_000_000);
    let client = client(&server);
    let ask = || {
        let (client, account) = (client.clone(), account(&spender));
        tokio::spawn(async move { client.complete(&prompt(), &account).await })
    };
    let calls: Vec<_> = (0..10).map(|_| ask()).collect();
    while server.count() < 2 {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    assert_eq!(counts(&spender), (2, 0, 2, 2 * UPPER), "two places, two reservations");
    // Given up: those that were sent may be billed, the others never were.
    calls.iter().for_each(tokio::task::JoinHandle::abort);
    for call in calls {
        assert!(call.await.unwrap_err().is_cancelled());
    }
    assert_eq!((counts(&spender), server.count()), ((2, 2, 0, 2 * UPPER), 2));
}

#[tokio::test]
async fn what_an_answer_cost_stays_reserved_until_the_answer_is_kept() {
    let server = FaultyServer::start(|_, _| good());
    let (client, spender) = (client(&server), spender(100 * UPPER));
    let account = account(&spender);
    let ask = async || client.turn().await.unwrap().ask(&prompt(), &account).await.unwrap().1;
    let owed = ask().await;
    assert_eq!(counts(&spender), (1, 0, 1, UPPER));
    owed.settle(2).await;
    let report = spender.ledger().report(machine::zoned()).today;
    assert_eq!((counts(&spender).2, report.contexts), (0, 2));
    drop(ask().await);
    let (calls, unsettled, reserved, _) = counts(&spender);
    assert_eq!((calls, unsettled, reserved), (2, 1, 0), "an answer that nobody kept counts as one that was lost");
}

fn purchase(spender: &Arc<Spender>, micro_dollars: u64) -> Purchase {
    let (provider, model) = ("openai", Arc::from("model-1"));
    Purchase { account: account(spender), provider, model, micro_dollars: Some(micro_dollars), tokens: 10 }
}

#[test]
fn a_guard_that_is_dropped_settles_itself() {
    let spender = spender(1000);
    let reserve = |micro| spender.reserve(&purchase(&spender, micro));
    let unsent = reserve(600).unwrap();
    assert!(matches!(reserve(600), Err(OverBudget::Day { spent: 600, .. })));
    drop(unsent);
    assert_eq!(counts(&spender), (0, 0, 0, 0), "it was never sent");
    let sent = |micro| {
        let mut reserved = reserve(micro).unwrap();
        reserved.send();
        reserved
    };
    drop(sent(600));
    assert_eq!(counts(&spender), (1, 1, 0, 600), "it may have been billed");
    // One that was surely not billed pays for the next attempt.
    let mut again = sent(400);
    again.not_billed();
    again.send();
    let usage = Usage { input: 3, output: 1, ..Usage::default() };
    again.settle(Settled { usage, micro_dollars: Some(8), contexts: 1, failed: false });
    assert_eq!(counts(&spender), (2, 1, 0, 608));
    spender.set_limits(BudgetLimits { day: 609, day_tokens: 0 });
    assert!(reserve(2).is_err() && reserve(1).is_ok());
}

#[test]
fn a_batch_stays_reserved_until_somebody_settles_it() {
    let dir = tempfile::tempdir().unwrap();
    let limits = BudgetLimits { day: 1000, day_tokens: 0 };
    let open = || Spender::new(Ledger::open(dir.path()).unwrap(), limits);
    let first = open();
    let account = Account { path: "".into(), purpose: Purpose::Rebuild(3), ..account(&first) };
    let standing = first.reserve(&Purchase { account, ..purchase(&first, 500) }).unwrap().stand();
    drop(standing);
    drop(first);
    let second = open();
    assert_eq!(counts(&second), (1, 0, 1, 500));
    let taken_up = second.standing("notes", Purpose::Rebuild(3)).unwrap();
    let used = Settled { micro_dollars: Some(20), ..Settled::default() };
    taken_up.settle_parts(&[("a.md".to_owned(), used)]);
    assert_eq!(counts(&second), (1, 0, 0, 20));
    assert!(second.standing("notes", Purpose::Rebuild(3)).is_none());
}
