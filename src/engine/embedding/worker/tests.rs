use std::sync::mpsc::TryRecvError;

use note::fingerprint::input_hash;
use provider::ledger::{BudgetLimits, Ledger};
use provider::{Failure, FailureKind};
use store::Store;

use super::*;

/// A queue whose embedder the test plays.
struct Play {
    queue: EmbedQueue,
    /// Jobs that are done.
    events: Arc<Mutex<Vec<EmbedEvent>>>,
    /// Vectors of the vault; `None` once it is closed.
    cache: Option<Arc<VectorCache>>,
    _dir: tempfile::TempDir,
    /// What the embedder that stands in for it has answered; nobody looks.
    _answers: UnboundedReceiver<Command>,
}

impl Play {
    fn new() -> Self {
        let (answers, inbox) = mpsc::unbounded_channel();
        let events = Arc::new(Mutex::new(Vec::new()));
        let told = events.clone();
        let spender = Spender::new(Ledger::in_memory(), BudgetLimits::default());
        let on_event: OnEvent = Arc::new(move |event| told.lock().push(event));
        let queue = EmbedQueue::new(Embedder::Builtin, spender, 2, on_event, answers);
        let dir = tempfile::tempdir().unwrap();
        let (store, _) = Store::open(dir.path(), Embedder::Builtin.identity(), Embedder::Builtin.dimensions()).unwrap();
        Play { queue, events, cache: Some(store.vectors()), _dir: dir, _answers: inbox }
    }

    /// A note with so many texts.
    fn embed(&mut self, path: &str, texts: usize) {
        let input = |n: usize| {
            let text = text(path, n);
            Input { hash: input_hash(&text), text, context: 0, expansion: String::new() }
        };
        self.queue.accept(EmbedJob {
            vault: 1,
            vault_name: "v".to_owned(),
            path: VaultPath::parse(path).unwrap(),
            cache: self.cache.as_ref().map(Arc::downgrade).unwrap_or_default(),
            documents: (0..texts).map(|n| vec![input(n)]).collect(),
            bulk: true,
            reason: Reason::NewNote,
            purpose: Purpose::Change,
            rebuild: None,
        });
    }

    /// Answers calls, oldest first, until there are none or the queue waits; returns how many.
    async fn calls(&mut self, answer: impl Fn(&[Parcel]) -> Result<Made, EmbedError>) -> usize {
        for calls in 0.. {
            self.queue.go_on().await;
            let Some((number, flight)) = self.queue.flying.iter().min_by_key(|(number, _)| **number) else {
                return calls;
            };
            let (number, answer) = (*number, answer(&flight.batch));
            self.queue.done(number, answer).await;
        }
        unreachable!()
    }

    /// The wait of the queue is over.
    fn wait(&mut self) {
        assert!(self.queue.until.take().is_some());
    }

    fn held(&self) -> String {
        self.queue.common.lock().held.clone().unwrap_or_default()
    }

    fn given_up(&self) -> usize {
        self.queue.common.lock().refused.len()
    }
}

/// A text of a note.
fn text(path: &str, n: usize) -> String {
    format!("{path}: text {n}, which is long enough to be halved more than once")
}

fn rejected(_: &[Parcel]) -> Result<Made, EmbedError> {
    let message = "400: bad request".to_owned();
    Err(EmbedError::Provider(Failure { kind: FailureKind::Rejected, message, maybe_billed: false }))
}

fn made(batch: &[Parcel]) -> Result<Made, EmbedError> {
    let vector = Embedder::Builtin.at_once("words").unwrap();
    Ok(Made { vectors: vec![vector; batch.len()] })
}

#[tokio::test]
async fn an_embedder_that_refuses_everything_is_asked_about_one_text_at_a_time_and_none_is_given_up() {
    let mut play = Play::new();
    play.embed("a.md", 20);
    play.calls(rejected).await;
    assert!(play.held().contains("has refused every text so far: 400"), "{}", play.held());
    for _ in 0..5 {
        play.wait();
        let calls = play.calls(rejected).await;
        assert!((1..=2).contains(&calls), "{calls} calls");
    }
    assert_eq!((play.given_up(), play.events.lock().len()), (0, 0));
    // It takes texts after all: also those that it refused.
    play.wait();
    play.calls(made).await;
    assert_eq!((play.given_up(), play.events.lock().len(), play.held().as_str()), (0, 1, ""));
    // What it refuses from now on is the text's fault.
    play.embed("b.md", 20);
    play.calls(rejected).await;
    assert_eq!((play.given_up(), play.events.lock().len(), play.held().as_str()), (20, 2, ""));
}

#[tokio::test]
async fn a_few_texts_that_an_embedder_refuses_at_first_are_given_up_when_nothing_is_left_to_try() {
    let mut play = Play::new();
    play.embed("a.md", 3);
    play.calls(rejected).await;
    assert_eq!((play.given_up(), play.events.lock().len(), play.held().as_str()), (3, 1, ""));
}

