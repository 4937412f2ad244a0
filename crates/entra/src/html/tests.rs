use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::{Html, Piece, from_markdown};

fn check(html: &str, expected: &Expect) {
    let html = Html::parse(html);
    let name = |id: &str| (id == "a1").then(|| "plan.docx".to_owned());
    expected.assert_eq(&format!(
        "{}\n---\n{}\n",
        html.to_html(),
        html.to_text(&name)
    ));
    // What was sanitised stays as it is.
    assert_eq!(Html::parse(&html.to_html()).to_html(), html.to_html());
}

#[test]
fn a_message_keeps_its_form() {
    check(
        "<p>Hello&nbsp;<at id=\"0\">Alex</at>,<br>see <a href=\"https://example.com/x?a=1&amp;b=2\" onclick=\"x()\">this</a></p>\
         <ul><li>one</li><li>two<ol><li>deep</li></ol></li></ul><attachment id=\"a1\"></attachment>\
         <codeblock class=\"Rust\"><code>fn main() {\n    1 &lt; 2\n}</code></codeblock><emoji alt=\"😀\"></emoji>",
        &expect![[r#"
            <p>Hello <at id="0">Alex</at>,<br>see <a href="https://example.com/x?a=1&amp;b=2">this</a></p><ul><li>one</li><li>two<ol><li>deep</li></ol></li></ul><attachment id="a1"></attachment><pre><code>fn main() {
                1 &lt; 2
            }</code></pre>😀
            ---
            Hello @Alex,
            see this (https://example.com/x?a=1&b=2)
            - one
            - two
              1. deep
            [plan.docx]
            fn main() {
                1 < 2
            }
            😀
        "#]],
    );
    check(
        "<blockquote><p>said</p><p>before</p></blockquote><table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table><hr>end",
        &expect![[r#"
            <blockquote><p>said</p><p>before</p></blockquote><table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table><hr>end
            ---
            > said
            > before
            a | b
            1 | 2
            ---
            end
        "#]],
    );
}

#[test]
fn what_could_do_harm_is_gone() {
    check(
        "<script>alert(1)</script><style>p{}</style><img src=x onerror=alert(1)><a href=\" java\nscript:alert(1)\">x</a>\
         <iframe src=\"https://example.com\"><p>in</p></iframe><svg><p>in</p><a xlink:href=\"javascript:x\">y</a></svg>\
         <math><mtext><table><mglyph><style><!--</style><img title=\"--&gt;&lt;img src=1 onerror=alert(1)&gt;\"></math>after",
        &expect![[r#"
            [picture]xafter
            ---
            [picture]xafter
        "#]],
    );
    check(
        "<p style=\"color:red\" class=\"x\">a<b>b<i>c</b>d</i></p></div><textarea><p>t</p></textarea><noscript><p>n</p></noscript><!-- c --><plaintext>&lt;p>x",
        &expect![[r#"
            <p>a<b>b<i>c</i></b>d</p>&amp;lt;p&gt;x
            ---
            abcd
            &lt;p>x
        "#]],
    );
    check(
        "<p>seen</p><p hidden>no</p><span style=\"display : none\">no<span>no</span></span><span style=\"font-size:0px\">no</span><span style=\"opacity:0.5\">yes</span>",
        &expect![[r#"
            <p>seen</p><span>yes</span>
            ---
            seen
            yes
        "#]],
    );
    check(
        "<img src=\"https://tracker.example.com/1.gif\" alt=\"a chart\"><img src=\"../hostedContents/1/$value\" alt=\"mine\">",
        &expect![[r#"
            [picture: a chart]<img src="../hostedContents/1/$value" alt="mine">
            ---
            [picture: a chart][picture: mine]
        "#]],
    );
}

#[test]
fn nothing_that_is_written_can_be_read_as_markup() {
    let nasty = [
        "<<p>script>alert(1)</p>",
        "<p/onclick=x>\"><img src=x>",
        "&lt;script&gt;alert(1)&lt;/script&gt;",
        "<at id=\"0\"><script>x</script></at>",
        "<a href=\"https://example.com/&quot;&gt;&lt;script&gt;\">x",
        "<p\0><scr\0ipt>x",
        "</p></p></b>",
        "<b><b><b><b>",
        "<a href='https://x' href='javascript:y'>z",
    ];
    for html in nasty {
        let written = Html::parse(html).to_html();
        for bad in ["<script", "onclick=x>", "javascript:", "onerror", "<img"] {
            assert!(!written.contains(bad), "{html} -> {written}");
        }
        let (opened, closed) = (written.matches('<').count(), written.matches('>').count());
        assert_eq!(opened, closed, "{written}");
    }
    let deep = "<div>".repeat(10_000);
    assert!(Html::parse(&deep).pieces().len() < 200);
}

#[test]
fn a_name_that_was_left_open_takes_no_more_than_its_line() {
    let html = Html::parse("<at id=\"3\"><span>Alex</span> Sample<p>approve</p>");
    assert_eq!(
        html.to_html(),
        "<span></span><at id=\"3\">Alex Sample</at><p>approve</p>"
    );
}

#[test]
fn markdown_becomes_html_and_its_html_is_no_way_around() {
    let html = from_markdown(
        "# Done\n\nBuilt **all** of `it`, see [the log](https://example.com/log).\n\n- one\n- two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n<script>x</script><b>bold</b> [bad](javascript:x)\n\n```rust\nlet x = a < b;\n```",
    );
    expect![[r#"
        <h1>Done</h1>
        <p>Built <strong>all</strong> of <code>it</code>, see <a href="https://example.com/log">the log</a>.</p>
        <ul>
        <li>one</li>
        <li>two</li>
        </ul>
        <table><thead><tr><th>a</th><th>b</th></tr></thead><tbody>
        <tr><td>1</td><td>2</td></tr>
        </tbody></table>
        <b>bold</b> [bad](javascript:x)
        <pre><code>let x = a &lt; b;
        </code></pre>"#]].assert_eq(&html.to_html());
}

#[test]
fn mentions_are_found_or_put_before() {
    let html = Html::from_text("ask @Alex Doe & @Sam\nplease")
        .with_mentions(["Alex Doe", "Kim"].into_iter());
    expect![[r#"<at id="1">Kim</at> ask <at id="0">Alex Doe</at> &amp; @Sam<br>please"#]]
        .assert_eq(&html.to_html());
}

#[test]
fn a_long_message_is_split_between_blocks() {
    let paragraphs: String = (0..20)
        .map(|n| format!("<p>paragraph {n} with &amp; some words</p>"))
        .collect();
    let parts = Html::parse(&paragraphs).split(200).unwrap();
    assert!(parts.len() > 2);
    for part in &parts {
        assert!(
            part.len() <= 200 && part.starts_with("<p>") && part.ends_with("</p>"),
            "{part}"
        );
    }
    assert_eq!(parts.concat(), paragraphs);
}

#[test]
fn a_long_block_is_split_in_itself_and_opened_again() {
    let list: String = (0..50).map(|n| format!("<li>item {n}</li>")).collect();
    let list = format!("<ul>{list}</ul>");
    let parts = Html::parse(&list).split(150).unwrap();
    for part in &parts {
        assert!(part.len() <= 150, "{}", part.len());
        assert!(
            part.starts_with("<ul><li>item") && part.ends_with("</li></ul>"),
            "{part}"
        );
    }
    let text = "wörd & <b> ".repeat(500);
    let whole = Html::from_text(&text);
    let pre = Html::parse(&format!("<pre><code>{}</code></pre>", whole.to_html()));
    let parts = pre.split(300).unwrap();
    let mut again = String::new();
    for part in &parts {
        assert!(part.len() <= 300, "{}", part.len());
        assert!(
            part.starts_with("<pre><code>") && part.ends_with("</code></pre>"),
            "{part}"
        );
        again += part
            .trim_start_matches("<pre><code>")
            .trim_end_matches("</code></pre>");
    }
    assert_eq!(
        again,
        whole.to_html(),
        "nothing is lost and nothing doubled"
    );
    let one = "x".repeat(1000);
    let parts = Html::from_text(&one).split(300).unwrap();
    assert_eq!(parts.concat(), one);
}

/// Bits of markup, harmless and not, in any order.
fn markup() -> impl Strategy<Value = String> {
    let bits = prop::sample::select(vec![
        "<p>",
        "</p>",
        "<b>",
        "</b>",
        "<a href=\"https://example.com\">",
        "</a>",
        "<script>",
        "</script>",
        "<style>",
        "</style>",
        "<svg>",
        "</svg>",
        "<math>",
        "<table><tr><td>",
        "</td>",
        "<img src=x onerror=y>",
        "<at id=\"0\">",
        "</at>",
        "<attachment id=\"1\"></attachment>",
        "<!--",
        "-->",
        "<![CDATA[",
        "]]>",
        "<textarea>",
        "</textarea>",
        "<pre>",
        "</pre>",
        "&lt;",
        "&#x3c;",
        "<",
        ">",
        "\"",
        "'",
        "&",
        "/",
        "text ",
        "ü",
        "\n",
        "<plaintext>",
        "<noscript>",
        "</noscript>",
        "<ul><li>",
        "</li></ul>",
        "\0",
        "javascript:",
    ]);
    prop::collection::vec(bits, 0..40).prop_map(|bits| bits.concat())
}

proptest! {
    #[test]
    fn whatever_comes_only_permitted_elements_leave(html in markup()) {
        let clean = Html::parse(&html);
        let written = clean.to_html();
        for tag in written.split('<').skip(1) {
            let name: String = tag
                .trim_start_matches('/')
                .chars()
                .take_while(char::is_ascii_alphanumeric)
                .collect();
            let known = [
                "p", "b", "a", "table", "tr", "td", "at", "attachment", "pre", "ul", "li", "img",
            ];
            prop_assert!(known.contains(&name.as_str()), "{} in {}", name, written);
            let inside = tag.split('>').next().unwrap_or_default();
            prop_assert!(!inside.contains("on") || inside.starts_with("a href"), "{}", written);
        }
        prop_assert_eq!(Html::parse(&written).to_html(), written);
    }

    #[test]
    fn parts_fit_and_hold_everything(html in markup(), words in "[a-z &<]{0,400}") {
        let all = Html::parse(&format!("{html}</script></style></svg><p>{}</p>", Html::from_text(&words).to_html()));
        let parts = all.split(200).unwrap();
        let letters = |html: &Html| {
            let texts = html.pieces().iter().filter_map(|piece| match piece {
                // A name that fits into no part goes on as text.
                Piece::Text(text) | Piece::Mention { name: text, .. } => Some(text.as_str()),
                _ => None,
            });
            let letters = texts.flat_map(str::chars);
            letters.filter(char::is_ascii_lowercase).collect::<String>()
        };
        let mut whole = String::new();
        for part in &parts {
            prop_assert!(part.len() <= 200, "{}", part.len());
            whole += &letters(&Html::parse(part));
        }
        prop_assert_eq!(whole, letters(&Html::parse(&all.to_html())));
    }
}
