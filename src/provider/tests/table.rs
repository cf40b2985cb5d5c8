//! Every fault of a server or a network on every wire, as a table: what comes of a call, how many requests it makes,
//! and how many of them the ledger holds. Whatever happens, the ledger holds no less than a provider may bill, a failure
//! is told in one line that repeats neither text nor key, and once the provider is well it is asked again.

mod wires;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::task::JoinSet;

use super::*;
use crate::ledger::{BudgetLimits, Ledger, Purpose};
use crate::spender::Account;
use crate::testing::{How, Seen};
use crate::{FailureKind, Spender, Unanswered};
use wires::{Line, WIRES, Wire};

/// What every client sends as its key.
const KEY: &str = "open-sesame";

/// The longest line that a user is told.
const MOST_TOLD: usize = 400;

/// An answer with a fault, by its name in the table. Its body repeats what was sent, the key too.
fn fault(name: &str, wire: Wire, seen: &Seen, elsewhere: &str) -> Answer {
    let good = wire.good();
    let scripted = |status: u16, kind: &str| {
        let message = format!("{KEY} sent {}", seen.text());
        Answer::new(status, json!({ "type": "error", "error": { "type": kind, "message": message } }).to_string())
    };
    let part = |bytes: usize| good.body[..bytes].to_vec();
    match name {
        "none" => good,
        "late" => good.how(How::Late(Duration::from_millis(20))),
        "302 to elsewhere" => scripted(302, "moved").header("location", elsewhere),
        "401" => scripted(401, "authentication_error"),
        "429" => scripted(429, "rate_limit_error"),
        "429, in 2 s" => scripted(429, "rate_limit_error").header("retry-after", "2"),
        "429, in -5 s" => scripted(429, "rate_limit_error").header("retry-after", "-5"),
        "429, in 10^12 s" => scripted(429, "rate_limit_error").header("retry-after", "1000000000000"),
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
        "200 with a page" => {
            Answer::new(200, format!("<html>{KEY}\n{NOTE}</html>")).header("content-type", "text/html")
        }
        "empty body" => Answer::new(200, ""),
        "garbage" => Answer::new(200, r#"{"id": "x", "content": [ <<<"#),
        "JSON of something else" => Answer::new(200, json!({ "you": seen.text(), "know": KEY }).to_string()),
        "half a body, said to be whole" => Answer::new(200, part(30)),
        "not UTF-8" => Answer::new(200, [part(30), vec![0xff; 8], good.body[38..].to_vec()].concat()),
        "cut" => good.how(How::Cut(30)),
        "reset" => good.how(How::Reset(30)),
        "closed without a word" => good.how(How::Close),
        "drips" => good.how(How::Drip(Duration::from_millis(20))),
        "stalls" => good.how(How::Stall(30)),
        "no answer" => good.how(How::Never),
        how => wires::spoiled(&good, how).unwrap_or_else(|| panic!("{how} is nothing on {}", wire.name())),
    }
}

/// Whether a provider may bill a request that it answered so: it carried it out, or nobody knows.
fn may_be_billed(name: &str) -> bool {
    !name.starts_with(['3', '4', '5'])
}

/// Whether its answer never ends, so that only a short patience ends the test.
fn is_endless(name: &str) -> bool {
    matches!(name, "drips" | "stalls" | "no answer")
}

/// What a call comes to. `answered 2:1`: with an answer, two requests, one of them in the ledger if it is paid for.
type Cell = &'static str;

/// A fault; what comes of it when the answer after it is good, and when it never ends.
struct Row {
    fault: &'static str,
    /// On a wire where an attempt that may be billed is made again.
    eager: [Cell; 2],
    /// On one where it is not.
    careful: [Cell; 2],
    /// The wires that differ, by how their names begin.
    but: &'static [(&'static str, [Cell; 2])],
}

/// The same on every wire.
const fn all(fault: &'static str, once: Cell, for_ever: Cell) -> Row {
    Row { fault, eager: [once, for_ever], careful: [once, for_ever], but: &[] }
}

