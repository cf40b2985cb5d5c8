//! What an assistant gets over MCP: tools and resources in both eras of the protocol, with clients that behave badly, a
//! daemon that comes and goes, and notes that try to command.

use std::time::{Duration, Instant};

use protocol::jobs::JobState;
use serde_json::{Value, json};

use crate::assistant::{Assistant, Era};
use crate::model::{Answer, Model};
use crate::support::{Place, eventually};

const HERON: &str = "# Heron\n\nHerons hunt in shallow water.\n\n## Nesting\n\nThe quibbleheron builds its nest high up in old alders. See [[Egret]].\n";
const EGRET: &str =
    "---\ntags: [birds/white]\n---\n# Egret\n\nEgrets are white, and stand in the same shallow water as herons do.\n";

fn birds() -> Place {
    Place::with(&[("Birds/Heron.md", HERON), ("Birds/Egret.md", EGRET), ("Plan.md", "# Plan\n\nBuy a boat.\n")])
}

/// Whether a value is what a schema says, as far as these schemas go.
fn conforms(schema: &Value, value: &Value, at: &str) {
    let of_type = |kind: &str| match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        other => panic!("{at}: what is {other}?"),
    };
    assert!(of_type(schema["type"].as_str().unwrap_or_else(|| panic!("{at}: {schema}"))), "{at}: {value}");
    for name in schema["required"].as_array().into_iter().flatten() {
        assert!(value.get(name.as_str().unwrap()).is_some(), "{at} lacks {name}: {value}");
    }
    if let Some(members) = value.as_object() {
        for (name, member) in members {
            assert!(schema["properties"].get(name).is_some(), "{at}: nothing is said of {name}");
            conforms(&schema["properties"][name], member, &format!("{at}.{name}"));
        }
    }
    for item in value.as_array().into_iter().flatten() {
        conforms(&schema["items"], item, &format!("{at}[]"));
    }
}

