//! What a list of names, addresses and networks holds.

use super::holds;

#[test]
fn no_proxy_is_a_list() {
    for (list, host, port, expected) in [
        ("*", "anything.example", 443, true),
        ("", "anything.example", 443, false),
        (" , ", "anything.example", 443, false),
        ("*.example.com", "a.example.com", 443, true),
        ("example.com.", "example.com", 443, true),
        ("ample.com", "example.com", 443, false),
        ("1.2.3.4", "1.2.3.4", 443, true),
        ("1.2.3.0/24", "1.2.3.4", 443, true),
        ("1.2.3.0/33", "1.2.3.4", 443, false),
        ("0.0.0.0/0", "1.2.3.4", 443, true),
        ("0.0.0.0/0", "name.example", 443, false),
        ("2001:db8::/32", "2001:db8:1::5", 443, true),
        ("3.4", "1.2.3.4", 443, false),
        ("example.com:8443", "example.com", 443, false),
        ("example.com:8443", "example.com", 8443, true),
    ] {
        assert_eq!(holds(list, host, port), expected, "{list} {host}");
    }
}
