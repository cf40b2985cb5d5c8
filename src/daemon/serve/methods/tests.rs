use super::*;
use index::search::TooMuch;

#[test]
fn every_engine_error_has_its_kind() {
    let table = [
        (CallError::NotFound { what: "vault", name: "x".into(), hint: "h".into() }, 1005),
        (CallError::Invalid("no".into()), -32602),
        (CallError::TooMuch(TooMuch::Terms { given: 65 }), -32602),
        (CallError::NotReady, 1001),
        (CallError::Conflict { message: "no".into(), job: 4 }, 1011),
        (CallError::Cancelled, 1003),
        (CallError::Timeout(5), 1004),
        (CallError::Provider("no".into()), 1008),
        (CallError::NotConfigured("no".into()), 1013),
        (CallError::Forbidden("no".into()), 1009),
        (CallError::TooDear("no".into()), 1009),
        (CallError::Paused(0), 1012),
        (CallError::Storage("no".into()), 1010),
        (CallError::Words("no".into()), 1010),
        (CallError::Stopping, 1001),
    ];
    for (error, code) in table {
        let message = error.to_string();
        let wire = RpcError::from(error);
        assert_eq!((wire.kind.code(), wire.message), (code, message));
    }
    // A client may ask again for what was not begun; what a daemon that stops was asked may have been paid for.
    assert_eq!(RpcError::from(CallError::Stopping).data.get("stopping"), Some(&true.into()));
    assert!(RpcError::from(CallError::NotReady).data.is_empty());
}

#[test]
fn a_rebuild_is_advised_only_where_it_mends() {
    let advised = |error: CallError| RpcError::from(error).hint.is_some_and(|hint| hint.contains("rebuild"));
    assert!(advised(index::LexicalError::Lacks.into()));
    assert!(!advised(CallError::Storage("vault `v` cannot be served".into())));
}
