//! The simulated model: it records what it is asked, and answers well, late, wrongly, or not at all.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use provider::simulation::{PlayedAnswer, Script, What};
use serde_json::{Value, json};

use super::dice::Dice;
use super::invariants::names;
use super::shelf::{Shelf, Told};
use super::vault::{SECRET, letters};

/// Components of the vectors that it makes.
pub(super) const DIMENSIONS: usize = 8;

/// How a provider behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mood {
    /// It answers well, and soon.
    Well,
    /// It answers well, and late.
    Late,
    /// Anything may happen.
    Wild,
    /// It has too much to do.
    Busy,
    /// It is down.
    Down,
    /// What it says is of no use.
    Useless,
    /// It takes what it is asked, and says nothing.
    Silent,
}

impl Mood {
    pub(super) const ALL: [Mood; 7] =
        [Mood::Well, Mood::Late, Mood::Wild, Mood::Busy, Mood::Down, Mood::Useless, Mood::Silent];
}

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Good,
    /// 200, and a body that is not valid JSON.
    Garbage,
    /// 200, and no text.
    Empty,
    /// 200, and a text that cannot be used.
    Useless,
    /// 200, and the model declines.
    Declined,
    Refused(u16),
    /// 429, and when to come back.
    TooMany(Option<u64>),
    Reset,
    Cut,
    Unreachable,
    Silence,
}

impl Fate {
    /// Whether the provider charges nothing for the call, and says so.
    fn is_free(self) -> bool {
        match self {
            Fate::Refused(status) => !matches!(status, 408 | 504 | 524),
            Fate::TooMany(_) | Fate::Unreachable => true,
            _ => false,
        }
    }
}

/// A call.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) fate: Fate,
    /// Whether the caller received the answer.
    pub(super) delivered: bool,
    /// Whether nobody waits for it any more.
    pub(super) given_up: bool,
    /// Whether it is about batches, whose answers alone are paid for.
    batch: bool,
    /// How many questions it hands in.
    questions: usize,
    /// The words that name the captions in the answer.
    pub(super) captions: Vec<String>,
}

impl Call {
    /// Whether the ledger has it in the end.
    pub(super) fn is_billed(&self) -> bool {
        !(self.batch || self.delivered && self.fate.is_free())
    }

    /// How many questions it handed in of which the caller cannot know whether they arrived.
    pub(super) fn unsure(&self) -> usize {
        let is_sure = self.delivered && (self.fate.is_free() || self.fate == Fate::Good);
        if is_sure { 0 } else { self.questions }
    }
}

struct ModelState {
    dice: Dice,
    mood: Mood,
    calls: Vec<Call>,
    shelf: Shelf,
    /// Calls and batches before the moment of a death.
    frozen: Option<(Vec<Call>, Shelf)>,
    /// Number of the first call of this process.
    first: usize,
    /// What must not have happened.
    faults: Vec<String>,
    captions: u64,
    /// What was asked, for the report of a failure.
    log: Vec<String>,
}

/// The model. It outlives the processes that ask it.
pub(super) struct Model {
    state: RefCell<ModelState>,
    /// Whose notes it is asked about.
    vault: PathBuf,
    /// Most questions of a batch.
    most: usize,
}

impl Model {
    pub(super) fn new(dice: Dice, vault: &Path, most: usize) -> Rc<Self> {
        let (calls, shelf, frozen, faults) = (Vec::new(), Shelf::default(), None, Vec::new());
        let (captions, log) = (0, Vec::new());
        let state = ModelState { dice, mood: Mood::Well, calls, shelf, frozen, first: 0, faults, captions, log };
        Rc::new(Model { state: RefCell::new(state), vault: vault.to_owned(), most })
    }

    pub(super) fn set(&self, mood: Mood) {
        self.state.borrow_mut().mood = mood;
    }

    /// The asking process has died: what it asks from now on was never asked.
    pub(super) fn freeze(&self) {
        let mut state = self.state.borrow_mut();
        state.frozen = Some((state.calls.clone(), state.shelf.clone()));
    }

