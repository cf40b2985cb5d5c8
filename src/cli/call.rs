//! The socket from a shell: `situated call`, `stop`, `schema`, `socket`.

use std::path::Path;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::args::Call;
use super::exit;
use super::input;
use super::session::{CliFailure, Session};
use crate::daemon::config::Config;
use protocol::daemon::ShutdownRequest;
use protocol::locate::{Surroundings, is_locked};

/// A daemon waits for answers of a model for 10 s and then closes its stores; one that takes longer than this hangs.
const STOP_PATIENCE: Duration = Duration::from_secs(20);

/// How long a stop takes if no model owes an answer.
const STOPS_WITHIN: Duration = Duration::from_secs(2);

/// Most bytes of a request that the protocol accepts, less the envelope.
const PARAMS_BYTES: u64 = (1 << 20) - 1024;

/// `situated call METHOD [JSON|-]`: prints the result as it arrives.
pub(super) fn call(args: Call, session: &mut Session) -> Result<u8, CliFailure> {
    let text = match args.params.as_deref() {
        None => "{}".to_owned(),
        Some("-") => {
            let bytes = input::bytes(Path::new("-"), PARAMS_BYTES, "what is on standard input")?;
            String::from_utf8(bytes).map_err(|_| CliFailure::usage("the parameters are not UTF-8"))?
        }
        Some(text) => text.to_owned(),
    };
    let params: Value = serde_json::from_str(&text).map_err(|error| {
        CliFailure::usage(format!(
            "the parameters are not JSON: {error}; quote them, such as '{{\"query\": \"plan\"}}'"
        ))
    })?;
    if !params.is_object() {
        return Err(CliFailure::usage("the parameters are a JSON object, such as '{\"query\": \"plan\"}'"));
    }
    let result = session.client()?.call_raw(&args.method, params)?;
    if session.globals.json {
        session.json(result)?;
    } else {
        session.out.json(&result)?;
    }
    Ok(exit::OK)
}

/// `situated stop`: asks the daemon to stop, and waits until the data folder is free for another daemon.
pub(super) fn stop(session: &mut Session) -> Result<u8, CliFailure> {
    let found = Config::whereabouts(&session.overrides());
    let client = session.client();
    // A daemon of another data folder may answer at the socket, as it does to all commands.
    if client.is_err() && !is_locked(&found.data_dir) {
        return session.done(json!({ "stopped": false, "running": false }), "no daemon runs");
    }
    let mut client = client?;
    client.call(&ShutdownRequest {})?;
    // To connect anew would start the next daemon where a service manager holds the socket.
    let (serves, is_gone) = mpsc::channel::<()>();
    std::thread::spawn(move || {
        let _serves = serves;
        while client.next_event().is_ok() {}
    });
    let serves = || matches!(is_gone.try_recv(), Err(mpsc::TryRecvError::Empty));
    let is_held = || is_locked(&found.data_dir) || serves();
    let soon = freed(is_held, STOPS_WITHIN);
    if !soon {
        session.say("the daemon waits for what is under way (requests, answers of a model), for 10 s at most");
    }
    if !soon && !freed(is_held, STOP_PATIENCE) {
        let message = format!(
            "the daemon said it would stop, but still holds {} after {} s; its log may say why",
            found.data_dir.display(),
            STOP_PATIENCE.as_secs()
        );
        return Err(CliFailure::new(exit::TIMEOUT, message));
    }
    session.done(json!({ "stopped": true, "running": false }), "stopped")
}

/// Waits until something is held no longer, such as the lock of a data folder.
fn freed(is_held: impl Fn() -> bool, patience: Duration) -> bool {
    let deadline = Instant::now() + patience;
    while is_held() {
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    true
}

/// `situated schema`.
pub(super) fn schema(session: &mut Session) -> Result<u8, CliFailure> {
    session.json(protocol::schema::schema())?;
    Ok(exit::OK)
}

/// `situated socket`: where a client would connect now.
pub(super) fn socket(session: &mut Session) -> Result<u8, CliFailure> {
    let found = Config::whereabouts(&session.overrides());
    let socket = Surroundings::here().find(found.socket.as_deref(), &found.data_dir);
    let address = platform::stream::address(&socket).to_string_lossy().into_owned();
    session.result(json!({ "socket": &address, "running": is_locked(&found.data_dir) }), address)
}
