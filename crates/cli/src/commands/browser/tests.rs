use super::leading_to;

#[test]
fn a_link_stays_in_its_attribute() {
    let page = leading_to("https://login.example.com/a?b=1&c=\"><script>alert(1)</script>");
    let page = page.expect("a link of the web");
    assert!(!page.contains("<script"), "{page}");
    let link =
        "https://login.example.com/a?b=1&amp;c=&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;";
    assert!(
        page.contains(&format!("content=\"0;url={link}\"")),
        "{page}"
    );
    assert!(page.contains(&format!("href=\"{link}\"")), "{page}");
}

#[test]
fn nothing_but_the_web_is_opened() {
    for url in [
        "javascript:alert(1)",
        "file:///etc/passwd",
        "HTTPS",
        "",
        "https://example.com/a b",
        "https://example.com/\n",
    ] {
        assert_eq!(leading_to(url), None, "{url:?}");
    }
}