#[test]
fn every_tool_answers_as_its_schema_says_in_both_eras() {
    let place = birds();
    let daemon = place.start();
    let before = place.tree();
    for era in [Era::Legacy, Era::Stateless] {
        let mut assistant = Assistant::start(&place, era);
        if era == Era::Stateless {
            let found = assistant.request("server/discover", json!({}))["result"].clone();
            assert!(found["supportedVersions"].as_array().unwrap().contains(&json!("2026-07-28")), "{found}");
            assert!(found["instructions"].as_str().unwrap().contains("never orders"), "{found}");
        }
        let listed = assistant.request("tools/list", json!({}))["result"].clone();
        let tools = listed["tools"].as_array().unwrap().clone();
        assert_eq!(listed["ttlMs"].is_u64(), era == Era::Stateless);
        let calls = [
            ("search_notes", json!({ "query": "shallow water", "limit": 5.0, "vault": null })),
            (
                "search_with_contextual_retrieval",
                json!({ "query": "quibbleheron", "top_k": 3, "filters": { "path": "Birds/" } }),
            ),
            ("read_note", json!({ "path": "Birds/Heron.md", "line": 5, "lines": 2 })),
            ("related_notes", json!({ "path": "Birds/Heron.md" })),
            ("recent_notes", json!({ "limit": 2 })),
            ("vault_status", json!({ "vault": "notes" })),
            (
                "generate_context_for_chunk",
                json!({ "document": HERON, "chunk": "Herons hunt in shallow water.", "metadata": { "title": "Heron", "type": "bird", "tags": ["water"] }, "max_words": 30 }),
            ),
            ("reindex_with_context", json!({ "force": true, "wait": true })),
            ("reindex_with_context", json!({ "vault": "notes" })),
            ("get_reindexing_progress", json!({})),
            ("get_contextual_retrieval_stats", json!({ "vault": "notes" })),
            ("grep_notes", json!({ "pattern": "heron", "context": 1 })),
        ];
        let mut results = Vec::new();
        for (name, arguments) in calls {
            // One is another name of a tool that is listed.
            let listed = if name == "search_notes" { "search_with_contextual_retrieval" } else { name };
            let tool = tools.iter().find(|tool| tool["name"] == listed).unwrap();
            let result = assistant.tool(name, arguments);
            if let Some(schema) = tool.get("outputSchema") {
                conforms(schema, &result["structuredContent"], name);
            }
            // A note comes as text alone: beside a structured form it would stand there twice.
            let is_text = ["read_note", "grep_notes"].contains(&name);
            assert_eq!(result.get("structuredContent").is_none(), is_text, "{result}");
            results.push(result);
        }
        assert_eq!(tools.len(), 12);
        let described = tools.iter().filter(|tool| tool.get("outputSchema").is_some());
        let described: Vec<&str> = described.map(|tool| tool["name"].as_str().unwrap()).collect();
        assert_eq!(described, ["search_with_contextual_retrieval", "recent_notes"]);
        let data = |n: usize| &results[n]["structuredContent"];
        assert_eq!(data(0)["trust"], "untrusted-note-text");
        assert!(data(0)["results"].as_array().unwrap().len() >= 2, "{}", data(0));
        assert_eq!(data(1)["results"][0]["path"], "Birds/Heron.md");
        assert!(data(1)["results"][0]["context"].as_str().unwrap().contains("Heron"), "{}", data(1));
        let read = results[2]["content"][0]["text"].as_str().unwrap();
        assert!(read.starts_with("Lines 5 to 6 of 7, vault notes, Birds/Heron.md."), "{read}");
        assert!(read.contains("untrusted-note-text") && read.ends_with("    5 | ## Nesting\n    6 | \n"), "{read}");
        assert_eq!(
            (&data(3)["results"][0]["path"], &data(3)["results"][0]["linked"]),
            (&json!("Birds/Egret.md"), &json!(true))
        );
        assert_eq!((&data(4)["total"], data(4)["notes"].as_array().unwrap().len()), (&json!(3), 2));
        assert_eq!((&data(5)["vaults"][0]["notes"], &data(5)["may_spend"]), (&json!(3), &json!(false)));
        assert_eq!((&data(5)["vaults"][0]["default"], &data(5)["vaults"][0]["name"]), (&json!(true), &json!("notes")));
        assert!(data(6)["contextualized"].as_str().unwrap().ends_with("Herons hunt in shallow water."));
        assert_eq!((&data(7)["status"], &data(8)["status"]), (&json!("completed"), &json!("nothing_to_do")));
        for (name, is) in [("processed", json!(3)), ("failed", json!(0)), ("total_entities", json!(3))] {
            assert_eq!(data(7)[name], is, "{name}: {}", data(7));
        }
        assert_eq!(data(7)["progress"], json!({ "status": "completed", "percentage": 100.0 }));
        assert!(data(7)["duration_seconds"].is_f64() && data(7)["estimated_cost"] == 0.0, "{}", data(7));
        assert_eq!((&data(9)["status"], &data(9)["percentage"]), (&json!("completed"), &json!(100.0)));
        let began: jiff::Timestamp = data(9)["start_time"].as_str().unwrap().parse().unwrap();
        assert!(began <= jiff::Timestamp::now() && began.duration_until(jiff::Timestamp::now()).as_secs() < 600);
        assert_eq!((&data(9)["failed_entities"], data(9).get("estimated_completion")), (&json!([]), None));
        assert_eq!((&data(10)["llm_provider"], &data(10)["contextualized_entities"]), (&json!("template"), &json!(0)));
        let next = data(4)["next"].clone();
        let rest = assistant.data("recent_notes", json!({ "after": next }));
        assert_eq!((rest["notes"].as_array().unwrap().len(), rest.get("next")), (1, None));
        assert!(
            assistant.refused("ask", json!({ "question": "Where do herons nest?" })).contains("no model is configured")
        );
        assert_eq!(assistant.close().0, Some(0));
    }
    assert_eq!(place.tree(), before, "nothing is written to the vault");
    drop(daemon);
}

