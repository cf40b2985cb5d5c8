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
    let request = "{\"id\":1,\"method\":\"ping\"}\n";
    let noise = b"hello\n{\"method\":\"notifications/cancelled\"}\n[]\n\n{\"id\":1,\"method\":\"ping\"}\nnoise\n";
    assert_eq!(passed(noise, 100).await, (format!("{request}noise\n"), String::new()));
    assert_eq!(passed(b"{\"id\":1,\"method\":\"ping\"}", 100).await.0, request);
    assert_eq!(passed(b"", 100).await.0, "");
}

#[tokio::test]
async fn long_lines_are_dropped_and_the_next_is_read() {
    let input = b"{\"id\":1,\"method\":\"ping\"}\n0123456789012345678901234567890123456789\nshort\n0123456789012345678901234567890123456789";
    assert_eq!(passed(input, 30).await, ("{\"id\":1,\"method\":\"ping\"}\nshort\n".to_owned(), String::new()));
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
