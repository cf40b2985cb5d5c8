use super::*;

#[test]
fn names_lead_to_methods_and_back() {
    for method in Method::ALL {
        assert_eq!(Method::from_name(method.name()), Some(*method));
        assert!(method.about().ends_with('.'), "{}", method.name());
    }
    assert_eq!(Method::from_name("tell"), None);
}

#[test]
fn a_call_knows_its_method() {
    assert_eq!(<SearchRequest as Call>::METHOD, Method::Search);
    let call = AnyCall::read(Method::Pause, Params::new()).unwrap();
    assert_eq!((call.method(), call), (Method::Pause, AnyCall::Pause(Box::default())));
}

#[test]
fn errors_of_a_method_are_not_those_of_all() {
    for method in Method::ALL {
        assert!(method.errors().iter().all(|kind| !COMMON_ERRORS.contains(kind)), "{}", method.name());
        assert!(method.may_fail_with(ErrorKind::InvalidParams));
        assert!(!method.may_fail_with(ErrorKind::Parse));
    }
    assert!(Method::Names.may_fail_with(ErrorKind::NotFound) && !Method::Names.may_fail_with(ErrorKind::Provider));
}