#[test]
fn arguments_are_honoured_or_refused() {
    let place = birds();
    let _daemon = place.start();
    let mut assistant = Assistant::start(&place, Era::Stateless);
    let search = "search_with_contextual_retrieval";
    for (tool, arguments, said) in [
        ("search_notes", json!({ "query": "heron", "top_n": 3 }), "`top_n` is not known"),
        (
            "search_notes",
            json!({ "query": "heron", "filters": { "folder": "Birds" } }),
            "`filters.folder` is not known",
        ),
        ("search_notes", json!({ "query": "heron", "limt": 3 }), "did you mean `limit`?"),
        ("search_notes", json!({ "query": "heron", "limit": 0 }), "1 to 100"),
        (search, json!({ "query": "heron", "limit": 101 }), "1 to 100"),
        (search, json!({ "query": "heron", "per_note": 0 }), "1 or more"),
        (search, json!({ "query": "heron", "max_chars": 100 }), "2000 to 200000"),
        (search, json!({ "query": "heron", "include": ["backlinks"] }), "`links`"),
        ("related_notes", json!({ "path": "Plan.md", "limit": 0 }), "1 to 100"),
        ("related_notes", json!({}), "give `path`, a note, or `text`"),
        ("recent_notes", json!({ "limit": 0 }), "1 to 200"),
        ("read_note", json!({ "path": "Plan.md", "line": 800 }), "the note has 3 lines"),
        ("read_note", json!({ "path": "Plan.md", "line": 0 }), "counts from 1"),
        ("read_note", json!({ "path": "Plan.md", "lines": 0 }), "1 or more"),
        (search, json!({ "query": "heron", "limit": 3, "top_k": 4 }), "two numbers"),
        (
            search,
            json!({ "query": "heron", "score_threshold": "high" }),
            "`score_threshold` must be a number, not \"high\"",
        ),
        (search, json!({ "query": "heron", "score_threshold": 7 }), "0 to 1"),
        (search, json!({ "query": "heron", "filters": "y" }), "`filters` must be an object"),
        (search, json!({ "query": "heron", "filters": { "tag": "" } }), "`filter.tag`: a value is missing"),
        (search, json!({ "query": "heron", "filters": { "after": "" } }), "`filter.after`: `` is not a date"),
        (
            "read_note",
            json!({ "path": "Plan.md", "lines": 1_000_000_000_000_u64 }),
            "`lines` must be a whole number from 0 to 4294967295",
        ),
        (
            "generate_context_for_chunk",
            json!({ "document": HERON, "chunk": "Herons hunt", "max_words": 0 }),
            "`max_words` is 0",
        ),
        (search, json!({}), "`query` is missing"),
        ("vault_status", json!({ "query": "heron" }), "`query` is not known"),
        ("reindex_with_context", json!({ "max_workers": 10 }), "`context.concurrency` in their configuration"),
        ("reindex_with_context", json!({ "batch_size": 10 }), "`batch_size` is the user's to set"),
        ("reindex_with_context", json!({ "workers": 10 }), "`workers` is not known"),
        ("reindex_with_context", json!({ "llm_provider": "ollama" }), "only be `template`"),
        (
            "generate_context_for_chunk",
            json!({ "document": HERON, "chunk": "Herons hunt", "metadata": { "author": "x" } }),
            "known here: tags title type",
        ),
    ] {
        let why = assistant.refused(tool, arguments.clone());
        assert!(why.contains(said), "{tool} {arguments}: {why}");
    }
    let found = assistant.data(search, json!({ "query": "heron water" }));
    let all = found["results"].as_array().unwrap().clone();
    assert_eq!((&found["success"], &found["query"]), (&json!(true), &json!("heron water")));
    assert_eq!(found["count"], json!(all.len()));
    let worst = all.last().unwrap()["score"].as_f64().unwrap();
    let known = |hit: &Value| hit["metadata"]["has_context"] == true && hit["metadata"]["context_quality"] == 1.0;
    assert!(all.len() >= 2 && all.iter().all(|hit| hit["id"].is_string() && known(hit)), "{all:?}");
    let above = json!({ "query": "heron water", "score_threshold": worst + 0.000_1 });
    let best = assistant.data(search, above)["results"].as_array().unwrap().clone();
    assert!(!best.is_empty() && best.iter().all(|hit| hit["score"].as_f64().unwrap() > worst), "{best:?}");
    assert_eq!(
        assistant.data(search, json!({ "query": "heron water", "limit": 1 }))["results"].as_array().unwrap().len(),
        1
    );
    // Beside what results always say, and context and passage as one text.
    let one = json!({ "query": "quibbleheron", "limit": 1, "include": ["links", "contextualized"] });
    let joined = assistant.data(search, one)["results"][0].clone();
    let linked = |of: &str| joined["metadata"][of].clone();
    assert_eq!(linked("links"), json!({ "count": 1, "notes": ["Birds/Egret.md"] }));
    assert_eq!((linked("backlinks")["count"].clone(), joined.get("context")), (json!(0), None), "{joined}");
    let plain = assistant.data(search, json!({ "query": "quibbleheron", "limit": 1 }))["results"][0].clone();
    let both = format!("{}\n\n{}", plain["context"].as_str().unwrap(), plain["content"].as_str().unwrap());
    assert_eq!(joined["content"], json!(both));
    assert!(plain["metadata"].get("links").is_none(), "{plain}");
    // Each note once, or as many passages as there are.
    let mut notes = |arguments: Value| {
        let found = assistant.data(search, arguments);
        found["results"]
            .as_array()
            .unwrap()
            .iter()
            .map(|hit| hit["path"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let once = notes(json!({ "query": "heron egret water", "per_note": 1 }));
    assert!(once.len() >= 2 && (1..once.len()).all(|n| !once[..n].contains(&once[n])), "{once:?}");
    let made = assistant.data(
        "generate_context_for_chunk",
        json!({ "document": HERON, "chunk": "Herons hunt in shallow water.", "metadata": { "type": "Bird", "tags": ["wading"] } }),
    );
    let context = made["context"].as_str().unwrap();
    assert!(context.contains("bird") && context.contains("wading"), "{made}");
    assert_eq!((&made["success"], &made["token_count"]), (&json!(true), &json!(0)));
    let made =
        assistant.data("generate_context_for_chunk", json!({ "document": "# Kiwi\n\nA bird.", "chunk": "A bird." }));
    assert!(made["context"].as_str().unwrap().starts_with("Kiwi") && !made.to_string().contains("untitled"), "{made}");
    assert_eq!(assistant.close().0, Some(0));
}

#[test]
fn notes_are_resources_page_by_page() {
    let place = birds();
    for n in 0..150 {
        place.write(&format!("Many/Nr {n}.md"), format!("Note number {n}.\n"));
    }
    let _daemon = place.start();
    for era in [Era::Legacy, Era::Stateless] {
        let mut assistant = Assistant::start(&place, era);
        let template =
            assistant.request("resources/templates/list", json!({}))["result"]["resourceTemplates"][0].clone();
        assert_eq!(template["uriTemplate"], "note://{vault}/{+path}");
        let (mut uris, mut cursor) = (Vec::new(), Value::Null);
        loop {
            let params = if cursor.is_null() { json!({}) } else { json!({ "cursor": cursor }) };
            let page = assistant.request("resources/list", params)["result"].clone();
            assert_eq!(page["cacheScope"] == "private", era == Era::Stateless, "{page}");
            uris.extend(page["resources"].as_array().unwrap().iter().map(|r| r["uri"].as_str().unwrap().to_owned()));
            cursor = page["nextCursor"].clone();
            if cursor.is_null() {
                break;
            }
        }
        uris.sort();
        uris.dedup();
        assert_eq!(uris.len(), 153);
        assert!(uris.contains(&"note://notes/Many/Nr%207.md".to_owned()));
        let read =
            assistant.request("resources/read", json!({ "uri": "note://notes/Many/Nr%207.md" }))["result"].clone();
        assert_eq!(read["contents"][0]["text"], "Note number 7.\n");
        assert_eq!(read["contents"][0]["_meta"]["situated/trust"], "untrusted-note-text");
        for wrong in [
            "note://notes/Missing.md",
            "note://notes/..%2F..%2Fetc%2Fpasswd",
            "file:///etc/passwd",
            "note://other/Plan.md",
        ] {
            let answer = assistant.request("resources/read", json!({ "uri": wrong }));
            assert!(answer["error"]["code"].as_i64().unwrap() < 0, "{wrong}: {answer}");
        }
        assert!(assistant.request("resources/list", json!({ "cursor": "made up" })).get("error").is_some());
    }
}

#[test]
fn clients_that_misbehave_are_answered_and_the_next_request_works() {
    let place = birds();
    let _daemon = place.start();
    for era in [Era::Legacy, Era::Stateless] {
        let mut assistant = Assistant::spawn(&place, era);
        // Before anything that makes sense.
        assistant.write(
            b"hello\n{}\n[]\n\xff\xfe\n\n{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{}}\n",
        );
        if era == Era::Legacy {
            let params = json!({ "protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": { "name": "x", "version": "1" } });
            assert_eq!(assistant.request("initialize", params)["result"]["protocolVersion"], "2024-11-05");
            assistant.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        }
        assistant.tool("vault_status", json!({}));
        assistant.write(
            b"garbage\n\x00\x01\n{\"jsonrpc\":\"2.0\"}\n[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]\n{\"a\":",
        );
        assistant.write(b"\n");
        assistant.write(&"x".repeat(6 << 20).into_bytes());
        assistant.write(b"\n");
        let long = "long ".repeat(300_000);
        assert!(
            assistant.refused("search_notes", json!({ "query": long })).contains("1048576"),
            "the daemon's limit is told"
        );
        let unknown = assistant.request("tools/call", json!({ "name": "delete_everything", "arguments": {} }));
        assert!(unknown["error"]["message"].as_str().unwrap().contains("search_with_contextual"), "{unknown}");
        assert!(assistant.refused("search_notes", json!({})).contains("query"));
        assert!(assistant.refused("search_notes", json!({ "query": " " })).contains("empty"));
        assert!(assistant.refused("read_note", json!({ "path": 7 })).contains("string"));
        assert!(assistant.refused("read_note", json!({ "path": "../../etc/passwd" })).contains("no path in a vault"));
        assert!(assistant.refused("read_note", json!({ "path": "Missing.md" })).contains("not known"));
        assert!(
            assistant.refused("search_notes", json!({ "query": "x", "vault": "other" })).contains("there are: notes")
        );
        assert!(assistant.refused("get_reindexing_progress", json!({ "job": 99 })).contains("99"));
        for (method, params, said) in [
            ("tools/call", json!({ "arguments": {} }), "`name` must be"),
            ("tools/call", json!({ "name": "read_note", "arguments": [] }), "`arguments` must be an object"),
            ("resources/read", json!({}), "`uri` must be"),
            ("resources/list", json!({ "cursor": "made up" }), "`nextCursor`"),
        ] {
            let error = assistant.request(method, params)["error"].clone();
            assert!(error["code"] == -32602 && error["message"].as_str().unwrap().contains(said), "{error}");
        }
        assert_eq!(assistant.request("no/such/method", json!({}))["error"]["code"], -32601);
        let long = "x".repeat(5 << 20);
        for (request, code) in [
            (r#"{"jsonrpc":"2.0","id":502,"method":"ping",}"#.to_owned(), -32700),
            (format!(r#"{{"jsonrpc":"2.0","id":502,"method":"ping","params":{{"x":"{long}"}}}}"#), -32600),
        ] {
            assistant.write(format!("{request}\n").as_bytes());
            assert_eq!(assistant.answer(502)["error"]["code"], code);
        }
        assert_eq!(assistant.data("search_notes", json!({ "query": "boat" }))["results"][0]["path"], "Plan.md");
        assert_eq!(assistant.close().0, Some(0));
    }
    // Somebody who looks in and leaves, and somebody whose last line has no end.
    assert_eq!(Assistant::spawn(&place, Era::Legacy).close().0, Some(0));
    let mut hasty = Assistant::start(&place, Era::Legacy);
    hasty.write(br#"{"jsonrpc":"2.0","id":77,"method":"tools/call","params":{"name":"search_notes","arguments":{"query":"boat"}}}"#);
    let (code, rest) = hasty.close();
    assert_eq!((code, &rest[0]["id"]), (Some(0), &json!(77)), "{rest:?}");
}

#[test]
fn a_daemon_that_is_away_costs_the_call_alone() {
    let place = birds();
    let mut assistant = Assistant::start(&place, Era::Stateless);
    let began = Instant::now();
    let told = assistant.refused("search_notes", json!({ "query": "boat" }));
    assert!(told.contains("situated service start") && told.contains("situated run"), "{told}");
    assert!(
        assistant.request("resources/list", json!({}))["error"]["message"]
            .as_str()
            .unwrap()
            .contains("situated service start")
    );
    assert!(began.elapsed() < Duration::from_secs(10));
    let daemon = place.start();
    assert_eq!(assistant.data("search_notes", json!({ "query": "boat" }))["results"][0]["path"], "Plan.md");
    daemon.kill();
    assert!(assistant.refused("search_notes", json!({ "query": "boat" })).contains("no situated daemon"));
    let daemon = place.start();
    assert_eq!(assistant.data("search_notes", json!({ "query": "boat" }))["results"][0]["path"], "Plan.md");
    // One that accepts and never answers is given up.
    daemon.signal(rustix::process::Signal::STOP);
    let began = Instant::now();
    let told = assistant.refused("vault_status", json!({}));
    assert!(told.contains("within") || told.contains("answer"), "{told}");
    assert!(began.elapsed() < Duration::from_secs(25), "{:?}", began.elapsed());
    daemon.signal(rustix::process::Signal::CONT);
    assert_eq!(assistant.data("vault_status", json!({}))["vaults"][0]["name"], "notes");
}

#[test]
fn an_older_daemon_is_told_of_rather_than_trusted() {
    let place = birds();
    let listener = std::os::unix::net::UnixListener::bind(place.socket_place()).unwrap();
    let old = std::thread::spawn(move || {
        use std::io::{BufRead as _, Write as _};
        let (stream, _) = listener.accept().unwrap();
        let mut lines = std::io::BufReader::new(stream.try_clone().unwrap()).lines();
        let hello: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        assert_eq!(hello["method"], "hello");
        let welcome = json!({ "jsonrpc": "2.0", "id": hello["id"], "result": { "protocol": 1, "server": { "version": "0.0.9" }, "features": ["search"] } });
        (&stream).write_all(format!("{welcome}\n").as_bytes()).unwrap();
        lines.next().is_none()
    });
    let mut assistant = Assistant::start(&place, Era::Stateless);
    let told = assistant.refused("search_notes", json!({ "query": "boat" }));
    assert!(told.contains("restart") && told.contains("0.0.9"), "{told}");
    assert!(old.join().unwrap(), "nothing was asked of it");
}

#[test]
fn what_a_client_cancels_ends_and_is_not_answered() {
    let model = Model::start();
    model.latency(Duration::from_secs(30));
    let place = birds();
    place.configure(&format!(
        "{}automatic = false\n[mcp]\nallow_spending = true\n",
        model.config("openai", "model = \"m\"\nkey_command = \"echo k\"\n")
    ));
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_idle();
    let mut assistant = Assistant::start(&place, Era::Stateless);
    let id =
        assistant.ask("tools/call", json!({ "name": "ask", "arguments": { "question": "Where do herons nest?" } }));
    eventually("the model is asked", || model.calls() > 0);
    assistant.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id, "reason": "changed my mind" } }));
    let began = Instant::now();
    assert_eq!(assistant.data("search_notes", json!({ "query": "boat" }))["results"][0]["path"], "Plan.md");
    assert!(began.elapsed() < Duration::from_secs(10));
    while let Some(message) = assistant.line(Duration::from_millis(500)) {
        assert_ne!(message["id"], json!(id), "{message}");
    }
}

#[test]
fn questions_that_wait_for_a_model_keep_no_search_waiting() {
    let model = Model::start();
    let place = birds();
    place.configure(&format!(
        "{}automatic = false\n[mcp]\nallow_spending = true\n",
        model.config("openai", "model = \"m\"\nkey_command = \"echo k\"\n")
    ));
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_idle();
    model.always(Some(Answer::Silence));
    let mut assistant = Assistant::start(&place, Era::Stateless);
    for _ in 0..12 {
        assistant.ask("tools/call", json!({ "name": "ask", "arguments": { "question": "Where do herons nest?" } }));
    }
    eventually("the model is asked", || model.calls() > 0);
    let began = Instant::now();
    assert_eq!(assistant.data("search_notes", json!({ "query": "boat" }))["results"][0]["path"], "Plan.md");
    assert!(assistant.text("read_note", json!({ "path": "Plan.md" })).contains("Buy a boat"));
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
}

#[test]
fn notes_are_named_as_results_and_obsidian_name_them() {
    let place = birds();
    let clipped = "Web\u{ad}clip\u{200e}.md";
    place.write(clipped, "# Clip\n\nA clipped quokka.\n");
    place.configure("");
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_idle();
    let mut assistant = Assistant::start(&place, Era::Stateless);
    let found = assistant.data("search_notes", json!({ "query": "quokka" }));
    let shown = found["results"][0]["path"].as_str().unwrap().to_owned();
    assert_eq!(shown, "Web\\u{ad}clip\\u{200e}.md");
    for arguments in [
        json!({ "query": "quokka", "filters": { "path": shown } }),
        json!({ "query": format!("quokka path:\"{shown}\"") }),
    ] {
        let found = assistant.data("search_notes", arguments);
        assert_eq!(found["results"].as_array().unwrap().len(), 1, "{found}");
        assert_eq!(found["results"][0]["path"], shown);
    }
    let grep = json!({ "pattern": "quokka", "within": format!("path:\"{shown}\"") });
    let lines = assistant.text("grep_notes", grep);
    assert!(lines.contains("clipped quokka"), "{lines}");
    // Obsidian names a vault by its folder, and a file by its path.
    let renamed = place.run(&["vault", "rename", "notes", "My Notes"]);
    assert!(renamed.status.success(), "{renamed:?}");
    let file = place.vault.join("Plan.md").to_str().unwrap().replace('/', "%2F");
    for address in ["obsidian://open?vault=notes&file=Plan".to_owned(), format!("obsidian://open?path={file}")] {
        let text = assistant.text("read_note", json!({ "path": address }));
        assert!(text.contains("vault My Notes, Plan.md") && text.contains("Buy a boat"), "{address}: {text}");
    }
}

#[test]
fn a_reindexing_tells_how_far_it_is_and_ends_when_it_is_cancelled() {
    let place = Place::new();
    for n in 0..400 {
        place.write(&format!("{n}.md"), format!("# Note {n}\n\n{}", "Some words about something.\n\n".repeat(40)));
    }
    let mut daemon = place.start();
    let mut assistant = Assistant::start(&place, Era::Legacy);
    let reindex = |assistant: &mut Assistant, token: &str| {
        let params = json!({ "name": "reindex_with_context", "arguments": { "force": true, "wait": true }, "_meta": { "progressToken": token } });
        assistant.ask("tools/call", params)
    };
    let id = reindex(&mut assistant, "t1");
    let answer = assistant.answer(id);
    assert_eq!(answer["result"]["structuredContent"]["status"], "completed", "{answer}");
    let told: Vec<f64> = assistant
        .notifications
        .iter()
        .filter(|m| m["method"] == "notifications/progress" && m["params"]["progressToken"] == "t1")
        .map(|m| m["params"]["progress"].as_f64().unwrap())
        .collect();
    assert!(!told.is_empty() && told.windows(2).all(|two| two[0] < two[1]), "{told:?}");
    daemon.pause();
    let id = reindex(&mut assistant, "t2");
    daemon.wait_newest(JobState::Running);
    assistant.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } }));
    daemon.wait_newest(JobState::Cancelled);
    // Whoever leaves has not said that.
    reindex(&mut assistant, "t3");
    daemon.wait_newest(JobState::Running);
    assert_eq!(assistant.close().0, Some(0));
    assert!(daemon.jobs()[0].is_running());
}

