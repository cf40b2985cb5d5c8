//! Every fault of a server or a network on every wire, as a table: what comes of a call, how many requests it makes,
//! and how many of them the ledger holds. Whatever happens, the ledger holds no less than a provider may bill.

use std::sync::Arc;

use super::*;
use crate::ledger::{BudgetLimits, Ledger, Purpose};
use crate::spender::Account;
use crate::testing::How;
use crate::{Spender, Unanswered};
use context::models::Rates;

/// Millionths of a dollar that a call is reserved for (50 tokens at 1, 200 at 5), and that its answer takes (40 and 7).
const MOST: u64 = 50 + 200 * 5;
const EXACT: u64 = 40 + 7 * 5;

/// The wires, in the order of the table's columns.
const WIRES: [Provider; 4] = [Provider::Anthropic, Provider::Bedrock, Provider::OpenAi, Provider::Ollama];

fn good_on(wire: Provider) -> Answer {
    let text = "A caption.";
    let body = match wire {
        Provider::OpenAi => json!({
            "choices": [{ "message": { "role": "assistant", "content": text }, "finish_reason": "stop" }],
            "usage": { "prompt_tokens": 40, "completion_tokens": 7 },
        }),
        Provider::Ollama => json!({
            "model": "model-1", "message": { "role": "assistant", "content": text }, "done": true,
            "done_reason": "stop", "prompt_eval_count": 40, "eval_count": 7,
        }),
        _ => json!({
            "type": "message", "role": "assistant", "model": "model-1", "stop_reason": "end_turn",
            "content": [{ "type": "text", "text": text }], "usage": { "input_tokens": 40, "output_tokens": 7 },
        }),
    };
    Answer::new(200, body.to_string())
}

