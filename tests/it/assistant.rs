//! `situated mcp` over pipes, spoken to in JSON-RPC by hand, in both ways that the protocol has been opened.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{PATIENCE, Place};

/// How a client opens the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Era {
    /// `initialize`, then requests without metadata.
    Legacy,
    /// Every request says all about itself.
    Stateless,
}

/// A running `situated mcp`.
pub(crate) struct Assistant {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    era: Era,
    next: i64,
    /// Everything that came and was not waited for.
    pub(crate) notifications: Vec<Value>,
}

impl Assistant {
    /// Started and, if that is how it is done, initialized.
    pub(crate) fn start(place: &Place, era: Era) -> Self {
        let mut assistant = Assistant::spawn(place, era);
        if era == Era::Legacy {
            let opened = assistant.request(
                "initialize",
                json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "it", "version": "1" } }),
            );
            assert_eq!(opened["result"]["protocolVersion"], "2025-06-18", "{opened}");
            assert_eq!(opened["result"]["serverInfo"]["name"], "situated");
            assistant.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        }
        assistant
    }

    /// Started, and nothing said.
    pub(crate) fn spawn(place: &Place, era: Era) -> Self {
        let mut child = place
            .command()
            .arg("mcp")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, lines) = channel();
        let output = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in output.lines() {
                let Ok(line) = line else { return };
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let input = child.stdin.take();
        Assistant { child, input, lines, era, next: 0, notifications: Vec::new() }
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().unwrap();
        input.write_all(bytes).unwrap();
        input.flush().unwrap();
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.write(format!("{message}\n").as_bytes());
    }

    /// Sends a request; its id.
    pub(crate) fn ask(&mut self, method: &str, mut params: Value) -> i64 {
        self.next += 1;
        if self.era == Era::Stateless {
            let meta = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": { "name": "it", "version": "1" },
                "io.modelcontextprotocol/clientCapabilities": {},
            });
            let given = params["_meta"].take();
            params["_meta"] = meta;
            if let Value::Object(given) = given {
                params["_meta"].as_object_mut().unwrap().extend(given);
            }
        }
        let id = self.next;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    /// The next line, which must be a message of the protocol.
    pub(crate) fn line(&mut self, within: Duration) -> Option<Value> {
        match self.lines.recv_timeout(within) {
            Ok(line) => {
                let message: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("not JSON: {line}"));
                assert_eq!(message["jsonrpc"], "2.0", "{line}");
                Some(message)
            }
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => panic!("the bridge ended: {}", self.errors()),
        }
    }

    fn errors(&mut self) -> String {
        let mut text = String::new();
        if self.child.try_wait().unwrap().is_some() {
            let _ = self.child.stderr.take().map(|mut errors| errors.read_to_string(&mut text));
        }
        text
    }

    /// The answer to a request.
    pub(crate) fn answer(&mut self, id: i64) -> Value {
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            let Some(message) = self.line(Duration::from_millis(200)) else { continue };
            if message["id"] == json!(id) {
                return message;
            }
            self.notifications.push(message);
        }
        panic!("no answer to {id}");
    }

    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        self.answer(id)
    }

    /// The result of a tool that does what it should.
    pub(crate) fn tool(&mut self, name: &str, arguments: Value) -> Value {
        let answer = self.request("tools/call", json!({ "name": name, "arguments": arguments }));
        let result = answer["result"].clone();
        assert_ne!(result["isError"], true, "{name}: {answer}");
        assert!(result["content"][0]["text"].is_string(), "{name}: {answer}");
        assert_eq!(result["resultType"] == "complete", self.era == Era::Stateless, "{name}: {answer}");
        result
    }

    /// The `structuredContent` of a tool that does what it should.
    pub(crate) fn data(&mut self, name: &str, arguments: Value) -> Value {
        self.tool(name, arguments)["structuredContent"].clone()
    }

    /// The words of a tool whose result is a text.
    pub(crate) fn text(&mut self, name: &str, arguments: Value) -> String {
        let result = self.tool(name, arguments);
        assert!(result.get("structuredContent").is_none(), "{name}: the same would stand twice: {result}");
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }

    /// The lines of a note as `read_note` gives them, with their numbers.
    pub(crate) fn lines_of_note(&mut self, arguments: Value) -> Vec<(u32, String)> {
        let text = self.text("read_note", arguments);
        let numbered = text.lines().filter_map(|line| {
            let (number, line) = line.split_once(" | ")?;
            Some((number.trim().parse().ok()?, line.to_owned()))
        });
        numbered.collect()
    }

    /// The words of a tool that cannot do what it should.
    pub(crate) fn refused(&mut self, name: &str, arguments: Value) -> String {
        let answer = self.request("tools/call", json!({ "name": name, "arguments": arguments }));
        assert_eq!(answer["result"]["isError"], true, "{name}: {answer}");
        answer["result"]["content"][0]["text"].as_str().unwrap().to_owned()
    }

    /// Closes its input; the exit code, and what came until the end.
    pub(crate) fn close(mut self) -> (Option<i32>, Vec<Value>) {
        self.input = None;
        let until = Instant::now() + PATIENCE;
        let mut rest = Vec::new();
        loop {
            if let Ok(line) = self.lines.recv_timeout(Duration::from_millis(20)) {
                rest.push(serde_json::from_str(&line).unwrap());
                continue;
            }
            if let Some(status) = self.child.try_wait().unwrap() {
                return (status.code(), rest);
            }
            assert!(Instant::now() < until, "it does not end");
        }
    }
}

impl Drop for Assistant {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