    /// Another process asks. Returns the calls of the last one.
    pub(super) fn thaw(&self) -> Vec<Call> {
        let mut state = self.state.borrow_mut();
        if let Some((calls, shelf)) = state.frozen.take() {
            (state.calls, state.shelf) = (calls, shelf);
        }
        let calls = state.calls[state.first..].to_vec();
        state.first = state.calls.len();
        calls
    }

    pub(super) fn calls(&self) -> Vec<Call> {
        self.state.borrow().calls.clone()
    }

    pub(super) fn shelf(&self) -> Shelf {
        self.state.borrow().shelf.clone()
    }

    pub(super) fn log(&self) -> Vec<String> {
        self.state.borrow().log.clone()
    }

    pub(super) fn faults(&self) -> Vec<String> {
        self.state.borrow().faults.clone()
    }

    /// How many calls of this process have no answer yet.
    pub(super) fn under_way(&self) -> usize {
        let state = self.state.borrow();
        state.calls[state.first..].iter().filter(|call| !call.delivered && !call.given_up).count()
    }
}

impl Script for Model {
    fn ask(&self, url: &str, body: &[u8]) -> PlayedAnswer {
        let state = &mut *self.state.borrow_mut();
        let text = String::from_utf8_lossy(body);
        if text.contains(SECRET) {
            state.faults.push("the text of a private note was sent".to_owned());
        }
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        let (mut fate, after) = fate(state.mood, &mut state.dice);
        let mut captions = Vec::new();
        let asked = Asked::read(&body);
        let anthropic = url.contains("/v1/messages");
        let batches = url.split_once("/v1/messages/batches").map(|(_, rest)| rest);
        if batches.is_some() && matches!(fate, Fate::Useless | Fate::Empty | Fate::Declined) {
            fate = Fate::Good;
        }
        let told = batches.filter(|_| state.arrives(fate)).map(|rest| state.about_batches(rest, &body, &self.vault));
        let what = match fate {
            Fate::Cut if batches.is_some() => What::Cut,
            Fate::Good if let Some((status, body, said)) = told => {
                captions = said;
                What::Reply(status, Vec::new(), body)
            }
            Fate::Good if url.ends_with("/embeddings") => What::Reply(200, Vec::new(), vectors(&body)),
            _ if url.ends_with("/embeddings") && fate == Fate::Cut => What::Cut,
            Fate::Good | Fate::Cut => {
                let (text, names) = asked.well(namer(&mut state.captions));
                captions = names;
                let body = completion(anthropic, &text, "stop");
                if fate == Fate::Good { What::Reply(200, Vec::new(), body) } else { What::Cut }
            }
            Fate::Garbage => What::Reply(200, Vec::new(), b"{\"choices\": [".to_vec()),
            Fate::Empty => What::Reply(200, Vec::new(), completion(anthropic, "", "stop")),
            Fate::Useless => {
                What::Reply(200, Vec::new(), completion(anthropic, "This chunk is about things.", "length"))
            }
            Fate::Declined => {
                What::Reply(200, Vec::new(), completion(anthropic, "I cannot help with that.", "content_filter"))
            }
            Fate::Refused(status) => What::Reply(status, Vec::new(), b"{\"error\":{\"message\":\"no\"}}".to_vec()),
            Fate::TooMany(after) => {
                let header = after.map(|seconds| ("retry-after", seconds.to_string()));
                let body = b"{\"error\":{\"message\":\"slow down\",\"type\":\"rate_limit\"}}".to_vec();
                What::Reply(429, header.into_iter().collect(), body)
            }
            Fate::Reset => What::Reset,
            Fate::Unreachable => What::Unreachable,
            Fate::Silence => What::Nothing,
        };
        if fate == Fate::Cut {
            captions.clear();
        }
        let request = state.calls.len() as u64;
        let about = batches.map_or_else(|| format!("{:?}", asked.wanted), |rest| format!("batches {rest}"));
        state.log.push(format!("call {request}: {about} {fate:?} in {after:?}, {captions:?}"));
        let questions = body["requests"].as_array().map_or(0, Vec::len);
        let call = Call { fate, delivered: false, given_up: false, batch: batches.is_some(), questions, captions };
        state.calls.push(call);
        PlayedAnswer { request, after, what }
    }

