use super::*;
use crate::testing;

/// A collection at a server that answers every request with this.
fn answering(status: u16, body: &str) -> Collection {
    let head = format!("HTTP/1.1 {status} Said\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
    Collection::new(testing::answering(Some(head + body)).0, "handbook")
}

#[tokio::test]
async fn a_server_that_is_too_old_or_none_is_told_apart() {
    assert_eq!(answering(200, r#"{"title":"qdrant","version":"1.18.3"}"#).version().await.unwrap(), "1.18.3");
    for (body, says) in [
        (r#"{"title":"qdrant","version":"1.5.0"}"#, "runs Qdrant 1.5.0, and 1.11 or later is needed"),
        ("<html>It works!</html>", "does not answer as Qdrant does"),
        (r#"{"title":"another"}"#, "does not answer as Qdrant does"),
    ] {
        let failure = answering(200, body).version().await.unwrap_err();
        assert_eq!(failure.kind, Kind::Other, "{failure}");
        assert!(failure.message.contains(says), "{failure}");
    }
}

#[tokio::test]
async fn what_others_made_is_neither_written_nor_read() {
    let plain = r#"{"result":{"config":{"params":{"vectors":{"size":256,"distance":"Cosine"}}},"points_count":7}}"#;
    let failure = answering(200, plain).ensure(256, Quantisation::Byte).await.unwrap_err();
    assert!(failure.message.contains("was not made by situated"), "{failure}");
    let odd =
        r#"{"result":{"points":[{"id":1,"payload":{"situated":"vault","colour":"red"}}],"next_page_offset":null}}"#;
    let failure = answering(200, odd).vaults().await.unwrap_err();
    assert!(failure.message.contains("is not as situated writes it"), "{failure}");
    let odd = r#"{"result":{"points":[{"id":1,"payload":{"situated":"chunk","key":"k","by":"me"}}],"next_page_offset":null}}"#;
    assert_eq!(answering(200, odd).contexts(&["k".to_owned()]).await.unwrap(), [], "a point that nobody understands");
}

#[tokio::test]
async fn a_disk_that_is_full_passes() {
    for (status, body) in [
        (507, "Insufficient Storage"),
        (500, r#"{"status":{"error":"Service internal error: No space left on device"}}"#),
    ] {
        let failure = answering(status, body).put(Vec::new()).await.unwrap_err();
        assert!(failure.kind.may_pass() && failure.message.contains("is full"), "{failure}");
    }
}