/// An answer with a fault, by its name in the table.
fn fault(name: &str, wire: Provider) -> Answer {
    let good = good_on(wire);
    let scripted = |status: u16, kind: &str| {
        let body = json!({ "type": "error", "error": { "type": kind, "message": "as the test wants it" } });
        Answer::new(status, body.to_string())
    };
    let part = |bytes: usize| good.body[..bytes].to_vec();
    match name {
        "none" => good,
        "late" => good.how(How::Late(Duration::from_millis(20))),
        "401" => scripted(401, "authentication_error"),
        "429" => scripted(429, "rate_limit_error"),
        "429, in 2 s" => scripted(429, "rate_limit_error").header("retry-after", "2"),
        "429, in -5 s" => scripted(429, "rate_limit_error").header("retry-after", "-5"),
        "429, in the year 9999" => {
            scripted(429, "rate_limit_error").header("retry-after", "Fri, 31 Dec 9999 23:59:59 GMT")
        }
        "500" => scripted(500, "server_error"),
        "502 with a page" => {
            Answer::new(502, "<html><h1>502 Bad Gateway</h1></html>").header("content-type", "text/html")
        }
        "503" => scripted(503, "server_error"),
        "529" => scripted(529, "overloaded_error"),
        "200 with an error" => scripted(200, "overloaded_error"),
        "empty body" => Answer::new(200, ""),
        "garbage" => Answer::new(200, r#"{"id": "x", "content": [ <<<"#),
        "half a body, said to be whole" => Answer::new(200, part(30)),
        "not UTF-8" => Answer::new(200, [part(30), vec![0xff; 8], good.body[38..].to_vec()].concat()),
        "cut" => good.how(How::Cut(30)),
        "reset" => good.how(How::Reset(30)),
        "closed without a word" => good.how(How::Close),
        "drips" => good.how(How::Drip(Duration::from_millis(20))),
        "stalls" => good.how(How::Stall(30)),
        "no answer" => good.how(How::Never),
        other => panic!("no fault is called {other}"),
    }
}

/// Whether a provider may bill a request that it answered so: it carried it out, or nobody knows.
fn may_be_billed(name: &str) -> bool {
    !name.starts_with(['4', '5'])
}

/// What a call comes to. `answered 2:1`: with an answer, two requests, one of them in the ledger.
type Cell = &'static str;

/// A fault; what comes of it when the answer after it is good, and when it never ends. A wire that differs from the
/// others is named before its own cell.
const TABLE: &[(&str, &[Cell], &[Cell])] = &[
    ("none", &["answered 1:1"], &["answered 1:1"]),
    ("late", &["answered 1:1"], &["answered 1:1"]),
    ("401", &["Unauthorized 1:0"], &["Unauthorized 1:0"]),
    ("429", &["answered 2:1"], &["Unavailable 4:0"]),
    ("429, in 2 s", &["answered 2:1"], &["Unavailable 4:0"]),
    ("429, in -5 s", &["answered 2:1"], &["Unavailable 4:0"]),
    ("429, in the year 9999", &["Unavailable 1:0"], &["Unavailable 1:0"]),
    ("500", &["answered 2:1"], &["Unavailable 4:0"]),
    ("502 with a page", &["answered 2:1"], &["Unavailable 4:0"]),
    ("503", &["answered 2:1"], &["Unavailable 4:0"]),
    ("529", &["answered 2:1"], &["Unavailable 4:0"]),
    ("200 with an error", &["answered 2:2"], &["Unavailable 4:4"]),
    ("empty body", &["answered 2:2"], &["Unavailable 4:4"]),
    ("garbage", &["answered 2:2"], &["Unavailable 4:4"]),
    ("half a body, said to be whole", &["answered 2:2"], &["Unavailable 4:4"]),
    ("not UTF-8", &["answered 2:2"], &["Unavailable 4:4"]),
    ("cut", &["answered 2:2"], &["Unavailable 4:4"]),
    ("reset", &["answered 2:2"], &["Unavailable 4:4"]),
    ("closed without a word", &["answered 2:2"], &["Unavailable 4:4"]),
    ("drips", &[], &["Unavailable 4:4"]),
    ("stalls", &[], &["Unavailable 4:4"]),
    ("no answer", &[], &["Unavailable 4:4"]),
];

/// The cell of a wire in a row.
fn cell(row: &[Cell], wire: Provider) -> Cell {
    let own = row.iter().find_map(|cell| cell.strip_prefix(wire.name())?.strip_prefix(": "));
    own.unwrap_or(row[0])
}

fn client_of(server: &FaultyServer, wire: Provider, quick: bool) -> CompletionClient {
    let config = ContextConfig {
        provider: wire,
        base_url: Some(server.url()),
        // Short only where nothing ever comes, so that a slow machine changes no cell.
        timeout: if quick { Duration::from_secs(10) } else { Duration::from_mins(20) },
        deadline: Duration::from_mins(50),
        ..ContextConfig::default()
    };
    let rates = Rates {
        as_of: "2026-11-12".to_owned(),
        input: 1_000_000,
        output: 5_000_000,
        cache_write: 0,
        cache_read: 0,
        batch_percent: 50,
        above: None,
    };
    CompletionClient::new(&config, &Model { price: Price::Tokens(rates), ..model(wire) }).unwrap()
}

/// Plays a fault, once or for ever, and says what came of it as the table does; checks the ledger against the server.
async fn played(name: &str, wire: Provider, for_ever: bool) -> String {
    let (bad, good) = (fault(name, wire), good_on(wire));
    let server = FaultyServer::start(move |n, _| if n == 0 || for_ever { bad.clone() } else { good.clone() });
    let endless = matches!(name, "drips" | "stalls" | "no answer");
    let client = client_of(&server, wire, endless);
    let spender: Arc<Spender> =
        Spender::new(Ledger::in_memory(), BudgetLimits { day: 1_000_000_000, day_tokens: u64::MAX });
    let account = Account::of(&spender, Purpose::Change);
    let outcome = hurried(client.complete(&prompt(), &account)).await;
    let told = match &outcome {
        Ok(completion) => {
            assert_eq!(completion.text, "A caption.");
            "answered".to_owned()
        }
        Err(Unanswered::Provider(failure)) => format!("{:?}", failure.kind),
        Err(Unanswered::Budget(refused)) => panic!("{refused}"),
    };
    let today = spender.ledger().report(jiff::Zoned::now()).today;
    let place = format!("{name} on {}: {today:?}", wire.name());
    let answered = u64::from(outcome.is_ok());
    // What the server may bill: each request that it did not refuse.
    let faults = server.count() as u64 - answered;
    let bill = answered + if may_be_billed(name) { faults } else { 0 };
    assert_eq!((today.calls, today.unsettled_calls), (bill, 0), "{place}");
    assert_eq!(today.micro_dollars, answered * EXACT + (bill - answered) * MOST, "{place}");
    format!("{told} {}:{}", server.count(), today.calls)
}

#[tokio::test(start_paused = true)]
async fn every_fault_on_every_wire_comes_to_what_the_table_says() {
    let mut wrong = Vec::new();
    for (name, once, for_ever) in TABLE {
        for wire in WIRES {
            for (row, is_for_ever) in [(once, false), (for_ever, true)] {
                if row.is_empty() {
                    continue;
                }
                let (came, told) = (played(name, wire, is_for_ever).await, cell(row, wire));
                if came != told {
                    let when = if is_for_ever { "for ever" } else { "once" };
                    wrong.push(format!("{name}, {when}, on {}: {came}, and the table says {told}", wire.name()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