    fn delivered(&self, request: u64) {
        if let Some(call) = self.state.borrow_mut().calls.get_mut(request as usize) {
            call.delivered = true;
        }
    }

    fn given_up(&self, request: u64) {
        if let Some(call) = self.state.borrow_mut().calls.get_mut(request as usize) {
            call.given_up = true;
        }
    }

    fn most_requests(&self) -> Option<usize> {
        Some(self.most)
    }
}

impl ModelState {
    /// Whether a request with this fate reaches the provider.
    fn arrives(&mut self, fate: Fate) -> bool {
        match fate {
            Fate::Reset | Fate::Silence | Fate::Refused(504) => self.dice.percent(50),
            Fate::Refused(_) | Fate::TooMany(_) | Fate::Unreachable => false,
            _ => true,
        }
    }

    fn about_batches(&mut self, rest: &str, body: &Value, vault: &Path) -> Told {
        let (told, fault) = if body.is_null() {
            self.shelf.tell(rest, &mut self.dice)
        } else {
            self.shelf.take(body, self.mood, &mut self.dice, vault, namer(&mut self.captions))
        };
        self.faults.extend(fault);
        told
    }
}

/// Names for captions.
fn namer(captions: &mut u64) -> impl FnMut() -> String {
    move || {
        *captions += 1;
        format!("qx{}", letters(*captions))
    }
}

/// What becomes of the next call, and how long it takes.
fn fate(mood: Mood, dice: &mut Dice) -> (Fate, Duration) {
    let millis = |dice: &mut Dice, most: usize| Duration::from_millis(20 + dice.below(most) as u64);
    let soon = millis(dice, 900);
    match mood {
        Mood::Well => (Fate::Good, soon),
        Mood::Late => (Fate::Good, millis(dice, 80_000)),
        Mood::Busy => {
            let after = dice.percent(50).then(|| dice.below(40) as u64);
            (if dice.percent(30) { Fate::Good } else { Fate::TooMany(after) }, soon)
        }
        Mood::Down => (*dice.pick(&[Fate::Refused(500), Fate::Refused(503), Fate::Unreachable, Fate::Reset]), soon),
        Mood::Useless => (*dice.pick(&[Fate::Useless, Fate::Empty, Fate::Declined, Fate::Garbage]), soon),
        Mood::Silent => (if dice.percent(20) { Fate::Good } else { Fate::Silence }, soon),
        Mood::Wild => {
            const WILD: &[Fate] = &[
                Fate::Garbage,
                Fate::Empty,
                Fate::Useless,
                Fate::Declined,
                Fate::Refused(500),
                Fate::Refused(503),
                Fate::Refused(504),
                Fate::Refused(529),
                Fate::TooMany(None),
                Fate::TooMany(Some(7)),
                Fate::Reset,
                Fate::Cut,
                Fate::Unreachable,
                Fate::Silence,
            ];
            let late = millis(dice, 20_000);
            (if dice.percent(45) { Fate::Good } else { *dice.pick(WILD) }, if dice.percent(80) { soon } else { late })
        }
    }
}

/// An answer in the words of Anthropic's interface, or of OpenAI's.
pub(super) fn completion(anthropic: bool, text: &str, finish: &str) -> Vec<u8> {
    if anthropic {
        let finish = match finish {
            "length" => "max_tokens",
            "content_filter" => "refusal",
            _ => "end_turn",
        };
        let (content, usage) =
            (json!([{ "type": "text", "text": text }]), json!({ "input_tokens": 400, "output_tokens": 60 }));
        return json!({ "content": content, "stop_reason": finish, "usage": usage }).to_string().into_bytes();
    }
    let answer = json!({
        "choices": [{ "index": 0, "message": { "role": "assistant", "content": text }, "finish_reason": finish }],
        "usage": { "prompt_tokens": 400, "completion_tokens": 60 },
    });
    answer.to_string().into_bytes()
}

