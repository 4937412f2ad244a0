//! What names a destination, and what is one.

use super::{Destination, Destinations, HostName};

fn all(texts: &[&str]) -> Destinations {
    let parsed = texts.iter().map(|text| text.parse::<Destination>());
    parsed.collect::<Result<_, _>>().unwrap()
}

#[test]
fn destinations_are_hosts_and_ports() {
    for (text, expected) in [
        ("api.example.com", "api.example.com:443"),
        ("API.Example.com.:8443", "api.example.com:8443"),
        ("*.example.org:443", "*.example.org:443"),
        ("localhost:5432", "localhost:5432"),
        ("127.0.0.1:5432", "127.0.0.1:5432"),
        ("[::1]:5432", "[::1]:5432"),
        ("[2001:DB8::1]", "[2001:db8::1]:443"),
        ("[::ffff:10.0.0.1]:80", "10.0.0.1:80"),
        ("10.1.2.3/8:443", "10.0.0.0/8:443"),
        ("[fd12::/16]:8080", "[fd12::/16]:8080"),
        ("xn--bcher-kva.example:1", "xn--bcher-kva.example:1"),
        ("1password.com", "1password.com:443"),
    ] {
        let parsed: Destination = text.parse().unwrap();
        assert_eq!(parsed.to_string(), expected, "{text}");
        assert_eq!(parsed.to_string().parse(), Ok(parsed), "{text}");
    }
    for (text, expected) in [
        ("", "names no host"),
        (":443", "names no host"),
        ("*", "names no host"),
        ("*:443", "names no host"),
        ("*.:443", "names no host"),
        ("*.*.example.com", "names no host"),
        ("a.*.example.com", "names no host"),
        ("*.10.0.0.1", "names no host"),
        ("a..example.com", "names no host"),
        ("127.1:80", "names no host"),
        ("2130706433", "names no host"),
        ("0x7f000001:80", "names no host"),
        ("1.2.3.4.5", "names no host"),
        ("[::1", "names no host"),
        ("[localhost]:1", "names no host"),
        ("a:b:c", "has an IPv6 address without brackets"),
        ("::1", "has an IPv6 address without brackets"),
        ("api.example.com:", "has no port from 1 to 65535"),
        ("api.example.com:0", "has no port from 1 to 65535"),
        ("api.example.com:65536", "has no port from 1 to 65535"),
        ("api.example.com:+1", "has no port from 1 to 65535"),
        ("api.example.com:https", "has no port from 1 to 65535"),
        ("api.example.com:*", "has no port from 1 to 65535"),
        ("[::1]x", "has no port from 1 to 65535"),
        ("https://api.example.com", "is more than a host and a port"),
        ("user@api.example.com", "is more than a host and a port"),
        ("api.example.com:443 b", "is more than a host and a port"),
        ("b\u{fc}cher.example", "is more than a host and a port"),
        ("api.example.com/x", "names no host"),
        ("10.0.0.0/33:443", "has no network of that length"),
        ("0.0.0.0/0:443", "has no network of that length"),
        ("10.0.0.0/x:443", "has no network of that length"),
        ("[fd00::/129]:443", "has no network of that length"),
        ("[fd00::/8:443", "names no host"),
    ] {
        let found = text.parse::<Destination>().map_err(|bad| bad.to_string());
        assert_eq!(found, Err(expected.to_owned()), "{text}");
    }
    let long = format!("{}example.com", "a.".repeat(130));
    assert!(long.parse::<Destination>().is_err());
}

#[test]
fn what_is_not_named_is_no_destination() {
    let named = all(&[
        "api.example.com",
        "*.example.org:8443",
        "127.0.0.1:5432",
        "10.0.0.0/8:443",
        "[fd12::/16]:443",
    ]);
    for (name, port, expected) in [
        ("api.example.com", 443, true),
        ("api.example.com", 80, false),
        ("b.api.example.com", 443, false),
        ("example.com", 443, false),
        ("xapi.example.com", 443, false),
        ("a.example.org", 8443, true),
        ("a.b.example.org", 8443, true),
        ("example.org", 8443, false),
        (".example.org", 8443, false),
        ("aexample.org", 8443, false),
        ("a.example.org", 443, false),
        ("a.example.org.evil.example", 8443, false),
        ("127.0.0.1", 5432, false),
        ("localhost", 5432, false),
    ] {
        assert_eq!(named.names(name, port), expected, "{name}:{port}");
    }
    for (ip, port, expected) in [
        ("127.0.0.1", 5432, true),
        ("::ffff:127.0.0.1", 5432, true),
        ("127.0.0.1", 5433, false),
        ("127.0.0.2", 5432, false),
        ("::1", 5432, false),
        ("10.255.1.2", 443, true),
        ("11.0.0.1", 443, false),
        ("fd12:1::1", 443, true),
        ("fd13::1", 443, false),
        ("93.184.216.34", 443, false),
    ] {
        let parsed = ip.parse().unwrap();
        assert_eq!(named.holds(parsed, port), expected, "{ip}:{port}");
    }
    assert!(!Destinations::default().holds("127.0.0.1".parse().unwrap(), 443));
}

#[test]
fn this_machine_is_named_by_its_addresses() {
    let named = all(&[
        "localhost:5432",
        "127.0.0.1:5432",
        "127.0.0.9:80",
        "127.0.0.0/8:81",
        "api.example.com",
        "10.0.0.1:82",
    ]);
    let own = named.of_this_machine();
    let own: Vec<_> = own.iter().map(ToString::to_string).collect();
    assert_eq!(own, ["127.0.0.1:5432", "127.0.0.9:80", "[::1]:5432"]);
    for ip in ["127.0.0.1", "::1"] {
        assert!(named.holds(ip.parse().unwrap(), 5432), "{ip}");
    }
    assert!(named.names("localhost", 5432));
}

#[test]
fn hosts_are_read_as_they_are_compared() {
    for (text, expected) in [
        ("Api.Example.COM.", Some("api.example.com")),
        ("[::1]", Some("[::1]")),
        ("::1", Some("[::1]")),
        ("[::ffff:1.2.3.4]", Some("1.2.3.4")),
        ("my_host", Some("my_host")),
        ("", None),
        (".", None),
        ("a..", None),
        ("a b", None),
        ("a%2eb", None),
        ("127.1", None),
        ("0177.0.0.1", None),
        ("0x7f.1", None),
        ("[127.0.0.1]", None),
        ("fe80::1%eth0", None),
    ] {
        let found = HostName::parse(text).map(|host| host.to_string());
        assert_eq!(found.as_deref(), expected, "{text}");
    }
}
