//! Many clients at once, and clients that hold on: who asks properly is answered all the while.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;

use serde_json::{Value, json};

use crate::support::{PATIENCE, Place, eventually};

fn connect(place: &Place) -> BufReader<UnixStream> {
    let stream = UnixStream::connect(place.socket()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    BufReader::new(stream)
}

/// What a ping gets: its answer, that there is no room, or an end.
fn ping(place: &Place) -> &'static str {
    let Ok(stream) = UnixStream::connect(place.socket()) else { return "refused" };
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut stream = BufReader::new(stream);
    // One that is refused may find its pipe broken; what it was told is there to be read all the same.
    let _ = stream.get_mut().write_all(b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}\n");
    let mut line = String::new();
    match stream.read_line(&mut line) {
        Ok(0) | Err(_) => "closed",
        Ok(_) => match serde_json::from_str::<Value>(&line).unwrap() {
            reply if reply["id"] == 7 && reply["result"] == json!({}) => "answered",
            reply if reply["id"].is_null() && reply["error"]["data"]["kind"] == "busy" => "busy",
            reply => panic!("{reply}"),
        },
    }
}

fn descriptors(pid: u32) -> Option<usize> {
    std::fs::read_dir(format!("/proc/{pid}/fd")).ok().map(Iterator::count)
}

#[test]
fn a_storm_of_connections_leaves_nothing_behind_and_watches_go_on() {
    let place = Place::with(&[("a.md", "# A\n\naardvark\n")]);
    let mut daemon = place.start();
    let mut watcher = connect(&place);
    let watch = json!({"jsonrpc": "2.0", "id": 1, "method": "subscribe", "params": {"watch": [{"query": "aardvark"}]}});
    watcher.get_mut().write_all(format!("{watch}\n").as_bytes()).unwrap();
    let mut next = move || {
        let mut line = String::new();
        watcher.read_line(&mut line).unwrap();
        serde_json::from_str::<Value>(&line).unwrap()
    };
    assert_eq!(next()["id"], 1);
    assert_eq!(next()["params"]["hits"][0]["path"], "a.md");
    let before = descriptors(daemon.pid());

    let outcomes: Vec<&str> = std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..100).map(|_| scope.spawn(|| (0..10).map(|_| ping(&place)).collect::<Vec<_>>())).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let count = |what: &str| outcomes.iter().filter(|outcome| **outcome == what).count();
    assert_eq!(outcomes.len(), 1000);
    assert_eq!(count("refused"), 0, "a connect that fails says that no daemon runs");
    assert!(count("answered") > 100, "{} answered, {} busy", count("answered"), count("busy"));

    eventually("all descriptors are closed", || descriptors(daemon.pid()) <= before.map(|before| before + 2));
    place.write("b.md", "# B\n\nanother aardvark\n");
    assert!(next().to_string().contains("b.md"));
    assert_eq!(daemon.holding("aardvark"), ["a.md", "b.md"]);
}

#[test]
fn clients_that_never_finish_their_line_hold_nobody_up() {
    const REQUEST: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":\"slow\",\"method\":\"ping\"}";
    let place = Place::with(&[("a.md", "# A\n\naardvark\n")]);
    let mut daemon = place.start();
    let mut slow: Vec<_> = (0..60).map(|_| connect(&place)).collect();
    let (last, first) = REQUEST.split_last().unwrap();
    for byte in first {
        for stream in &mut slow {
            stream.get_mut().write_all(&[*byte]).unwrap();
        }
        assert_eq!(daemon.search("aardvark"), ["a.md"]);
    }
    for stream in &mut slow {
        stream.get_mut().write_all(&[*last, b'\n']).unwrap();
        let mut line = String::new();
        stream.read_line(&mut line).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&line).unwrap()["id"], "slow");
    }
}
