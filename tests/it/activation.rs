//! The socket's life: handed over by a service manager, removed by somebody, and the end of the daemon that serves it.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::json;

use crate::hostile::Wire;
use crate::http::{self, Listener};
use crate::support::{Daemon, PATIENCE, Place, eventually};

/// A daemon that is given `handed` as its third descriptor, as systemd does it.
fn activated(place: &Place, handed: &impl std::os::fd::AsFd) -> Daemon {
    let daemon = {
        let mut command = place.command();
        command.args(["--quiet", "run", place.vault.to_str().unwrap()]);
        command
    };
    let copy: OwnedFd = handed.as_fd().try_clone_to_owned().unwrap();
    // A shell puts it in its place and keeps its own process id for the daemon.
    let script = format!("exec 3<&{} && LISTEN_PID=$$ LISTEN_FDS=1 exec \"$0\" \"$@\"", copy.as_raw_fd());
    rustix::io::fcntl_setfd(&copy, rustix::io::FdFlags::empty()).unwrap();
    let mut command = Command::new("/bin/bash");
    command.arg("-c").arg(script).arg(daemon.get_program()).args(daemon.get_args()).env_clear();
    for (name, value) in daemon.get_envs() {
        value.map(|value| command.env(name, value));
    }
    command.process_group(0);
    place.spawn_command(&mut command)
}

/// Asks once, on a connection of its own; what came back.
fn ping(place: &Place) -> std::io::Result<String> {
    let mut stream = UnixStream::connect(place.socket())?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n")?;
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer)?;
    Ok(answer)
}

#[test]
fn over_two_restarts_with_a_socket_that_is_held_no_request_is_lost() {
    let place = Place::with(&[("a.md", "# A\n\naardvark\n")]);
    let held = UnixListener::bind(place.socket_place()).unwrap();
    let mut daemon = activated(&place, &held);
    daemon.wait_idle();
    assert_eq!(daemon.holding("aardvark"), ["a.md"]);

    let over = Arc::new(AtomicBool::new(false));
    let (daemon, answered) = std::thread::scope(|scope| {
        let (stop, place) = (over.clone(), &place);
        let client = scope.spawn(move || {
            let mut answered = 0;
            while !stop.load(Ordering::Relaxed) {
                let answer = ping(place).unwrap_or_else(|error| panic!("after {answered}: {error}"));
                assert!(answer.contains("\"result\""), "after {answered}: {answer:?}");
                answered += 1;
            }
            answered
        });
        for _ in 0..2 {
            assert_eq!(daemon.stop(), Some(0));
            // Nobody serves now; who asks waits.
            assert!(place.socket().exists());
            daemon = activated(place, &held);
            daemon.wait_idle();
        }
        over.store(true, Ordering::Relaxed);
        (daemon, client.join().unwrap())
    });
    assert!(answered > 10, "{answered}");
    assert_eq!(daemon.stop(), Some(0));
    assert!(place.socket().exists(), "it is not the daemon's to remove");
}

#[test]
fn a_daemon_is_stopped_whose_socket_goes_on_listening() {
    let place = Place::with(&[("a.md", "# A\n")]);
    let held = UnixListener::bind(place.socket_place()).unwrap();
    let mut daemon = activated(&place, &held);
    daemon.wait_idle();
    let began = Instant::now();
    let stopped = place.run(&["stop"]);
    assert!(stopped.status.success(), "{stopped:?}");
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    assert_eq!(daemon.wait_exit(), Some(0));
    // Nobody has connected, which would start the next one.
    held.set_nonblocking(true).unwrap();
    assert!(held.accept().is_err());
}

#[test]
fn what_cannot_be_served_is_told_and_not_tried_again() {
    let place = Place::with(&[("a.md", "# A\n")]);
    let file = std::fs::File::open("/dev/null").unwrap();
    let mut daemon = activated(&place, &file);
    assert_eq!(daemon.wait_exit(), Some(78));
    assert!(daemon.log().contains("handed over (LISTEN_FDS) cannot be served"), "{}", daemon.log());
}

#[test]
fn a_socket_that_somebody_removed_is_made_anew() {
    let place = Place::with(&[("a.md", "# A\n\naardvark\n")]);
    let mut command = place.command();
    // With a folder of its own, which goes too.
    let apart = tempfile::tempdir().unwrap();
    let socket = apart.path().join("run/s");
    std::fs::create_dir(socket.parent().unwrap()).unwrap();
    command.env("SITUATED_SOCKET", &socket).args(["--quiet", "run", place.vault.to_str().unwrap()]);
    let daemon = place.spawn_command(&mut command);
    let answers = || UnixStream::connect(&socket).is_ok();
    eventually("it serves", answers);
    let mut before = Wire::at(&socket);
    before.ping();
    std::fs::remove_file(&socket).unwrap();
    eventually("the socket is back", answers);
    // Who had connected goes on.
    before.ping();
    std::fs::remove_dir_all(socket.parent().unwrap()).unwrap();
    eventually("the folder is back, too", answers);
    std::fs::rename(&socket, socket.with_file_name("moved")).unwrap();
    eventually("and after a move", answers);
    before.ping();
    eventually("the log says so", || daemon.log().matches("the socket was removed").count() >= 3);
    // As the folder of a user who logs out and in, where the kernel lets only a new process write.
    std::fs::remove_dir_all(apart.path()).unwrap();
    std::fs::create_dir_all(socket.parent().unwrap()).unwrap();
    eventually("and after the folder above was made anew", answers);
    // The socket takes connections before the process that started anew listens to signals.
    Wire::at(&socket).ping();
    assert_eq!(daemon.stop(), Some(0));
    // In a folder that it made while it was held it may remove nothing; the next daemon clears it away.
}

