use tokio::io::AsyncReadExt as _;

use super::*;

/// What the library reads, and what the client is told.
async fn passed(input: &'static [u8], most: usize) -> (String, String) {
    let (client, mut told) = tokio::io::duplex(BUFFER);
    let (mut requests, answers, written) = between(input, client, most, Arc::default());
    let (mut read, mut refused) = (String::new(), String::new());
    requests.read_to_string(&mut read).await.unwrap();
    drop(answers);
    written.await.unwrap();
    told.read_to_string(&mut refused).await.unwrap();
    (read, refused)
}

#[tokio::test]
async fn the_first_line_that_counts_is_a_request() {
    let request = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";
    let noise = b"hello\n{\"method\":\"notifications/cancelled\"}\n[]\n\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\nnoise\n";
    assert_eq!(passed(noise, 100).await, (format!("{request}noise\n"), String::new()));
    assert_eq!(passed(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", 100).await.0, request);
    assert_eq!(passed(b"", 100).await.0, "");
}

#[tokio::test]
async fn long_lines_are_dropped_and_the_next_is_read() {
    let input = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n01234567890123456789012345678901234567890123456789\nshort\n01234567890123456789012345678901234567890123456789";
    assert_eq!(
        passed(input, 45).await,
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\nshort\n".to_owned(), String::new())
    );
}

#[tokio::test]
async fn a_request_that_cannot_be_read_is_refused_by_its_id() {
    let deep = format!("{{\"params\":{}1{},\"id\":\"deep\"}}\n", "[".repeat(200), "]".repeat(200));
    let table = [
        ("{\"id\":502,\"method\":\"ping\",}\n", json!(502), PARSE_ERROR),
        (deep.leak(), json!("deep"), PARSE_ERROR),
        (
            "{\"params\":{\"id\":3,\"text\":\"\\\"id\\\":4 }} 0123456789 0123456789 0123456789\"},\"id\":5}",
            json!(5),
            INVALID_REQUEST,
        ),
    ];
    for (line, id, code) in table {
        let most = if code == INVALID_REQUEST { 60 } else { 1_000 };
        let (read, refused) = passed(line.as_bytes(), most).await;
        let told: Value = serde_json::from_str(&refused).unwrap();
        assert_eq!((read.as_str(), &told["id"], &told["error"]["code"]), ("", &id, &json!(code)), "{line}");
    }
}

#[tokio::test]
async fn a_request_with_other_params_and_each_of_a_batch_is_refused_by_its_id() {
    let refused = async |line: &'static str| -> Vec<Value> {
        let (read, refused) = passed(line.as_bytes(), 1_000).await;
        assert_eq!(read, "", "{line}");
        let told = refused.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        told.map(|told| json!([told["id"], told["error"]["code"]])).collect()
    };
    for params in ["[1]", "\"x\"", "7"] {
        let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"tools/call\",\"params\":{params}}}");
        assert_eq!(refused(line.leak()).await, [json!([8, INVALID_REQUEST])], "{params}");
    }
    let batch = r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/x"},{"jsonrpc":"2.0","id":"b","method":"tools/list"}]"#;
    assert_eq!(refused(batch).await, [json!([1, INVALID_REQUEST]), json!(["b", INVALID_REQUEST])]);
}
