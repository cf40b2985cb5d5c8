//! The model of these tests: it records what it is asked, and says what a test tells it to.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use provider::simulation::{PlayedAnswer, Script, What};
use serde_json::{Value, json};

use crate::Shared;

/// The request number of calls that do not go to the model.
const OF_TEAM: u64 = u64::MAX;

/// What the model says.
#[derive(Clone, Debug)]
pub(crate) enum Say {
    /// A context that can be used.
    Well,
    /// These words.
    Words(&'static str),
    This(What),
}

/// What a model is asked, and what it answers.
pub(crate) struct Model {
    /// The next answers, each with its delay; when the queue is empty, good answers come at once.
    answers: RefCell<VecDeque<(Duration, Say)>>,
    /// The questions, or where else something was asked, each with how many calls stood reserved when it was sent.
    asked: RefCell<Vec<(String, u64)>>,
    delivered: Cell<usize>,
    given_up: Cell<usize>,
    /// How many times as many tokens as usual an answer takes.
    dear: Cell<u64>,
    shared: RefCell<Option<Arc<Shared>>>,
    /// What a team's server says, and what it was asked.
    team: RefCell<(What, Vec<String>)>,
}

impl Model {
    pub(super) fn new() -> Rc<Self> {
        Rc::new(Model {
            answers: RefCell::default(),
            asked: RefCell::default(),
            delivered: Cell::default(),
            given_up: Cell::default(),
            dear: Cell::new(1),
            shared: RefCell::default(),
            team: RefCell::new((What::Unreachable, Vec::new())),
        })
    }

    /// What is said to the next calls, and after how long.
    pub(super) fn will_say(&self, answers: impl IntoIterator<Item = (Duration, Say)>) {
        self.answers.borrow_mut().extend(answers);
    }

    /// The engine whose ledger is read when a question comes.
    pub(super) fn look_at(&self, shared: Option<Arc<Shared>>) {
        *self.shared.borrow_mut() = shared;
    }

    /// Answers take so many times as many tokens from now on.
    pub(crate) fn takes(&self, times: u64) {
        self.dear.set(times);
    }

    /// What a team's server says from now on.
    #[cfg(feature = "team")]
    pub(crate) fn team_says(&self, what: What) {
        self.team.borrow_mut().0 = what;
    }

    /// What it was asked.
    #[cfg(feature = "team")]
    pub(crate) fn team_asked(&self) -> Vec<String> {
        self.team.borrow().1.clone()
    }

    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.borrow().iter().map(|(body, _)| body.clone()).collect()
    }

    /// How many calls stood reserved when each was sent, itself among them.
    pub(crate) fn reserved(&self) -> Vec<u64> {
        self.asked.borrow().iter().map(|(_, reserved)| *reserved).collect()
    }

    pub(crate) fn delivered(&self) -> usize {
        self.delivered.get()
    }

    /// Calls that were dropped before their answer came.
    pub(crate) fn given_up(&self) -> usize {
        self.given_up.get()
    }
}

impl Script for Model {
    fn ask(&self, url: &str, body: &[u8]) -> PlayedAnswer {
        if url.contains("/collections/") {
            let (what, asked) = &mut *self.team.borrow_mut();
            asked.push(String::from_utf8_lossy(body).into_owned());
            return PlayedAnswer { request: OF_TEAM, after: Duration::ZERO, what: what.clone() };
        }
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        let reserved = self.shared.borrow().as_ref().map_or(0, |shared| standing(shared));
        let request = self.asked.borrow().len() as u64;
        let (after, say) = self.answers.borrow_mut().pop_front().unwrap_or((Duration::ZERO, Say::Well));
        let what = match say {
            Say::Well => answer(&good_words(&body), self.dear.get()),
            Say::Words(words) => answer(words, self.dear.get()),
            Say::This(what) => what,
        };
        // The note's own text alone, as it is: JSON would mask what a test looks for.
        let asked = if body["messages"].is_null() { url.to_owned() } else { task_of(&body) };
        self.asked.borrow_mut().push((asked, reserved));
        PlayedAnswer { request, after, what }
    }

    fn delivered(&self, request: u64) {
        if request == OF_TEAM {
            return;
        }
        self.delivered.set(self.delivered.get() + 1);
    }

    fn given_up(&self, request: u64) {
        if request == OF_TEAM {
            return;
        }
        self.given_up.set(self.given_up.get() + 1);
    }
}

/// Calls that are reserved and neither booked nor given back.
pub(super) fn standing(shared: &Shared) -> u64 {
    shared.spender.ledger().report(machine::zoned()).today.unsettled_calls
}

/// What the model is told to do, with the passage in question.
fn task_of(body: &Value) -> String {
    let mut texts = Vec::new();
    for message in body["messages"].as_array().into_iter().flatten() {
        match &message["content"] {
            Value::String(text) => texts.push(text.as_str()),
            parts => texts.extend(parts.as_array().into_iter().flatten().filter_map(|part| part["text"].as_str())),
        }
    }
    let whole = texts.join("\n");
    whole.rsplit_once("</note>").map_or_else(|| whole.clone(), |(_, task)| task.to_owned())
}

/// A context for the passage in question that can be used.
fn good_words(body: &Value) -> String {
    let task = task_of(body);
    let between = |from: &str, to: &str| Some(task.split_once(from)?.1.split_once(to)?.0.to_owned());
    let (place, vendor) = between("rollout in ", " slipped").zip(between("contract with ", " was late")).unwrap();
    format!("Yearly report: why the rollout in {place} slipped, and who renegotiates the contract with {vendor}.")
}

fn answer(text: &str, dear: u64) -> What {
    let answer = json!({
        "choices": [{ "index": 0, "message": { "role": "assistant", "content": text }, "finish_reason": "stop" }],
        "usage": { "prompt_tokens": 100 * dear, "completion_tokens": 10 * dear },
    });
    What::Reply(200, Vec::new(), answer.to_string().into_bytes())
}

/// A note whose every section is a chunk.
pub(crate) fn report(sections: usize) -> String {
    const PLACES: [&str; 8] = ["Lisbon", "Porto", "Braga", "Faro", "Evora", "Leiria", "Aveiro", "Setubal"];
    const VENDORS: [&str; 8] =
        ["Northwind", "Contoso", "Fabrikam", "Tailspin", "Wingtip", "Litware", "Proseware", "Adatum"];
    let section = |n: usize| {
        let (place, vendor) = (PLACES[n % 8], VENDORS[n % 8]);
        format!(
            "## The {place} rollout\n\nThe rollout in {place} slipped because the contract with {vendor} was late, and \
             every clause of it is renegotiated with their lawyers before anything else is signed.\n\n"
        )
    };
    format!("# Yearly report\n\n{}", (0..sections).map(section).collect::<String>())
}
