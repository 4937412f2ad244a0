use super::{BadUrl, WebUrl, encode, pairs, put};

#[test]
fn what_is_no_address_of_a_host_is_refused() {
    for (text, bad) in [
        ("javascript:alert(1)", BadUrl::Scheme),
        ("JavaScript:alert(1)", BadUrl::Scheme),
        ("file:///etc/passwd", BadUrl::Scheme),
        ("data:text/html,x", BadUrl::Scheme),
        ("vbscript:x", BadUrl::Scheme),
        ("example.com/authorize", BadUrl::Syntax),
        ("https://", BadUrl::Syntax),
        ("https://user@example.com/", BadUrl::Extra),
        ("https://example.com/#x", BadUrl::Extra),
        ("https://exa mple.com/", BadUrl::Syntax),
        ("https://example.com/\n", BadUrl::Syntax),
    ] {
        assert_eq!(WebUrl::parse(text), Err(bad), "{text:?}");
    }
    let long = format!("https://example.com/{}", "x".repeat(3000));
    assert_eq!(WebUrl::parse(&long), Err(BadUrl::Length));
}

#[test]
fn plain_http_is_for_this_machine_alone() {
    for (text, is_safe) in [
        ("https://example.com/a", true),
        ("http://localhost:1234/a", true),
        ("http://127.0.0.1/a", true),
        ("http://[::1]/a", true),
        ("http://example.com/a", false),
        ("http://localhost.example.com/", false),
        ("http://127.0.0.1.example.com/", false),
        ("http://10.0.0.1/", false),
    ] {
        assert_eq!(WebUrl::parse_safe(text).is_ok(), is_safe, "{text}");
    }
}

#[test]
fn a_url_is_kept_as_it_was_written() {
    let url = WebUrl::parse("https://Example.com:8443/a/b?c=d").unwrap();
    assert_eq!(url.as_str(), "https://Example.com:8443/a/b?c=d");
    assert_eq!(url.host(), "example.com");
    assert_eq!(url.port(), 8443);
    assert_eq!(url.target(), "/a/b?c=d");
    assert_eq!(url.origin(), "https://Example.com:8443");
    assert_eq!(format!("{url:?}"), "https://Example.com:8443/a/b");
    let next = url.redirected("/x?y").unwrap();
    assert_eq!(next.as_str(), "https://Example.com:8443/x?y");
    assert!(url.redirected("//example.com/").is_none());
    assert!(url.redirected("file:///x").is_none());
}

#[test]
fn a_form_is_encoded_and_read_back() {
    let mut form = String::new();
    put(&mut form, "redirect_uri", "http://127.0.0.1:1/c");
    put(&mut form, "scope", "a b+ü");
    assert_eq!(
        form,
        "redirect_uri=http%3A%2F%2F127.0.0.1%3A1%2Fc&scope=a%20b%2B%C3%BC"
    );
    let read = pairs(&form).unwrap();
    assert_eq!(read[1], ("scope".to_owned(), "a b+ü".to_owned()));
    assert_eq!(pairs("a=%zz"), None);
    assert_eq!(pairs("a=%ff"), None);
    let mut text = String::new();
    encode("$(x)", &mut text);
    assert_eq!(text, "%24%28x%29");
}