#[test]
fn results_keep_to_a_models_window_and_say_what_is_missing() {
    let place = Place::new();
    for n in 0..30 {
        place.write(
            &format!("{n}.md"),
            format!("# Note {n}\n\n{}", "The boat is \"red\" and sails far out.\n".repeat(200)),
        );
    }
    let lines: Vec<String> = (1..=3_000).map(|n| format!("Line {n} of the long log.")).collect();
    place.write("Long.md", lines.join("\n"));
    place.write("Wide.md", "word ".repeat(60_000));
    place.write("Empty.md", "");
    let names: Vec<String> = (0..60).map(|n| format!("Linked/With a name that is rather long {n}.md")).collect();
    names.iter().for_each(|name| place.write(name, "# Linked\n\nSee [[Hub]].\n"));
    let links: String = names.iter().map(|name| format!("[[{name}]]\n")).collect();
    place.write("Hub.md", format!("# Hub of zebras\n\n{links}"));
    let _daemon = place.start();
    let mut assistant = Assistant::start(&place, Era::Stateless);
    let chars = |result: &Value| {
        // A client gives a model one of the two.
        let structured = result.get("structuredContent").map_or(0, |data| data.to_string().chars().count());
        result["content"][0]["text"].as_str().unwrap().chars().count().max(structured)
    };
    for (limit, most) in [(None, 20_000), (Some(3_000), 3_000), (Some(60_000), 60_000)] {
        for (name, mut arguments) in [
            ("search_notes", json!({ "query": "red boat", "limit": 30 })),
            ("search_with_contextual_retrieval", json!({ "query": "red boat", "top_k": 100 })),
            ("related_notes", json!({ "path": "3.md", "limit": 30 })),
            ("read_note", json!({ "path": "Long.md" })),
            ("read_note", json!({ "path": "Wide.md" })),
        ] {
            if let Some(limit) = limit {
                arguments["max_chars"] = json!(limit);
            }
            let result = assistant.tool(name, arguments);
            assert!(chars(&result) <= most && chars(&result) > most / 5, "{name}: {} of {most}", chars(&result));
            if most < 60_000 || name == "read_note" {
                assert!(
                    name == "read_note"
                        || result["structuredContent"]["omitted"]["how"].as_str().unwrap().contains("read_note"),
                    "{result}"
                );
                assert!(result["content"][0]["text"].as_str().unwrap().contains("Left out:"), "{name}");
            }
        }
    }
    // Links leave room for the text, and a line that is cut and the last is not followed by another one.
    let hub = json!({ "path": "Hub.md", "links": true, "max_chars": 2_000 });
    let text = assistant.text("read_note", hub);
    assert!(text.chars().count() <= 2_000 && text.contains("    3 | [[Linked/With"), "{text}");
    assert!(text.contains("It links to:\n   | Linked/") && text.matches("   | and 5").count() == 2, "{text}");
    let found = json!({ "query": "zebras", "limit": 1, "include": ["links"], "max_chars": 2_000 });
    let found = assistant.tool("search_with_contextual_retrieval", found);
    assert!(chars(&found) <= 2_000, "{found}");
    let linked = &found["structuredContent"]["results"][0]["metadata"]["links"];
    assert!(linked["count"] == 60 && linked["notes"].as_array().unwrap().len() < 10, "{linked}");
    let text = assistant.text("read_note", json!({ "path": "Wide.md" }));
    assert!(text.ends_with("\nLeft out: the rest of line 1. `max_chars` takes more of it\n"), "{text}");
    assert!(
        assistant.text("read_note", json!({ "path": "Empty.md" })).starts_with("An empty note, vault notes, Empty.md.")
    );
    // All of a note is had, page by page.
    let mut all: Vec<String> = Vec::new();
    while all.len() < lines.len() {
        let page = assistant.lines_of_note(json!({ "path": "Long.md", "line": all.len() + 1 }));
        assert_eq!(page[0].0 as usize, all.len() + 1);
        all.extend(page.into_iter().map(|(_, line)| line));
    }
    assert_eq!(all, lines);
}

