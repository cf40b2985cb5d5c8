use super::*;

#[test]
fn addresses_are_taken_as_people_write_them() {
    for (text, joined) in [
        ("https://api.anthropic.com", "https://api.anthropic.com/v1/messages"),
        ("https://api.anthropic.com/", "https://api.anthropic.com/v1/messages"),
        ("https://api.anthropic.com/v1/", "https://api.anthropic.com/v1/messages"),
        ("http://127.0.0.1:14001", "http://127.0.0.1:14001/v1/messages"),
        ("https://host.example/anthropic", "https://host.example/anthropic/v1/messages"),
        ("https://host.example:443", "https://host.example/v1/messages"),
        ("http://[::1]:8080/v1", "http://[::1]:8080/v1/messages"),
    ] {
        let address = Address::parse(text, &["/v1"]).unwrap();
        assert_eq!(address.join("/v1/messages"), joined, "{text}");
    }
}

#[test]
fn addresses_of_this_machine_are_known() {
    for (text, own) in [
        ("http://127.0.0.1:1", true),
        ("http://127.8.0.1", true),
        ("http://localhost:11434", true),
        ("http://LOCALHOST", true),
        ("http://[::1]", true),
        ("http://[::ffff:127.0.0.1]", true),
        ("http://192.168.1.4", false),
        ("http://127.0.0.1.example.com", false),
        ("https://localhost.example.com", false),
        ("https://api.openai.com", false),
    ] {
        assert_eq!(Address::parse(text, &[]).unwrap().is_loopback(), own, "{text}");
    }
}

#[test]
fn errors_do_not_repeat_a_password() {
    for text in
        ["", "api.openai.com", "ftp://x", "https://", "https://u:hunter2@x", "https://x/?k=hunter2", "https://x/#a"]
    {
        let error = Address::parse(text, &[]).unwrap_err();
        assert!(error.contains("address") && !error.contains("hunter2"), "{text}: {error}");
    }
}
