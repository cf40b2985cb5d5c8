//! The batches that the simulated provider has. They outlive the processes that hand them in.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::dice::Dice;
use super::model::{Asked, Mood, completion};

/// What becomes of a question.
#[derive(Clone, Debug)]
enum Outcome {
    /// A text, and the names of the captions in it.
    Answered(String, Vec<String>),
    /// A text that cannot be used.
    Useless,
    Refused(&'static str),
    Expired,
    Canceled,
    /// There is no line about it.
    Missing,
}

impl Outcome {
    /// Whether the provider may bill it.
    fn is_billed(&self) -> bool {
        matches!(self, Outcome::Answered(..) | Outcome::Useless | Outcome::Missing)
    }
}

/// A batch.
#[derive(Clone, Debug)]
struct Batch {
    id: String,
    created_at: String,
    /// As they were handed in.
    requests: HashSet<String>,
    /// By the ids that they were given.
    items: Vec<(String, Outcome)>,
    /// Looks at it until it has ended.
    left: usize,
    /// The provider forgets it.
    lost: bool,
    /// The next results come damaged.
    damaged: bool,
    /// Somebody else handed it in.
    foreign: bool,
}

/// All batches.
#[derive(Clone, Debug, Default)]
pub(super) struct Shelf(Vec<Batch>);

/// An answer: status, body, and the names of the captions in it.
pub(super) type Told = (u16, Vec<u8>, Vec<String>);

impl Shelf {
    /// Captions that were paid for and can be fetched.
    pub(super) fn captions(&self) -> impl Iterator<Item = &String> {
        self.0.iter().filter(|batch| !batch.lost).flat_map(Batch::captions)
    }

    /// How many questions may be billed.
    pub(super) fn billed(&self) -> usize {
        let ours = self.0.iter().filter(|batch| !batch.foreign);
        ours.flat_map(|batch| batch.items.iter().filter(|(_, outcome)| batch.lost || outcome.is_billed())).count()
    }

    /// A batch is handed in. Says what must not be in it: what another one answers, or what no public note of the vault
    /// says now.
    pub(super) fn take(
        &mut self,
        body: &Value,
        mood: Mood,
        dice: &mut Dice,
        vault: &Path,
        mut name: impl FnMut() -> String,
    ) -> (Told, Option<String>) {
        if dice.percent(4) {
            return (refusal(400, "invalid_request_error"), None);
        }
        let mut fault = None;
        let mut items = Vec::new();
        for request in body["requests"].as_array().into_iter().flatten() {
            let id = request["custom_id"].as_str().unwrap_or_default().to_owned();
            if self.0.iter().filter(|batch| !batch.lost).any(|batch| batch.answers(&id, request)) {
                fault = Some(format!("the question {id} was handed in twice"));
            }
            if !is_shown(&request["params"], vault) {
                fault = Some(format!("the question {id} is about no public note of the vault"));
            }
            items.push((id, outcome(&Asked::read(&request["params"]), mood, dice, &mut name)));
        }
        // Results always say something.
        if let Some((_, first @ Outcome::Missing)) = items.first_mut() {
            *first = Outcome::Expired;
        }
        let count = items.len();
        let requests = body["requests"].as_array().into_iter().flatten().map(Value::to_string).collect();
        let batch = Batch {
            requests,
            left: 1 + dice.below(40),
            lost: dice.percent(6),
            damaged: dice.percent(30),
            ..self.next(items)
        };
        let told = (200, batch.status().to_string().into_bytes(), Vec::new());
        self.0.push(batch);
        if dice.percent(20) {
            let items = (0..count).map(|n| (format!("foreign-{n}"), Outcome::Useless)).collect();
            let foreign = Batch { left: dice.below(20), lost: dice.percent(20), foreign: true, ..self.next(items) };
            let at = self.0.len() - dice.below(2);
            self.0.insert(at, foreign);
        }
        (told, fault)
    }

    fn next(&self, items: Vec<(String, Outcome)>) -> Batch {
        let (id, created_at) = (format!("msgbatch_{}", self.0.len()), machine::timestamp().to_string());
        Batch { id, created_at, requests: HashSet::new(), items, left: 0, lost: false, damaged: false, foreign: false }
    }

