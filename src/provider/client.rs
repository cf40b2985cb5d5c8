//! One call: attempts, pauses and an end, whatever the network does.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use reqwest::Method;
use tokio::time::{Instant, sleep};

use super::circuit_breaker::{CircuitBreaker, Pass, Shown};
use super::keyring::{Found, Keyring};
use super::ledger::{OverBudget, Settled};
use super::limiter::{AdaptiveLimiter, Place};
use super::patience::timeout;
use super::reply::{Broken, Reply};
use super::retry::{self, Fault, MOST_FIELDS, Next};
use super::spender::{Account, Owed, Payment, Purchase, Unanswered};
use super::transport::Transport;
use super::wire::{Answer, Field, Protocol, Request, Wire};
use super::{Completion, Failure, FailureKind, Health};
use context::cost::{Usage, cost};
use context::models::{Model, Price};
use context::prompt::Prompt;
use context::settings::ContextConfig;

/// A provider that asks to be left alone for longer than this is reported; a shorter wait is part of being busy.
const LONG_QUIET: Duration = Duration::from_mins(1);

/// A provider with its limits, retries and circuit. Cheap to clone; clones share all of that.
#[derive(Clone)]
pub struct CompletionClient {
    pub(super) shared: Arc<Shared>,
    model: Arc<str>,
    price: Arc<Price>,
}

/// What clones share: one line to a provider, whatever is asked over it.
pub(super) struct Shared<W = Wire> {
    pub(super) provider: &'static str,
    pub(super) wire: W,
    pub(super) transport: Transport,
    pub(super) keys: Keyring,
    pub(super) pace: AdaptiveLimiter,
    /// Limits the calls that somebody waits for, so that they do not queue behind the others.
    urgent: AdaptiveLimiter,
    pub(super) circuit: CircuitBreaker,
    /// Fields that the server refused.
    without: Mutex<Vec<Field>>,
    pub(super) timeout: Duration,
    pub(super) deadline: Duration,
}

impl fmt::Debug for CompletionClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What is left out may hold a key.
        f.debug_struct("CompletionClient")
            .field("provider", &self.shared.provider)
            .field("host", &self.shared.transport.host())
            .field("pace", &self.shared.pace)
            .field("circuit", &self.shared.circuit)
            .finish_non_exhaustive()
    }
}

impl CompletionClient {
    /// A client for a configuration. Reads no key and opens no connection yet.
    ///
    /// # Errors
    /// What is wrong with the address.
    pub fn new(config: &ContextConfig, model: &Model) -> Result<Self, String> {
        let wire = Wire::new(config, model)?;
        let transport = Transport::new(wire.address())?.passing_on(super::leaves(config));
        let provider = config.provider.name();
        let keys = Keyring::new(config.provider, config.key.clone());
        let shared =
            Shared::new(provider, wire, transport, keys, config.concurrency, (config.timeout, config.deadline));
        Ok(CompletionClient {
            shared: Arc::new(shared),
            model: model.id.as_str().into(),
            price: Arc::new(model.price.clone()),
        })
    }

    /// Waits for a place among the calls under way; [`CallTurn::complete`] then asks in it. Nothing is sent or reserved
    /// before that. Dropping the future, or the turn, gives the place to the next call.
    ///
    /// # Errors
    /// The provider is not asked at present: see [`FailureKind`].
    pub async fn turn(&self) -> Result<CallTurn<'_>, Failure> {
        let (place, pass) = self.shared.turn(false).await?;
        Ok(CallTurn { client: self, place, pass })
    }

    /// Waits for its turn, and asks: see [`CallTurn::complete`].
    ///
    /// # Errors
    /// See [`Unanswered`].
    pub async fn complete(&self, prompt: &Prompt, account: &Account) -> Result<Completion, Unanswered> {
        self.turn().await?.complete(prompt, account).await
    }

    /// The most that a prompt may cost.
    pub(super) fn purchase(&self, prompt: &Prompt, account: &Account) -> Purchase {
        let most = Usage::upper(prompt);
        Purchase {
            account: account.clone(),
            provider: self.shared.provider,
            model: self.model.clone(),
            micro_dollars: cost(&self.price, &most, false),
            tokens: most.input + most.output,
        }
    }

    /// What an answer has cost.
    pub(super) fn settled(&self, usage: Usage) -> Settled {
        Settled { usage, micro_dollars: cost(&self.price, &usage, false), contexts: 0, failed: false }
    }

    /// How the provider is doing.
    pub fn health(&self) -> Health {
        self.shared.health()
    }

    /// Forgets what stopped it: the user says that it works again. The key is looked up anew.
    pub fn resume(&self) {
        self.shared.resume();
    }

    /// Host (and port) that requests go to, for `status`; `None` for an address of this machine.
    pub fn leaves_to(&self) -> Option<String> {
        self.shared.transport.leaves_to()
    }
}

