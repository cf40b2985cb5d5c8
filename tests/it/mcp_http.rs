//! MCP over HTTP: a client with the token is served as over a pipe, and anybody else learns nothing.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::commands::err;
use crate::support::Place;

/// How long a client waits for what must come.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running `situated mcp --http`.
struct Server {
    child: Child,
    address: String,
    token: String,
}

impl Server {
    fn start(place: &Place) -> Self {
        Server::at(place, "127.0.0.1:0")
    }

    fn at(place: &Place, address: &str) -> Self {
        let mut command = place.command();
        let mut child = command.args(["mcp", "--http", address]).stderr(Stdio::piped()).spawn().unwrap();
        let mut said = String::new();
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut said).unwrap();
        let address = said.split("http://").nth(1).unwrap_or_else(|| panic!("{said}"));
        let address = address.split("/mcp").next().unwrap().to_owned();
        let token = std::fs::read_to_string(place.data().join("mcp-token")).unwrap().trim().to_owned();
        Server { child, address, token }
    }

    /// Status and body of what is sent, which asks for the connection to be closed.
    fn send(&self, head: &str, body: &[u8]) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
            .write_all(format!("{head}Connection: close\r\nContent-Length: {}\r\n\r\n", body.len()).as_bytes())
            .unwrap();
        // Who is refused may find the door closed before all is said.
        let _ = stream.write_all(body);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let status = answer.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
        (status, answer.split_once("\r\n\r\n").map_or(String::new(), |(_, body)| body.to_owned()))
    }

    fn head(&self, more: &str) -> String {
        format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nAccept: application/json, text/event-stream\r\nContent-Type: application/json\r\n{more}",
            self.address
        )
    }

    fn with_token(&self) -> String {
        self.head(&format!("Authorization: Bearer {}\r\nMCP-Protocol-Version: 2025-06-18\r\n", self.token))
    }

    fn request(&self, method: &str, params: &Value) -> Value {
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let (status, body) = self.send(&self.with_token(), request.to_string().as_bytes());
        assert_eq!(status, 200, "{body}");
        serde_json::from_str(&body).unwrap_or_else(|_| panic!("not JSON: {body}"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn place() -> Place {
    let place = Place::with(&[
        ("Heron.md", "# Heron\n\nHerons hunt in shallow water.\n"),
        ("Secret.md", "# Secret\n\nzanzibarque #private\n"),
    ]);
    place.configure("");
    place
}

#[test]
fn a_client_with_the_token_searches_and_reads() {
    let place = place();
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_idle();
    let server = Server::start(&place);
    let opened = server.request(
        "initialize",
        &json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "it", "version": "1" } }),
    );
    assert_eq!(opened["result"]["serverInfo"]["name"], "situated", "{opened}");
    let tools = server.request("tools/list", &json!({}));
    assert!(tools["result"]["tools"].as_array().is_some_and(|tools| tools.len() == 12), "{tools}");
    let found = server.request("tools/call", &json!({ "name": "search_notes", "arguments": { "query": "herons" } }));
    assert!(found["result"]["content"][0]["text"].as_str().unwrap().contains("Heron.md"), "{found}");
    for tool in [
        json!({ "name": "read_note", "arguments": { "path": "Secret.md" } }),
        json!({ "name": "search_notes", "arguments": { "query": "zanzibarque" } }),
    ] {
        let answer = server.request("tools/call", &tool).to_string();
        assert!(!answer.contains("# Secret"), "{answer}");
    }
    // A daemon that comes and goes costs the calls of that time alone.
    assert_eq!(daemon.stop(), Some(0));
    let away = server.request("tools/call", &json!({ "name": "search_notes", "arguments": { "query": "herons" } }));
    assert_eq!(away["result"]["isError"], true, "{away}");
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_idle();
    let again = server.request("tools/call", &json!({ "name": "search_notes", "arguments": { "query": "herons" } }));
    assert!(again["result"]["content"][0]["text"].as_str().unwrap().contains("Heron.md"), "{again}");
}

#[test]
fn who_has_no_token_or_comes_from_elsewhere_is_refused() {
    let place = place();
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_idle();
    let server = Server::start(&place);
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {} }).to_string();
    let bearer = format!("Authorization: Bearer {}\r\n", server.token);
    for (head, status) in [
        (server.head(""), 401),
        (server.head("Authorization: Bearer 0123456789abcdef\r\n"), 401),
        (server.head(&format!("Authorization: Basic {}\r\n", server.token)), 401),
        (server.head("Authorization: Bearer\r\n"), 401),
        (server.head(&format!("{bearer}Origin: https://evil.example\r\n")), 403),
        (server.with_token().replace(&format!("Host: {}", server.address), "Host: evil.example"), 403),
        (server.with_token().replace("POST /mcp", "POST /other"), 404),
        (server.with_token(), 200),
        (server.head(&format!("{bearer}Origin: http://localhost:6274\r\n")), 200),
        (server.head(&format!("{bearer}Origin: http://[::1]:6274\r\n")), 200),
        (server.with_token().replace(&format!("Host: {}", server.address), "Host: 192.0.2.7"), 403),
    ] {
        let (got, body) = server.send(&head, list.as_bytes());
        assert_eq!(got, status, "{head}\n{body}");
        assert!(got == 200 || !body.contains("search_notes"), "{body}");
        assert!(got != 403 || body.contains("--host NAME"), "{body}");
    }
}