/// An answer came that is of no use, or nobody knows what became of the request.
const fn spoilt(fault: &'static str, but: &'static [(&'static str, [Cell; 2])]) -> Row {
    let careful = ["Unavailable 1:1", "Unavailable 1:1"];
    Row { fault, eager: ["answered 2:2", "Unavailable 4:4"], careful, but }
}

/// The same of something that never ends.
const fn endless(fault: &'static str) -> Row {
    // A batch may be sent for an hour: `batches` has a test of its own.
    let but: &[_] = &[("batch HandIn", ["", ""])];
    Row { fault, eager: ["", "Unavailable 4:4"], careful: ["", "Unavailable 1:1"], but }
}

/// Nothing of the answer to a batch that is given up is read.
const UNREAD: (&str, [Cell; 2]) = ("batch Cancel", ["answered 1", "answered 1"]);

/// Of results what can be read counts, after a second look.
const SECOND_LOOK: (&str, [Cell; 2]) = ("batch Results", ["answered 2", "answered 2"]);

const TABLE: &[Row] = &[
    all("none", "answered 1:1", "answered 1:1"),
    all("late", "answered 1:1", "answered 1:1"),
    all("302 to elsewhere", "Unavailable 1:0", "Unavailable 1:0"),
    all("401", "Unauthorized 1:0", "Unauthorized 1:0"),
    all("429", "answered 2:1", "Unavailable 4:0"),
    all("429, in 2 s", "answered 2:1", "Unavailable 4:0"),
    all("429, in -5 s", "answered 2:1", "Unavailable 4:0"),
    all("429, in 10^12 s", "Unavailable 1:0", "Unavailable 1:0"),
    all("429, in the year 9999", "Unavailable 1:0", "Unavailable 1:0"),
    all("500", "answered 2:1", "Unavailable 4:0"),
    all("502 with a page", "answered 2:1", "Unavailable 4:0"),
    all("503", "answered 2:1", "Unavailable 4:0"),
    all("529", "answered 2:1", "Unavailable 4:0"),
    spoilt("200 with an error", &[UNREAD]),
    spoilt("200 with a page", &[UNREAD]),
    spoilt("empty body", &[UNREAD]),
    spoilt("garbage", &[UNREAD]),
    spoilt("JSON of something else", &[UNREAD]),
    spoilt("half a body, said to be whole", &[UNREAD]),
    spoilt("not UTF-8", &[SECOND_LOOK]),
    spoilt("cut", &[]),
    spoilt("reset", &[]),
    spoilt("closed without a word", &[]),
    endless("drips"),
    endless("stalls"),
    endless("no answer"),
];

/// Faults of one item or another, where an answer is a list of them.
const ITEMS: &[Row] = &[
    spoilt("no items", &[]),
    // A reranker may pass documents over.
    spoilt("too few items", &[("judgement", ["answered 1:1", "answered 1:1"])]),
    spoilt("too many items", &[]),
    spoilt("items of another kind", &[]),
    spoilt("numbers are NaN", &[]),
    spoilt("numbers are infinite", &[]),
    spoilt("numbers are words", &[]),
    spoilt("numbers are missing", &[]),
    // No other text fares better: the user has to say how many there are.
    Row { fault: "more numbers", eager: ["UnknownModel 1:1", "UnknownModel 1:1"], careful: ["", ""], but: &[] },
    // Of two scores for one document the first counts.
    spoilt("one index twice", &[("judgement", ["answered 1:1", "answered 1:1"])]),
    spoilt("an index past the end", &[]),
    spoilt("an index below 0", &[]),
];

impl Row {
    /// What the table says of a wire; empty if it is not tried there.
    fn cell(&self, wire: Wire, for_ever: bool) -> String {
        let name = wire.name();
        let own = self.but.iter().find(|(beginning, _)| name.starts_with(beginning)).map(|(_, cells)| cells);
        let cells = own.unwrap_or(if wire.is_careful() { &self.careful } else { &self.eager });
        let cell = cells[usize::from(for_ever)];
        if wire.is_paid() { cell.to_owned() } else { cell.split(':').next().unwrap_or_default().to_owned() }
    }
}

/// A wire with a server that has a fault, once or until it is well.
struct Play {
    wire: Wire,
    server: FaultyServer,
    line: Line,
    is_well: Arc<AtomicBool>,
}

impl Play {
    fn new(name: &'static str, wire: Wire, for_ever: bool, key: &std::path::Path, elsewhere: String) -> Play {
        let (is_well, well) = (Arc::new(AtomicBool::new(false)), wire.good());
        let server = FaultyServer::start({
            let is_well = is_well.clone();
            move |n, seen| {
                let is_bad = (n == 0 || for_ever) && !is_well.load(Ordering::SeqCst);
                if is_bad { fault(name, wire, seen, &elsewhere) } else { well.clone() }
            }
        });
        let line = wire.line(server.url(), key, is_endless(name));
        Play { wire, server, line, is_well }
    }

    /// Asks once, and says what came of it as the table does; checks the ledger against the server.
    async fn ask(&self, name: &str) -> String {
        let spender: Arc<Spender> =
            Spender::new(Ledger::in_memory(), BudgetLimits { day: 1_000_000_000, day_tokens: u64::MAX });
        let outcome = self.line.ask(&Account::of(&spender, Purpose::Change)).await;
        let requests = self.server.count() as u64;
        let today = spender.ledger().report(jiff::Zoned::now()).today;
        let place = format!("{name} on {}: {today:?}", self.wire.name());
        let told = match &outcome {
            Ok(()) => "answered".to_owned(),
            Err(Unanswered::Provider(failure)) => {
                assert_told(&failure.message, &self.server, &place);
                let is_stopped = matches!(failure.kind, FailureKind::Unauthorized | FailureKind::UnknownModel);
                assert_eq!(failure.message.contains("`situated resume`"), is_stopped, "{place}: {failure}");
                format!("{:?}", failure.kind)
            }
            Err(Unanswered::Budget(refused)) => panic!("{refused}"),
        };
        if !self.wire.is_paid() {
            assert_eq!(today.calls, 0, "{place}");
            return format!("{told} {requests}");
        }
        let answered = u64::from(outcome.is_ok());
        // What the server may bill: each request that it did not refuse.
        let bill = answered + if may_be_billed(name) { requests - answered } else { 0 };
        assert_eq!((today.calls, today.unsettled_calls), (bill, 0), "{place}");
        let least = answered * self.wire.exact();
        match self.wire.most() {
            Some(most) => assert_eq!(today.micro_dollars, least + (bill - answered) * most, "{place}"),
            None => assert!(today.micro_dollars >= least + (bill - answered), "{place}"),
        }
        format!("{told} {}:{}", requests, today.calls)
    }

    /// Asks a server that is well again; whether there is an answer.
    async fn ask_again(&self) -> bool {
        self.line.ask(&account()).await.is_ok()
    }
}

/// A failure is one line, says whose it is, and repeats neither what was sent nor what came.
fn assert_told(message: &str, server: &FaultyServer, place: &str) {
    let host = server.url();
    assert!(message.contains(host.trim_start_matches("http://")), "{place}: {message}");
    assert!(message.lines().count() == 1 && message.len() <= MOST_TOLD, "{place}: {message}");
    for kept in [KEY, NOTE, "<html>", "caption", "msgbatch", "0.6"] {
        assert!(!message.contains(kept), "{place}: {message}");
    }
}

/// Plays a row on all wires at once, and says where it comes to something else.
async fn played(row: &Row, for_ever: bool, wires: &[Wire], elsewhere: &str) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    let key = limits::key_file(dir.path(), KEY);
    let wires = wires.iter().filter(|wire| !row.cell(**wire, for_ever).is_empty());
    let wires = wires.filter(|wire| ITEMS.iter().all(|items| items.fault != row.fault) || spoils(row.fault, **wire));
    let plays: Vec<Arc<Play>> =
        wires.map(|wire| Arc::new(Play::new(row.fault, *wire, for_ever, &key, elsewhere.to_owned()))).collect();
    let name = row.fault;
    let mut asked = JoinSet::new();
    for play in plays.iter().cloned() {
        asked.spawn(async move { (play.wire, play.ask(name).await) });
    }
    let mut wrong = Vec::new();
    for (wire, came) in hurried(asked.join_all()).await {
        let said = row.cell(wire, for_ever);
        if came != said {
            let when = if for_ever { "for ever" } else { "once" };
            wrong.push(format!("{name}, {when}, on {}: {came}, and the table says {said}", wire.name()));
        }
        // Only the user knows that a key is right now, or the model another.
        let play = plays.iter().find(|play| play.wire == wire).unwrap();
        if said.starts_with("Unauthorized") || said.starts_with("UnknownModel") {
            play.line.resume();
        }
        play.is_well.store(true, Ordering::SeqCst);
    }
    wrong.extend(unwell(plays).await.into_iter().map(|wire| format!("{name}: {wire} is not asked again")));
    wrong
}

fn spoils(fault: &str, wire: Wire) -> bool {
    wire.has_items() && wires::spoiled(&wire.good(), fault).is_some()
}

/// The wires that have no answer though their servers are well: no provider is left alone for longer than an hour.
async fn unwell(mut plays: Vec<Arc<Play>>) -> Vec<String> {
    // On a busy machine a short patience may end before a good answer comes.
    for _ in 0..10 {
        tokio::time::advance(Duration::from_mins(61)).await;
        let mut asked = JoinSet::new();
        for play in plays {
            asked.spawn(async move { (!play.ask_again().await).then_some(play) });
        }
        plays = hurried(asked.join_all()).await.into_iter().flatten().collect();
        if plays.is_empty() {
            break;
        }
    }
    plays.iter().map(|play| play.wire.name()).collect()
}

#[tokio::test(start_paused = true)]
async fn every_fault_on_every_wire_comes_to_what_the_table_says() {
    let elsewhere = FaultyServer::script(vec![good()]);
    let mut wrong = Vec::new();
    for row in TABLE.iter().chain(ITEMS) {
        for for_ever in [false, true] {
            wrong.extend(played(row, for_ever, &WIRES, &elsewhere.url()).await);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(elsewhere.count(), 0, "neither a text nor a key goes elsewhere");
}