/// A place among the calls under way to a provider.
pub struct CallTurn<'a> {
    client: &'a CompletionClient,
    place: Place<'a>,
    pass: Pass<'a>,
}

impl fmt::Debug for CallTurn<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Turn").field("client", self.client).finish_non_exhaustive()
    }
}

impl CallTurn<'_> {
    /// As [`CallTurn::ask`], and books what the answer cost.
    ///
    /// # Errors
    /// See [`Unanswered`].
    pub async fn complete(self, prompt: &Prompt, account: &Account) -> Result<Completion, Unanswered> {
        let (completion, owed) = self.ask(prompt, account).await?;
        owed.settle(0).await;
        Ok(completion)
    }

    /// Asks, retries what may succeed later, within the deadline, and holds back while the provider is busy. What each
    /// attempt may cost is reserved before it is sent and booked when it has ended; what the answer cost, the caller
    /// books.
    ///
    /// The deadline begins now. Dropping the future gives the call up. The provider may have counted the call
    /// nevertheless, so its estimate counts as spent.
    ///
    /// # Errors
    /// See [`Unanswered`].
    pub async fn ask(self, prompt: &Prompt, account: &Account) -> Result<(Completion, Owed), Unanswered> {
        let CallTurn { client, place, pass } = self;
        let shared = &*client.shared;
        let rules = Rules { each: shared.timeout, whole: shared.deadline, unsure: true, urgent: false };
        let payment = Payment::of(client.purchase(prompt, account));
        let attempt = |with| shared.attempt(prompt, with);
        let (done, payment) = shared.carry_out((place, pass), rules, payment, attempt).await?;
        let owed = Owed { payment, used: client.settled(done.value.usage) };
        Ok((Completion::of(done.value, done.took, done.attempts), owed))
    }
}

/// How long a call may take, and what may be repeated.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    /// One attempt.
    pub(super) each: Duration,
    /// All attempts and the pauses between them.
    pub(super) whole: Duration,
    /// Whether an attempt is repeated although the provider may have carried it out.
    pub(super) unsure: bool,
    /// Whether somebody waits for it.
    pub(super) urgent: bool,
}

/// What an attempt is sent with.
#[derive(Clone)]
pub(super) struct With {
    pub(super) key: Found,
    /// Fields to leave out.
    pub(super) without: Vec<Field>,
    /// How long the attempt may take.
    pub(super) within: Duration,
}

/// A call that was answered.
pub(super) struct Done<T> {
    pub(super) value: T,
    pub(super) took: Duration,
    pub(super) attempts: u32,
}

/// A call that ended without an answer.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) failure: Failure,
    /// The status of the last attempt, if one came.
    pub(super) status: Option<u16>,
    /// Whether the failure says something new about the provider.
    news: bool,
    /// Set if the budget does not allow the call (any more).
    refused: Option<OverBudget>,
}

impl From<Ended> for Unanswered {
    fn from(ended: Ended) -> Self {
        match ended.refused {
            Some(refused) => Unanswered::Budget(refused),
            None => Unanswered::Provider(ended.failure),
        }
    }
}

impl Ended {
    /// The end of a call that says nothing new about the provider.
    fn unasked(failure: Failure) -> Self {
        Ended { failure, status: None, news: false, refused: None }
    }

