use std::time::Duration;

use super::*;

fn of(error: RestError) -> Failure {
    Failure::of(error, "q.example:6333", "handbook")
}

fn refused(status: u16, said: &str) -> Failure {
    of(RestError::Refused(status, format!(r#"{{"status":{{"error":"{said}"}}}}"#).into_bytes()))
}

#[test]
fn every_failure_says_where_and_what_to_do() {
    let cases = [
        (of(RestError::Broken("Connection refused".to_owned())), Kind::Unavailable, "cannot be reached"),
        (of(RestError::Late(Duration::from_millis(300))), Kind::Unavailable, "within 300 ms"),
        (
            of(RestError::Broken("invalid peer certificate: NotValidForName".to_owned())),
            Kind::Other,
            "must name the host",
        ),
        (refused(401, "Must provide an API key"), Kind::Forbidden, "key_file"),
        (refused(403, "forbidden"), Kind::Forbidden, "not allowed"),
        (refused(404, "Not found"), Kind::Missing, "situated team init"),
        (refused(500, "Service internal error: No space left on device"), Kind::Unavailable, "is full"),
        (refused(507, "Insufficient Storage"), Kind::Unavailable, "is full"),
        (
            refused(400, "Wrong input: Vector dimension error: expected dim: 4, got 256"),
            Kind::Other,
            "other dimensions",
        ),
        (refused(503, "shards not ready"), Kind::Unavailable, "HTTP 503"),
        (refused(400, "bad filter"), Kind::Other, "refuses"),
    ];
    for (failure, kind, says) in cases {
        assert_eq!(failure.kind, kind, "{failure}");
        assert!(failure.message.contains(says) && failure.message.contains("q.example:6333"), "{failure}");
    }
}

#[test]
fn what_a_server_says_is_cut_and_in_one_line() {
    let long = "x\n".repeat(5000);
    let failure = of(RestError::Refused(500, long.into_bytes()));
    assert!(failure.message.len() < 400 && !failure.message.contains('\n'), "{failure}");
}