    /// What is asked about the batches that are there; `rest` is what the address says beyond that of all batches. Says
    /// what must not be asked.
    pub(super) fn tell(&mut self, rest: &str, dice: &mut Dice) -> (Told, Option<String>) {
        let Some((id, what)) = rest.strip_prefix('/').map(|rest| rest.split_once('/').unwrap_or((rest, ""))) else {
            let data: Vec<Value> = self.0.iter().rev().filter(|batch| !batch.is_gone()).map(Batch::status).collect();
            return ((200, json!({ "data": data, "has_more": false }).to_string().into_bytes(), Vec::new()), None);
        };
        let Some(batch) = self.0.iter_mut().find(|batch| batch.id == id) else {
            return (refusal(404, "not_found_error"), None);
        };
        batch.left = batch.left.saturating_sub(usize::from(what.is_empty()));
        match what {
            _ if batch.is_gone() => (refusal(404, "not_found_error"), None),
            "cancel" if batch.left == 0 => (refusal(400, "invalid_request_error"), None),
            "cancel" => {
                batch.left = batch.left.min(1 + dice.below(3));
                let open = batch.items.iter_mut().filter(|_| dice.percent(50));
                open.for_each(|(_, outcome)| *outcome = Outcome::Canceled);
                let fault = batch.foreign.then(|| "somebody else's batch was cancelled".to_owned());
                ((200, batch.status().to_string().into_bytes(), Vec::new()), fault)
            }
            "results" => (batch.results(dice), None),
            _ => ((200, batch.status().to_string().into_bytes(), Vec::new()), None),
        }
    }
}

impl Batch {
    fn answers(&self, id: &str, request: &Value) -> bool {
        let answered = |(of, outcome): &(String, Outcome)| of == id && matches!(outcome, Outcome::Answered(..));
        self.items.iter().any(answered) && self.requests.contains(&request.to_string())
    }

    fn is_gone(&self) -> bool {
        self.lost && self.left == 0
    }

    fn captions(&self) -> impl Iterator<Item = &String> {
        self.items.iter().flat_map(|(_, outcome)| match outcome {
            Outcome::Answered(_, captions) => captions.as_slice(),
            _ => &[],
        })
    }

    fn status(&self) -> Value {
        let (ended, count) = (self.left == 0, self.items.len());
        json!({
            "id": self.id, "processing_status": if ended { "ended" } else { "in_progress" },
            "request_counts": if ended { json!({ "succeeded": count }) } else { json!({ "processing": count }) },
            "created_at": self.created_at, "results_url": ended.then_some("http://elsewhere.invalid"),
        })
    }

    /// A line for each question; the first time perhaps a part of them only, or something else.
    fn results(&mut self, dice: &mut Dice) -> Told {
        let mut lines = String::new();
        for (id, outcome) in &self.items {
            let result = match outcome {
                Outcome::Answered(text, _) => json!({ "type": "succeeded", "message": message(text) }),
                Outcome::Useless => json!({ "type": "succeeded", "message": message("I cannot help with that.") }),
                Outcome::Refused(kind) => json!({ "type": "errored", "error": { "error": { "type": kind } } }),
                Outcome::Expired => json!({ "type": "expired" }),
                Outcome::Canceled => json!({ "type": "canceled" }),
                Outcome::Missing => continue,
            };
            lines += &format!("{}\n", json!({ "custom_id": id, "result": result }));
        }
        if std::mem::take(&mut self.damaged) {
            let half = lines.len() / 2;
            let part = if dice.percent(50) { lines[..half].to_owned() } else { "<html>Log in</html>".to_owned() };
            return (200, part.into_bytes(), Vec::new());
        }
        (200, lines.into_bytes(), self.captions().cloned().collect())
    }
}

fn message(text: &str) -> Value {
    serde_json::from_slice(&completion(true, text, "stop")).unwrap()
}

fn refusal(status: u16, kind: &str) -> Told {
    let body = json!({ "type": "error", "error": { "type": kind, "message": "no" } });
    (status, body.to_string().into_bytes(), Vec::new())
}

fn outcome(asked: &Asked, mood: Mood, dice: &mut Dice, name: &mut impl FnMut() -> String) -> Outcome {
    let good = match mood {
        Mood::Well | Mood::Late => 85,
        Mood::Useless => 30,
        _ => 65,
    };
    if dice.percent(good) {
        let (text, captions) = asked.well(name);
        return Outcome::Answered(text, captions);
    }
    let bad = [
        Outcome::Useless,
        Outcome::Refused("invalid_request_error"),
        Outcome::Refused("overloaded_error"),
        Outcome::Expired,
        Outcome::Missing,
    ];
    dice.pick(&bad).clone()
}

/// Whether a public note of the vault, as it is on the disk, has all words of a question that mark its text.
fn is_shown(question: &Value, vault: &Path) -> bool {
    let question = question.to_string();
    let marks = question.split(|c: char| !c.is_alphanumeric()).filter(|word| word.starts_with("zq") && word.len() == 6);
    let marks: Vec<&str> = marks.collect();
    let texts = super::disk::files(vault).into_iter().map(|path| fs::read_to_string(path).unwrap_or_default());
    texts.filter(|text| !text.contains("tags: [private]")).any(|text| marks.iter().all(|mark| text.contains(mark)))
}
