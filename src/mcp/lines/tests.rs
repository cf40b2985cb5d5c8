use tokio::io::AsyncReadExt as _;

use super::*;

async fn passed(input: &'static [u8], most: usize) -> String {
    let mut text = String::new();
    requests(input, most, Arc::default()).read_to_string(&mut text).await.unwrap();
    text
}

#[tokio::test]
async fn the_first_line_that_counts_is_a_request() {
    let request = "{\"id\":1,\"method\":\"ping\"}\n";
    let noise = b"hello\n{\"method\":\"notifications/cancelled\"}\n[]\n\n{\"id\":1,\"method\":\"ping\"}\nnoise\n";
    assert_eq!(passed(noise, 100).await, format!("{request}noise\n"));
    assert_eq!(passed(b"{\"id\":1,\"method\":\"ping\"}", 100).await, request);
    assert_eq!(passed(b"", 100).await, "");
}

#[tokio::test]
async fn long_lines_are_dropped_and_the_next_is_read() {
    let input = b"{\"id\":1,\"method\":\"ping\"}\n0123456789012345678901234567890123456789\nshort\n0123456789012345678901234567890123456789";
    assert_eq!(passed(input, 30).await, "{\"id\":1,\"method\":\"ping\"}\nshort\n");
}
