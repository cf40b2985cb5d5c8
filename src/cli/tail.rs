//! `situated tail`: what the daemon decides, as it decides it, from any terminal.

use std::thread;
use std::time::Duration;

use serde::Deserialize as _;

use super::args::Tail;
use super::exit;
use super::print::{dim, grouped, printable_json};
use super::run::{Reporter, report};
use super::session::{CliFailure, Session, with_schema};
use super::target::Served;
use protocol::client::{Client, ClientError, Discovery};
use protocol::daemon::PingRequest;
use protocol::events::{Event, Lagged, Notice, SubscribeRequest};
use protocol::status::StatusRequest;

/// Shortest and longest pause between two looks for a daemon that is gone.
const LOOKS: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(2));

/// Events that are followed. New snapshots say nothing to a person.
const EVENTS: [&str; 3] = ["decision", "job", "state"];

/// `situated tail`.
pub(super) fn run(args: Tail, session: &mut Session) -> Result<u8, CliFailure> {
    let mut client = session.client()?;
    // Fails for a misspelt vault, whose events would never come.
    client.call(&StatusRequest { vault: args.vault.clone(), ..StatusRequest::default() })?;
    let several = args.vault.is_none() && Served::ask(&mut client)?.are_several();
    let discovery = session.discovery();
    let hidden = session.globals.quiet || args.jsonl || session.globals.json;
    let mut follower = Follower { args, several, hidden };
    session.say(dim("following decisions; Ctrl-C ends"));
    loop {
        match follower.follow(&mut client, session) {
            Ok(()) => return Ok(exit::OK),
            Err(Ended::Output(failure)) => return Err(failure),
            Err(Ended::Daemon(error @ (ClientError::Closed | ClientError::Io(_)))) => {
                session.say(dim(format!("the daemon is gone ({error}); waiting until it is back")));
            }
            Err(Ended::Daemon(error)) => return Err(error.into()),
        }
        client = await_daemon(&discovery)?;
        session.say(dim("the daemon is back; `situated explain NOTE` has what was decided meanwhile"));
    }
}

/// Waits until a daemon answers again.
fn await_daemon(discovery: &Discovery) -> Result<Client, CliFailure> {
    let mut patience = LOOKS.0;
    loop {
        let found = Client::connect(discovery).and_then(|mut client| client.call(&PingRequest {}).map(|_| client));
        match found {
            Ok(client) => return Ok(client),
            // It starts, or is not there yet.
            Err(
                ClientError::NotRunning(_) | ClientError::Closed | ClientError::Timeout { .. } | ClientError::Io(_),
            ) => {}
            Err(ClientError::Remote(remote)) if remote.kind == "not_ready" => {}
            Err(error) => return Err(error.into()),
        }
        thread::sleep(patience);
        patience = (patience * 2).min(LOOKS.1);
    }
}

/// Why following ended.
enum Ended {
    /// The connection ended.
    Daemon(ClientError),
    /// The reader of the output has gone.
    Output(CliFailure),
}

struct Follower {
    args: Tail,
    several: bool,
    hidden: bool,
}

impl Follower {
    /// Follows over one connection, until it or the reader goes.
    fn follow(&mut self, client: &mut Client, session: &mut Session) -> Result<(), Ended> {
        let events = Some(EVENTS.map(str::to_owned).to_vec());
        client.call(&SubscribeRequest { events, watch: None }).map_err(Ended::Daemon)?;
        let mut reporter = Reporter::following(session.globals.color, self.hidden, self.several);
        while !reporter.silent() {
            let told = client.next_event().map_err(Ended::Daemon)?;
            // An event that only a newer daemon sends is unknown here.
            let event = Event::deserialize(&told).ok();
            if let Some(Event::Lagged(Lagged { missed })) = event {
                let text = format!(
                    "({} events were too quick to be told here; `situated explain NOTE` has what was decided)",
                    grouped(missed)
                );
                session.say(dim(text));
            } else if !self.is_wanted(event.as_ref()) {
                continue;
            }
            if self.args.jsonl || session.globals.json {
                let line = with_schema(told).to_string();
                session.out.line(printable_json(&line)).map_err(|error| Ended::Output(error.into()))?;
            } else if let Some(Event::Notice(notice)) = event {
                report(&notice, &mut reporter);
            }
        }
        Ok(())
    }

    fn is_wanted(&self, event: Option<&Event>) -> bool {
        let Some(vault) = &self.args.vault else { return true };
        let of = match event {
            Some(Event::Notice(Notice::Decision(decision))) => Some(&decision.vault),
            Some(Event::Notice(Notice::Job { job })) => job.scope.vault.as_ref(),
            _ => None,
        };
        // An event about all vaults is about this one too.
        of.is_none_or(|of| of == vault)
    }
}

#[cfg(test)]
mod tests;