    fn shown(&self) -> Shown {
        match self.failure.kind {
            _ if !self.news => Shown::Nothing,
            FailureKind::TooLong | FailureKind::Rejected if self.status.is_none() => Shown::Nothing,
            FailureKind::TooLong | FailureKind::Rejected => Shown::Reached,
            FailureKind::Unavailable => Shown::Failed(self.status, self.failure.message.clone()),
            FailureKind::Unauthorized | FailureKind::UnknownModel | FailureKind::SpendLimit => {
                Shown::Stopped(self.status, self.failure.clone())
            }
            FailureKind::Cancelled => Shown::Nothing,
        }
    }
}

impl Shared {
    /// One attempt at a completion.
    async fn attempt(&self, prompt: &Prompt, with: With) -> Result<Answer, Fault> {
        let request =
            self.wire.request(prompt, with.key.as_deref(), &with.without, SystemTime::now()).map_err(Fault::never)?;
        let reply = self.send(Method::POST, request).await?;
        self.wire.read(&reply.body, prompt).map_err(|message| self.unread(&reply, message))
    }
}

impl<W: Protocol> Shared<W> {
    /// A line to a provider. `times` are the limits of one attempt and of a call with all its attempts.
    pub(super) fn new(
        provider: &'static str,
        wire: W,
        transport: Transport,
        keys: Keyring,
        concurrency: usize,
        times: (Duration, Duration),
    ) -> Self {
        Shared {
            provider,
            circuit: CircuitBreaker::new(provider, transport.host().to_owned()),
            keys,
            pace: AdaptiveLimiter::new(concurrency),
            urgent: AdaptiveLimiter::new(concurrency),
            without: Mutex::default(),
            timeout: times.0,
            deadline: times.1,
            wire,
            transport,
        }
    }

    /// How the provider is doing. One that asks to be left alone for longer than [`LONG_QUIET`] counts as down until
    /// then.
    pub(super) fn health(&self) -> Health {
        match (self.circuit.health(), self.pace.quiet()) {
            (Health::Good, Some(wait)) if wait > LONG_QUIET => {
                Health::Open(wait, self.unavailable("asks to be left alone").message)
            }
            (health, _) => health,
        }
    }

    /// Forgets what stopped it, and the key.
    pub(super) fn resume(&self) {
        self.keys.forget();
        self.pace.resume();
        self.circuit.resume();
    }

    /// Waits for a place among the calls under way, and checks that the circuit breaker lets the call pass.
    pub(super) async fn turn(&self, urgent: bool) -> Result<(Place<'_>, Pass<'_>), Failure> {
        // Checked before the queue, so that it does not fill with hopeless calls, and again after it, because the wait
        // may be long.
        self.circuit.look()?;
        let place = if urgent { self.urgent.place().await } else { self.pace.place().await };
        Ok((place, self.circuit.pass()?))
    }

