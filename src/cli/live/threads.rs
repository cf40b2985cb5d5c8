//! The threads that feed the state machine: one each for keys, answers, the daemon's news and signals. All of them
//! sleep until something happens; only a daemon that is away is looked for now and then.

use std::sync::mpsc::{Receiver, Sender, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use ratatui::crossterm::event::{self, Event as Typed};
use serde::Deserialize as _;

use super::requests::{Ask, What};
use super::screen;
use super::state::{Arrival, Input};
use crate::cli::session::explained;
use crate::daemon::config::Overrides;
use crate::daemon::signals::{Signals, Told};
use protocol::client::{Client, ClientError, Discovery};
use protocol::events::{Event, Notice, SubscribeRequest};
use protocol::jobs::{Job, JobList, JobsRequest};
use protocol::search::{Group, Include, RelatedRequest, SearchAnswer, SearchRequest};
use protocol::status::StatusRequest;
use protocol::table::Call;

/// Events that keep the screen up to date.
const EVENTS: [&str; 4] = ["state", "job", "index", "decision"];

/// Most hits of a list.
const MOST: usize = 50;

/// Shortest and longest pause between two looks for a daemon that is away.
const LOOKS: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(2));

/// How long the state machine may take to end by itself after a signal.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Starts a thread. If it panics, the state machine ends, because it would wait for ever.
fn spawn(name: &str, to: Sender<Input>, work: impl FnOnce(&Sender<Input>) + Send + 'static) -> std::io::Result<()> {
    struct Last(Sender<Input>);
    impl Drop for Last {
        fn drop(&mut self) {
            if thread::panicking() {
                let _ = self.0.send(Input::End);
            }
        }
    }
    let thread = move || {
        let last = Last(to);
        work(&last.0);
    };
    thread::Builder::new().name(name.to_owned()).spawn(thread).map(drop)
}

/// Reads keys. After each it waits until the state machine has handled it, so that a key that opens an editor is the
/// last one that is read before the editor reads.
pub(super) fn keys(to: Sender<Input>) -> std::io::Result<SyncSender<()>> {
    let (done, dealt_with) = sync_channel::<()>(1);
    spawn("keys", to, move |to| {
        loop {
            let input = match event::read() {
                Ok(Typed::Key(key)) => Input::Key(key),
                Ok(Typed::Paste(text)) => Input::Paste(text),
                Ok(Typed::Resize(..)) => Input::Resized,
                Ok(_) => continue,
                // The terminal is gone.
                Err(_) => Input::End,
            };
            let end = matches!(input, Input::End);
            if to.send(input).is_err() || end || dealt_with.recv().is_err() {
                return;
            }
        }
    })?;
    Ok(done)
}

/// Asks the daemon, one question after the other.
pub(super) fn asker(discovery: Discovery, asks: Receiver<Ask>, to: Sender<Input>) -> std::io::Result<()> {
    spawn("asker", to, move |to| {
        let mut client = None;
        for ask in asks {
            let outcome = answer(&mut client, &discovery, &ask).map_err(|error| error.to_string());
            if to.send(Input::Answer(ask.number, outcome)).is_err() {
                return;
            }
        }
    })
}

fn answer(client: &mut Option<Client>, discovery: &Discovery, ask: &Ask) -> Result<Box<SearchAnswer>, ClientError> {
    // The passage that is shown beside the list.
    let include = Include::TEXTS.to_vec();
    match &ask.what {
        What::Search { query, mode, vault } => {
            let (query, vault) = (query.clone(), vault.clone());
            let (mode, limit) = (Some(*mode), Some(MOST));
            put(
                client,
                discovery,
                &SearchRequest { query, vault, mode, limit, prefix: true, include, ..SearchRequest::default() },
            )
        }
        What::Related { chunk, vault, limit } => {
            let (chunk, vault) = (Some(chunk.clone()), Some(vault.clone()));
            let (limit, group) = (Some(*limit), Group::Note);
            put(client, discovery, &RelatedRequest { chunk, vault, limit, group, include, ..RelatedRequest::default() })
        }
    }
    .map(Box::new)
}

fn put<C: Call>(client: &mut Option<Client>, discovery: &Discovery, call: &C) -> Result<C::Answer, ClientError> {
    let known = client.take();
    let mut ask = |mut connected: Client| {
        let answer = connected.call(call);
        if matches!(answer, Ok(_) | Err(ClientError::Remote(_))) {
            *client = Some(connected);
        }
        answer
    };
    match known.map(&mut ask) {
        // None is connected, or the daemon was restarted since the last question.
        None | Some(Err(ClientError::Closed | ClientError::Io(_))) => ask(Client::connect(discovery)?),
        Some(answer) => answer,
    }
}

/// Keeps in touch with the daemon: says when it answers, what it tells, and when it is away.
pub(super) fn news(discovery: Discovery, overrides: Overrides, to: Sender<Input>) -> std::io::Result<()> {
    spawn("news", to, move |to| {
        let mut patience = LOOKS.0;
        let mut said = None;
        loop {
            let told = listen(&discovery, to, &mut || {
                patience = LOOKS.0;
                said = None;
            });
            let Err(why) = told else { return };
            let why = explained(&why, &overrides);
            if said.as_ref() != Some(&why) && to.send(Input::Away(why.clone())).is_err() {
                return;
            }
            said = Some(why);
            thread::sleep(patience);
            patience = (patience * 2).min(LOOKS.1);
        }
    })
}

/// Listens until the daemon is gone; returns `Ok` when the state machine has ended.
fn listen(discovery: &Discovery, to: &Sender<Input>, there: &mut dyn FnMut()) -> Result<(), ClientError> {
    let mut events = Client::connect(discovery)?;
    events.call(&SubscribeRequest { events: Some(EVENTS.map(str::to_owned).to_vec()), watch: None })?;
    // Over a second connection, so that no event that arrives meanwhile is lost.
    let mut asking = Client::connect(discovery)?;
    let arrival = arrival(&mut asking)?;
    there();
    if to.send(Input::There(Box::new(arrival))).is_err() {
        return Ok(());
    }
    loop {
        let input = match Event::deserialize(events.next_event()?) {
            // With a state that is told, vaults may have come and gone.
            Ok(Event::Lagged(_) | Event::Notice(Notice::State { .. })) => {
                Input::There(Box::new(self::arrival(&mut asking)?))
            }
            Ok(Event::Notice(notice)) => Input::Notice(Box::new(notice)),
            // Results, which were not subscribed to, or an event of a newer daemon.
            Ok(Event::Results(_)) | Err(_) => continue,
        };
        if to.send(input).is_err() {
            return Ok(());
        }
    }
}

fn arrival(client: &mut Client) -> Result<Arrival, ClientError> {
    let status = client.call(&StatusRequest::default())?;
    let JobList { jobs } = client.call(&JobsRequest::default())?;
    Ok(Arrival { status, job: jobs.into_iter().find(Job::is_running) })
}

/// Ends the machine on SIGTERM, SIGHUP and SIGINT. While an editor has the terminal its Ctrl-C is not ours.
pub(super) fn signals(to: Sender<Input>) -> std::io::Result<()> {
    spawn("signals", to, move |to| {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
        runtime.block_on(async {
            let mut signals = Signals::listen();
            while signals.next().await == Told::Interrupt && screen::is_lent() {}
            let _ = to.send(Input::End);
            tokio::time::sleep(LAST_WORDS).await;
            screen::give_back();
            std::process::exit(i32::from(crate::cli::exit::TERMINATED));
        });
    })
}