#[test]
fn another_thing_in_the_sockets_place_is_not_removed() {
    let place = Place::with(&[("a.md", "# A\n")]);
    let daemon = place.start();
    std::fs::remove_file(place.socket()).unwrap();
    let taken = UnixListener::bind(place.socket());
    // It may have been quicker: then its own socket is there again.
    if taken.is_ok() {
        eventually("the log says so", || daemon.log().contains("cannot be made anew"));
    }
    assert_eq!(daemon.stop(), Some(0));
    assert_eq!(place.socket().exists(), taken.is_ok());
}

/// The longest that a daemon may take to end: two seconds, and as much again and more where others have the processor.
const END: Duration = Duration::from_secs(6);

#[test]
fn it_ends_soon_whatever_clients_and_models_do() {
    let place = Place::with_sample();
    // A model that never answers.
    let server = Listener::start(|stream| {
        let mut reader = BufReader::new(stream);
        while http::read_request(&mut reader).is_some() {
            std::thread::sleep(PATIENCE);
        }
    });
    place.configure(&format!(
        "\n[context]\nprovider = \"ollama\"\nmodel = \"none\"\nbase_url = \"{}\"\nsettle = \"0s\"\n",
        server.url()
    ));
    let mut daemon = place.spawn(&["--quiet", "run"]);
    daemon.wait_vault("answering", |vault| vault.notes > 60);
    let mut wires: Vec<Wire> = (0..4).map(|_| Wire::to(&place)).collect();
    wires[0].ask(1, "subscribe", json!({}));
    wires[1].ask(1, "rebuild", json!({"wait": true}));
    wires[2].ask(1, "ask", json!({"question": "Bewuchs"}));
    // And one that has never said a word.
    wires[3] = Wire::to(&place);
    let _silent = UnixStream::connect(place.socket()).unwrap();
    place.write("new.md", "# New\n\nokapi\n");
    daemon.wait_holding("okapi", &["new.md"]);
    let began = Instant::now();
    daemon.signal(Signal::TERM);
    assert_eq!(daemon.wait_exit(), Some(0), "{}", daemon.log());
    let took = began.elapsed();
    assert!(took < END, "it took {took:?} to end: {}", daemon.log());
    // What was committed is found, and the store needs no mending.
    let mut daemon = place.spawn(&["--quiet", "run"]);
    daemon.wait_vault("opened", |vault| vault.notes > 60);
    daemon.wait_holding("okapi", &["new.md"]);
    assert!(!daemon.log().contains("damaged"), "{}", daemon.log());
}

#[test]
fn without_a_terminal_and_a_journal_it_keeps_a_log_of_its_own() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::with(&[("secret aardvark.md", "# A\n\naardvark\n")]);
    let mut daemon = place.start();
    daemon.search("aardvark");
    let log = place.data().join("daemon.log");
    let text = std::fs::read_to_string(&log).unwrap();
    assert!(text.contains("INFO"), "{text}");
    assert!(!text.contains("aardvark"), "{text}");
    assert_eq!(std::fs::metadata(&log).unwrap().permissions().mode() & 0o777, 0o600);
    // Who is refused says there why.
    let second = place.run(&["run", place.vault.to_str().unwrap()]);
    assert_eq!(second.status.code(), Some(75));
    assert!(std::fs::read_to_string(&log).unwrap().contains("another situated is running"));
    let shown = place.run(&["service", "logs", "-n", "1"]);
    assert!(String::from_utf8_lossy(&shown.stdout).contains("another situated is running"), "{shown:?}");

    // launchd starts again what ends with another code than 0, and puts standard error into a file that only grows.
    let mut command = place.command();
    command.env("SITUATED_SUPERVISOR", "launchd").args(["run", place.vault.to_str().unwrap()]);
    std::fs::remove_file(&log).unwrap();
    let ended = command.output().unwrap();
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    assert!(std::fs::read_to_string(&log).unwrap().contains("another situated is running"));

    let named = place.dir.path().join("logs/mine");
    assert_eq!(daemon.stop(), Some(0));
    let mut daemon = place.spawn(&["run", place.vault.to_str().unwrap(), "--log-file", named.to_str().unwrap()]);
    // It hears of a signal as soon as it answers.
    daemon.wait_vault("opened", |vault| vault.notes == 1);
    eventually("it is written", || std::fs::read_to_string(&named).is_ok_and(|text| text.contains("INFO")));
    assert_eq!(daemon.stop(), Some(0));
}