/// Vectors computed from the texts alone.
fn vectors(body: &Value) -> Vec<u8> {
    let texts = body["input"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let vector = |(index, text): (usize, &str)| {
        let mut dice = Dice::new(text.bytes().fold(7, |sum: u64, byte| sum.wrapping_mul(31).wrapping_add(byte.into())));
        let numbers: Vec<f64> = (0..DIMENSIONS).map(|_| dice.unit() - 0.5).collect();
        json!({ "object": "embedding", "index": index, "embedding": numbers })
    };
    let data: Vec<Value> = texts.enumerate().map(vector).collect();
    json!({ "data": data, "usage": { "prompt_tokens": 40, "total_tokens": 40 } }).to_string().into_bytes()
}

/// A parsed question.
pub(super) struct Asked {
    document: String,
    task: String,
    wanted: Vec<u32>,
    /// Whether questions and terms are asked for beside captions.
    expands: bool,
}

impl Asked {
    pub(super) fn read(body: &Value) -> Self {
        let mut texts = Vec::new();
        for message in body["messages"].as_array().into_iter().flatten().filter(|message| message["role"] == "user") {
            match &message["content"] {
                Value::String(text) => texts.push(text.clone()),
                Value::Array(parts) => {
                    texts.extend(parts.iter().filter_map(|part| part["text"].as_str()).map(str::to_owned));
                }
                _ => {}
            }
        }
        let whole = texts.join("\n");
        let (document, task) = match whole.rsplit_once("</note>") {
            Some((document, task)) => (document.to_owned(), task.to_owned()),
            None => (String::new(), whole),
        };
        let wanted = if let Some((_, numbers)) = task.rsplit_once("passages:") {
            numbers.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok()).collect()
        } else {
            let number = task.split_once("<passage n=\"").and_then(|(_, rest)| rest.split('"').next()?.parse().ok());
            vec![number.unwrap_or(1)]
        };
        let expands = body.to_string().contains("3 to 5 questions");
        Asked { document, task, wanted, expands }
    }

    /// A good answer, and the names of the captions in it.
    pub(super) fn well(&self, mut name: impl FnMut() -> String) -> (String, Vec<String>) {
        let names: Vec<String> = self.wanted.iter().map(|_| name()).collect();
        let captions: Vec<_> = self.wanted.iter().zip(&names).map(|(n, name)| (*n, self.caption(*n, name))).collect();
        (self.answer(&captions), names)
    }

    fn passage(&self, n: u32) -> &str {
        between(&self.document, &format!("⟦{n}⟧"), &format!("⟦/{n}⟧"))
            .or_else(|| between(&self.task, "<passage", "</passage>"))
            .unwrap_or_default()
    }

    /// A caption made of a note's own words, with a word that names the caption.
    fn caption(&self, n: u32, name: &str) -> String {
        let source = if self.document.is_empty() { &self.task } else { &self.document };
        let title = between(source, "title=\"", "\"").unwrap_or("the note");
        let own = words(self.passage(n));
        let mut others = words(source.split_once('>').map_or(source.as_str(), |(_, body)| body));
        others.retain(|word| !own.contains(word));
        others.dedup();
        let list = |words: &[&str], most: usize| words[..words.len().min(most)].join(" and the ");
        let (own, others) = (list(&own, 3), list(&others, 5));
        format!("{title}: the {own} were here, and they kept the {others} near the {name} for the others.")
    }

    fn answer(&self, captions: &[(u32, String)]) -> String {
        if self.task.contains("passages:") {
            let caption = |(n, text): &(u32, String)| {
                let mut caption = json!({ "n": n, "text": text });
                if self.expands {
                    // They contain the caption's name, so that a check can tell which caption they belong to.
                    caption["questions"] = json!([format!("Who kept the others: {text}")]);
                    caption["terms"] = json!(names(text).collect::<Vec<_>>());
                }
                caption
            };
            let captions: Vec<Value> = captions.iter().map(caption).collect();
            return json!({ "captions": captions }).to_string();
        }
        captions.first().map(|(_, text)| text.clone()).unwrap_or_default()
    }
}

fn between<'a>(text: &'a str, from: &str, to: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(from)?;
    Some(rest.split_once(to)?.0)
}

fn words(text: &str) -> Vec<&str> {
    text.split(|c: char| !c.is_alphabetic()).filter(|word| word.chars().count() > 4).collect()
}