    /// Carries out a call that costs nothing: waits for its turn, then attempts until there is an answer, or no hope or
    /// time is left.
    pub(super) async fn call<'a, T, F, A>(&'a self, rules: Rules, attempt: F) -> Result<T, Ended>
    where
        F: Fn(With) -> A,
        A: Future<Output = Result<T, Fault>> + 'a,
    {
        self.paid_call(rules, Payment::free(None), attempt).await.map(|(done, _)| done.value)
    }

    /// As [`Shared::call`], for a call that is paid for. What the answer cost is still to be booked.
    pub(super) async fn paid_call<'a, T, F, A>(
        &'a self,
        rules: Rules,
        payment: Payment,
        attempt: F,
    ) -> Result<(Done<T>, Payment), Ended>
    where
        F: Fn(With) -> A,
        A: Future<Output = Result<T, Fault>> + 'a,
    {
        let turn = self.turn(rules.urgent).await.map_err(Ended::unasked)?;
        self.carry_out(turn, rules, payment, attempt).await
    }

    /// As [`Shared::paid_call`], for a call that has its turn.
    pub(super) async fn carry_out<T, F, A>(
        &self,
        (mut place, pass): (Place<'_>, Pass<'_>),
        rules: Rules,
        mut payment: Payment,
        attempt: F,
    ) -> Result<(Done<T>, Payment), Ended>
    where
        F: Fn(With) -> A,
        A: Future<Output = Result<T, Fault>>,
    {
        match self.attempts(rules, &mut place, pass.is_probe(), &mut payment, attempt).await {
            Ok(done) => {
                pass.settle(Shown::Reached);
                Ok((done, payment))
            }
            Err(ended) => {
                payment.end().await;
                pass.settle(ended.shown());
                Err(ended)
            }
        }
    }

    async fn attempts<T, F, A>(
        &self,
        rules: Rules,
        place: &mut Place<'_>,
        probe: bool,
        payment: &mut Payment,
        attempt: F,
    ) -> Result<Done<T>, Ended>
    where
        F: Fn(With) -> A,
        A: Future<Output = Result<T, Fault>>,
    {
        let began = Instant::now();
        let left = || rules.whole.saturating_sub(began.elapsed());
        let mut state = Attempts::default();
        let mut key = match self.keys.get().await {
            Ok(key) => key,
            Err(failure) => return Err(state.end(Fault::never(failure))),
        };
        loop {
            self.hold_back(left).await.map_err(|failure| state.given_up(failure))?;
            if !payment.is_wanted() {
                let message = "the call is not wanted any more";
                return Err(state.given_up(Failure::new(FailureKind::Cancelled, message)));
            }
            payment.send().await.map_err(|refused| state.unaffordable(refused))?;
            state.all += 1;
            place.begin();
            let without = self.fields();
            let within = rules.each.min(left());
            let with = With { key: key.clone(), without: without.clone(), within };
            let fault = match timeout(within, attempt(with)).await {
                Ok(Ok(value)) => {
                    place.answered();
                    return Ok(Done { took: began.elapsed(), attempts: state.all, value });
                }
                Ok(Err(fault)) => fault,
                Err(_) => self.named(Fault::late(within)),
            };
            let fault = fault.without_key(key.as_deref());
            let (provider, host) = (self.provider, self.transport.host());
            tracing::debug!(provider, host, status = fault.status, attempt = state.all, "an attempt failed");
            payment.failed(fault.maybe_billed).await;
            state.maybe_billed |= fault.maybe_billed;
            match fault.next {
                Next::Again { after, busy } => {
                    state.counted += 1;
                    if busy {
                        place.refused();
                    }
                    if let Some(after) = after {
                        self.pace.be_quiet(after);
                    }
                    let hopeful = !probe && (rules.unsure || !fault.maybe_billed);
                    let pause = retry::pause(state.counted, after, retry::random(), left());
                    let Some(pause) = pause.filter(|_| hopeful) else { return Err(state.end(fault)) };
                    sleep(pause).await;
                    // Other calls may have found out meanwhile that another attempt is useless.
                    self.circuit.look().map_err(|failure| state.given_up(failure))?;
                }
                // If the field was left out already, it is not what the server objects to.
                Next::Without(field) if !without.contains(&field) && state.fields < MOST_FIELDS => {
                    state.fields += 1;
                    self.leave_out(field);
                }
                Next::AnotherKey if !state.renewed => {
                    state.renewed = true;
                    match self.keys.another(&key).await {
                        Ok(Some(another)) => key = another,
                        Ok(None) => return Err(state.end(fault)),
                        Err(failure) => return Err(state.end(Fault::never(failure))),
                    }
                }
                Next::Without(_) | Next::AnotherKey | Next::Never(_) => return Err(state.end(fault)),
            }
        }
    }

    /// Waits while the provider asks to be left alone; `Err` if that takes longer than the time that is left.
    async fn hold_back(&self, left: impl Fn() -> Duration) -> Result<(), Failure> {
        while let Some(wait) = self.pace.quiet() {
            if wait >= left() {
                let seconds = wait.as_secs_f32().ceil();
                return Err(self.unavailable(&format!("asks to be left alone for another {seconds} s")));
            }
            sleep(wait).await;
        }
        if left().is_zero() { Err(self.unavailable("had no time left for the call")) } else { Ok(()) }
    }

    fn unavailable(&self, message: &str) -> Failure {
        let message = format!("{} ({}) {message}", self.provider, self.transport.host());
        Failure::new(FailureKind::Unavailable, message)
    }

    /// Sends a request. The reply is a complete success in UTF-8; its meaning is still to be read.
    pub(super) async fn send(&self, method: Method, request: Request) -> Result<Reply, Fault> {
        let reply = self.transport.send(method, request).await.map_err(|broken| self.named(broken.into()))?;
        self.whole(reply)
    }

    /// Passes a reply on if it is a complete success in UTF-8.
    pub(super) fn whole(&self, reply: Reply) -> Result<Reply, Fault> {
        match reply.status {
            200..300 if reply.cut => Err(Fault {
                // A retry would run away again, at the user's expense.
                next: Next::Never(FailureKind::Rejected),
                ..self.unread(&reply, "the answer is longer than any that was asked for".to_owned())
            }),
            200..300 if std::str::from_utf8(&reply.body).is_err() => {
                Err(self.unread(&reply, "the answer is not UTF-8".to_owned()))
            }
            200..300 => Ok(reply),
            status => Err(self.refused(status, &reply)),
        }
    }

    /// What a status other than a success means.
    pub(super) fn refused(&self, status: u16, reply: &Reply) -> Fault {
        let refusal = self.wire.refusal(status, &reply.headers, &reply.body, SystemTime::now());
        let fault = Fault::refused(status, refusal);
        match status {
            // A portal that asks for a login, or a wrong address: a retry now would fare no better, a later call may.
            300..400 => Fault { next: Next::Never(FailureKind::Unavailable), ..fault },
            _ => fault,
        }
    }

    fn fields(&self) -> Vec<Field> {
        self.without.lock().clone()
    }

    pub(super) fn leave_out(&self, field: Field) {
        let mut without = self.without.lock();
        if !without.contains(&field) {
            without.push(field);
            let (provider, host) = (self.provider, self.transport.host());
            tracing::info!(provider, host, ?field, "the provider refuses a field, which is left out from now on");
        }
    }

    /// A complete reply that cannot be read as an answer.
    pub(super) fn unread(&self, reply: &Reply, message: String) -> Fault {
        self.named(Fault::broken(reply.status, message))
    }

    /// A fault that names the provider.
    pub(super) fn named(&self, fault: Fault) -> Fault {
        Fault { message: format!("{} ({}): {}", self.provider, self.transport.host(), fault.message), ..fault }
    }
}

