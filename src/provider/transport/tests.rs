use super::*;

#[test]
fn hosts_are_named_with_unusual_ports_only() {
    for (base, host) in [
        ("https://api.example.org", "api.example.org"),
        ("https://api.example.org:443/v1", "api.example.org"),
        ("http://192.168.1.5:11434", "192.168.1.5:11434"),
        ("http://[::1]:8080", "[::1]:8080"),
    ] {
        assert_eq!(Transport::new(&Address::parse(base, &[]).unwrap()).unwrap().host(), host);
    }
}

#[test]
fn what_is_no_address_is_refused() {
    for base in ["", "api.example.org", "ftp://example.org", "unix:/run/x", "https://"] {
        assert!(Address::parse(base, &[]).unwrap_err().contains("address"), "{base}");
    }
}