#[test]
fn a_server_at_every_address_is_reached_by_each_and_by_no_other_name() {
    let place = place();
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_idle();
    let server = Server::at(&place, "0.0.0.0:0");
    assert!(server.address.starts_with("127.0.0.1:"), "what is told can be reached: {}", server.address);
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {} }).to_string();
    for (host, status) in [
        ("0.0.0.0:80", 200),
        ("192.0.2.7:7391", 200),
        ("192.0.2.7", 200),
        ("[2001:db8::7]:7391", 200),
        ("evil.example", 403),
        ("192.0.2.7.evil.example:80", 403),
    ] {
        let head = server.with_token().replace(&format!("Host: {}", server.address), &format!("Host: {host}"));
        let (got, body) = server.send(&head, list.as_bytes());
        assert_eq!(got, status, "{host}: {body}");
    }
}

#[test]
fn what_is_too_much_or_no_protocol_is_refused_and_the_next_is_served() {
    let place = place();
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_idle();
    let server = Server::start(&place);
    let (status, _) = server.send(&server.with_token(), &vec![b'x'; 5 << 20]);
    // The door may be closed before the answer is read.
    assert!([413, 0].contains(&status), "{status}");
    for body in [&b"{"[..], b"", b"[]", b"\xff\xfe", b"{\"jsonrpc\":\"2.0\"}"] {
        let (status, answer) = server.send(&server.with_token(), body);
        assert!((400..500).contains(&status), "{status} {answer}");
    }
    // Clients that connect and say nothing, or half of something, hold nobody up.
    let idle: Vec<TcpStream> = (0..20).map(|_| TcpStream::connect(&server.address).unwrap()).collect();
    let half: Vec<TcpStream> = (0..20)
        .map(|_| {
            let mut stream = TcpStream::connect(&server.address).unwrap();
            stream.write_all(format!("{}Content-Length: 1000000\r\n\r\n{{", server.with_token()).as_bytes()).unwrap();
            stream
        })
        .collect();
    let tools = server.request("tools/list", &json!({}));
    assert!(tools["result"]["tools"].is_array(), "{tools}");
    drop((idle, half));
}

#[test]
fn who_connects_and_shows_no_token_keeps_nobody_out() {
    let place = place();
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_idle();
    let server = Server::start(&place);
    let strangers: Vec<TcpStream> = (0..200).map(|_| TcpStream::connect(&server.address).unwrap()).collect();
    let began = std::time::Instant::now();
    let tools = server.request("tools/list", &json!({}));
    assert!(tools["result"]["tools"].is_array(), "{tools}");
    // Strangers lose their places by themselves after 10 s.
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    drop(strangers);
}

#[test]
fn what_cannot_be_read_is_refused_with_400_and_by_the_ids_of_its_requests() {
    let place = place();
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_idle();
    let server = Server::start(&place);
    for (body, ids) in [
        (r#"{"jsonrpc":"2.0","id":8,"method":"tools/call","params":[1]}"#, &["\"id\":8"][..]),
        (
            r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":"b","method":"ping"}]"#,
            &["\"id\":1", "\"id\":\"b\""],
        ),
        ("{", &["not JSON"]),
    ] {
        let (status, answer) = server.send(&server.with_token(), body.as_bytes());
        assert_eq!(status, 400, "{body}: {answer}");
        assert!(ids.iter().all(|id| answer.contains(id)), "{body}: {answer}");
    }
}

#[test]
fn an_address_or_token_that_will_not_do_is_said() {
    let place = place();
    let short = place.dir.path().join("short");
    std::fs::write(&short, "abc").unwrap();
    std::fs::set_permissions(&short, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    for (arguments, code, said) in [
        (&["mcp", "--http", "example.com:80"][..], 2, "give an address and a port"),
        (&["mcp", "--http", "0", "--token-file", short.to_str().unwrap()], 2, "a token is 16 or more"),
        (&["mcp", "--http", "0", "--token-file", "/nosuch/token"], 74, "the token in /nosuch/token"),
        (&["mcp", "--http", &taken], 74, "cannot be served"),
        (&["mcp", "--token-file", "x"], 2, "--http"),
    ] {
        let output = place.run(arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", err(&output));
        assert!(err(&output).contains(said), "{arguments:?}: {}", err(&output));
    }
}