/// The attempts of a call so far.
#[derive(Debug, Default)]
struct Attempts {
    /// Requests that were sent.
    all: u32,
    /// Of them, those that count towards [`retry::MOST_ATTEMPTS`].
    counted: u32,
    /// Fields left out.
    fields: usize,
    /// Whether another key was looked for.
    renewed: bool,
    /// Whether the provider may have counted one of them.
    maybe_billed: bool,
}

impl Attempts {
    /// Ends a call with its last fault.
    fn end(&self, fault: Fault) -> Ended {
        let kind = match fault.next {
            Next::Again { .. } => FailureKind::Unavailable,
            Next::Without(_) => FailureKind::Rejected,
            Next::AnotherKey => FailureKind::Unauthorized,
            Next::Never(kind) => kind,
        };
        let message = match (kind, self.all) {
            (FailureKind::Unavailable, 2..) => format!("{}, at the last of {} attempts", fault.message, self.all),
            (FailureKind::Unauthorized | FailureKind::UnknownModel, _) => {
                format!("{}; asked again after `situated resume`", fault.message)
            }
            (FailureKind::SpendLimit, _) => {
                format!("{}; asked again within the hour, or after `situated resume`", fault.message)
            }
            _ => fault.message,
        };
        let maybe_billed = self.maybe_billed || fault.maybe_billed;
        let failure = Failure { kind, message, maybe_billed };
        Ended { failure, status: fault.status, news: true, refused: None }
    }

    /// Ends a call because the budget does not allow the attempt; earlier attempts may have been billed.
    fn unaffordable(&self, refused: OverBudget) -> Ended {
        let (kind, message) = (FailureKind::Cancelled, refused.to_string());
        let failure = Failure { kind, message, maybe_billed: self.maybe_billed };
        Ended { refused: Some(refused), ..Ended::unasked(failure) }
    }

    /// Ends a call because of what other calls found out about the provider.
    fn given_up(&self, failure: Failure) -> Ended {
        Ended::unasked(Failure { maybe_billed: self.maybe_billed, ..failure })
    }
}

impl From<Broken> for Fault {
    fn from(broken: Broken) -> Self {
        match broken.status {
            Some(status) => Fault::broken(status, broken.message),
            None => Fault::on_the_way(broken.message, broken.sent),
        }
    }
}