#[test]
fn what_costs_needs_leave_and_the_users_word() {
    let model = Model::start();
    let place = birds();
    let long = "# A\n\nWords of the first section.\n\n# B\n\nWords of the second section.\n\n".repeat(40);
    place.write("Long.md", &long);
    let paid = "key_command = \"echo k\"\nautomatic = false\n";
    place.configure(&model.config("anthropic", paid));
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_idle();
    let mut assistant = Assistant::start(&place, Era::Stateless);
    let reindex = json!({ "path": "Long.md", "force": true });
    let answer = assistant.data("reindex_with_context", reindex.clone());
    assert_eq!(
        (&answer["status"], answer["missing"].as_array().unwrap().len()),
        (&json!("needs_confirmation"), 2),
        "{answer}"
    );
    assert!(answer["estimate"]["calls"].as_u64().unwrap() > 0, "{answer}");
    let mut confirmed = reindex.clone();
    confirmed["confirm"] = json!(true);
    let answer = assistant.data("reindex_with_context", confirmed.clone());
    assert_eq!(
        (&answer["status"], answer["missing"].as_array().unwrap().len()),
        (&json!("needs_confirmation"), 1),
        "{answer}"
    );
    assert!(answer["message"].as_str().unwrap().contains("allow_spending"), "{answer}");
    let told = assistant.refused("ask", json!({ "question": "Where do herons nest?" }));
    assert!(told.contains("allow_spending"), "{told}");
    let told = assistant
        .refused("generate_context_for_chunk", json!({ "document": HERON, "chunk": "Herons hunt in shallow water." }));
    assert!(told.contains("allow_spending"), "{told}");
    assert_eq!(model.calls(), 0, "nothing was spent");
    place.configure(&format!("{}[mcp]\nallow_spending = true\n", model.config("anthropic", paid)));
    assert_eq!(daemon.reload(), [""; 0]);
    daemon.wait_idle();
    let answer = assistant.data("reindex_with_context", reindex);
    assert_eq!(
        (&answer["status"], answer["missing"].as_array().unwrap().len()),
        (&json!("needs_confirmation"), 1),
        "{answer}"
    );
    assert_eq!(model.calls(), 0, "nothing was spent");
    let mut waited = confirmed;
    waited["wait"] = json!(true);
    let answer = assistant.data("reindex_with_context", waited);
    assert_eq!(answer["status"], "completed", "{answer}");
    assert!(model.calls() > 0);
    let told = assistant.data("get_reindexing_progress", json!({}));
    assert_eq!((&told["unit"], &told["percentage"]), (&json!("chunks"), &json!(100.0)), "{told}");
    let stats = assistant.data("get_contextual_retrieval_stats", json!({}));
    assert!(
        stats["contextualized_entities"].as_u64().unwrap() > 0
            && stats["average_context_length"].as_f64().unwrap() > 0.0,
        "{stats}"
    );
    // A price that is not known is no price of 0.
    assert_eq!(stats.get("estimated_cost").is_none(), stats["unpriced_contexts"] != 0, "{stats}");
    // Others still have the template's; this one is current.
    let again = assistant.data("reindex_with_context", json!({ "path": "Long.md", "confirm": true }));
    assert_eq!(again["status"], "nothing_to_do", "{again}");
    // Over the budget of a rebuild nothing begins either.
    place.configure(&format!(
        "{}[mcp]\nallow_spending = true\n[budget]\nrebuild = 0\nrebuild_tokens = 0\n",
        model.config("anthropic", paid)
    ));
    daemon.reload();
    daemon.wait_idle();
    let answer = assistant.data("reindex_with_context", json!({ "path": "Long.md", "force": true, "confirm": true }));
    assert!(
        answer["status"] == "needs_confirmation" && answer["message"].as_str().unwrap().contains("budget.rebuild"),
        "{answer}"
    );
}