#[tokio::test]
async fn a_call_is_given_up_for_a_note_in_it_and_the_others_are_sent_again_at_once() {
    let mut play = Play::new();
    play.embed("a.md", 1);
    play.embed("b.md", 1);
    play.queue.pump();
    let flight = play.queue.flying.values().next().unwrap();
    assert_eq!((flight.batch.len(), flight.wanted.is_some()), (2, true));
    play.queue.forget(|of| of.1.as_str() == "a.md", None);
    let number = *play.queue.flying.keys().next().unwrap();
    assert!(play.queue.flying[&number].wanted.is_none(), "no further attempt is made");
    let failure = Failure { kind: FailureKind::Cancelled, message: String::new(), maybe_billed: false };
    play.queue.done(number, Err(EmbedError::Provider(failure))).await;
    assert_eq!((play.queue.until, play.held().as_str()), (None, ""));
    play.queue.pump();
    let sent: Vec<&str> = play.queue.flying.values().flat_map(|f| &f.batch).map(|p| p.of.1.as_str()).collect();
    assert_eq!(sent, ["b.md"]);
}

#[test]
fn a_cut_text_is_half_of_it_at_a_character() {
    assert_eq!(cut("abcdefgh", 0), "abcdefgh");
    assert_eq!(cut("abcdefgh", 1), "abcd");
    assert_eq!(cut("abcdefgh", 2), "ab");
    assert_eq!(cut("日本", 1), "日");
    assert_eq!(cut("日", 3), "");
}

#[tokio::test]
async fn a_batch_larger_than_a_days_budget_is_divided_and_a_text_larger_than_it_keeps_none_waiting_and_is_told() {
    let mut play = Play::new();
    play.embed("a.md", 5);
    let refusal = |needed| Err(EmbedError::Budget(OverBudget::DayTokens { limit: 50, spent: 0, needed }));
    play.calls(|batch| if batch.len() > 2 { refusal(75) } else { made(batch) }).await;
    assert_eq!((play.events.lock().len(), play.held().as_str()), (1, ""));

    let dear = |batch: &[Parcel]| batch.iter().any(|parcel| parcel.of.1.as_str() == "dear.md");
    play.embed("dear.md", 1);
    for done in [2, 3] {
        play.embed(&format!("{done}.md"), 1);
        play.calls(|batch| if dear(batch) { refusal(70) } else { made(batch) }).await;
        assert_eq!(play.events.lock().len(), done);
        assert!(play.held().contains("`budget.day_tokens`"), "{}", play.held());
        play.wait();
    }
}

#[tokio::test]
async fn nothing_more_is_sent_of_a_vault_that_is_closed() {
    let mut play = Play::new();
    play.queue.room = 1;
    play.queue.trust = Trust::InDoubt;
    ["a.md", "b.md", "c.md"].into_iter().for_each(|path| play.embed(path, 1));
    play.queue.pump();
    assert_eq!(play.queue.flying.len(), 1);
    play.cache = None;
    assert_eq!(play.calls(made).await, 1, "the call that was under way");
    assert!(play.queue.orders.is_empty());
    // Its indexer says so before that, and waits for what is under way.
    for answer in [made, rejected] {
        let mut play = Play::new();
        play.queue.room = 1;
        play.queue.trust = Trust::InDoubt;
        ["a.md", "b.md"].into_iter().for_each(|path| play.embed(path, 1));
        play.queue.pump();
        let (landing, landed) = channel();
        play.queue.take(Command::Close(1, landing)).await;
        assert_eq!(landed.try_recv(), Err(TryRecvError::Empty));
        play.embed("late.md", 1);
        assert_eq!(play.calls(answer).await, 1);
        assert_eq!(landed.try_recv(), Err(TryRecvError::Disconnected));
        let kept = play.cache.take().unwrap().holds(input_hash(&text("a.md", 0)));
        assert_eq!(kept, answer(&[]).is_ok());
    }
}

#[tokio::test]
async fn vectors_that_cannot_be_written_wait_in_memory_and_are_not_made_again() {
    let mut play = Play::new();
    // A vector of another length is as little to be written as any on a full disk.
    let odd = |batch: &[Parcel]| {
        let made = made(batch)?;
        let vectors = made.vectors.into_iter().map(|vector| Vector { values: vector.values[..8].into(), ..vector });
        Ok(Made { vectors: vectors.collect() })
    };
    play.embed("a.md", 3);
    assert_eq!(play.calls(odd).await, 1);
    for _ in 0..3 {
        play.wait();
        play.embed("b.md", 1);
        assert_eq!(play.calls(made).await, 0, "nothing is bought that cannot be kept either");
        assert!(play.held().contains("vectors cannot be written"), "{}", play.held());
    }
    // Now it can be written.
    for (_, vectors) in &mut play.queue.unwritten {
        let whole = Embedder::Builtin.at_once("words").unwrap();
        *vectors = vectors.iter().map(|(hash, _)| (*hash, whole.clone())).collect();
    }
    play.wait();
    assert_eq!(play.calls(made).await, 1, "the call about the other note");
    assert_eq!((play.events.lock().len(), play.held().as_str()), (2, ""));
    let cache = play.cache.unwrap();
    assert!((0..3).all(|n| cache.holds(input_hash(&text("a.md", n)))));
}
