use crate::hosts::Hosts;
use crate::markdown::clean;

fn hosts() -> Hosts {
    Hosts::new(["docs.example.com", "*.example.org"])
}

#[test]
fn what_leads_nowhere_else_stays() {
    for text in [
        "plain *text*, 3 < 4, a: b, Vec<String>",
        "[docs](https://docs.example.com/a?b=1) ![i](https://img.example.org/x.png)",
        "[section](#here) [file](src/main.rs) [mail](mailto:a@example.com)",
        "`https://evil.example/code`\n\n```\n![x](https://evil.example)\n```\n",
        "see https://docs.example.com/page.",
        "<b>bold</b> <td align=\"left\">x</td>",
        "data: see below",
    ] {
        assert_eq!(clean(text, &hosts()), text);
    }
}

#[test]
fn links_and_images_elsewhere_go() {
    for text in [
        "![x](https://evil.example/?q=1)",
        "[x](https://evil.example)",
        "[x](//evil.example)",
        "[x](https:\\/\\/evil.example)",
        "[x](https&#58;//evil.example)",
        "[x](http:/\\evil.example)",
        "[x](https://docs.example.com@evil.example/)",
        "[x](https://docs.example.com.evil.example/)",
        "[x][r]\n\n[r]: https://evil.example\n[r]: https://evil.example/2\n",
        "[r]\n\n[r]: <https://evil.example> 'title'\n",
        "<https://evil.example/a>",
        "https://evil.example/a www.evil.example/b",
        "<img src=https://evil.example/a>",
        "<img src='ht&#x74;ps://evil.example/a' alt=hi>",
        "<a title=ok href=\"//evil.example\">x</a>",
        "<div style=\"background:url(https://evil.example)\">x</div>",
        "<div\n onclick=\"fetch('https://evil.example')\">",
        "<!-- https://evil.example -->",
        "[![a](https://evil.example/i)](https://evil.example/l)",
        "**https://evil.example/a_b_c**",
        "    https://evil.example\n",
        "<iframe srcdoc=\"https://evil.example\">",
    ] {
        let out = clean(text, &hosts());
        assert!(!out.contains("evil"), "{text:?} became {out:?}");
        assert_eq!(clean(&out, &hosts()), out, "cleaning twice");
    }
}

#[test]
fn scripts_and_data_go_whatever_is_allowed() {
    for text in [
        "[x](javascript:alert(1))",
        "[x](JaVaScRiPt:alert(1))",
        "[x](java&#10;script:alert(1))",
        "[x](data:text/html,hi)",
        "![x](data:image/svg+xml;base64,AAAA)",
        "[x](vbscript:x)",
        "<a href=\"java\tscript:alert(1)\">x</a>",
        "<a href=&#106;avascript:alert(1)>x</a>",
        "[r]\n\n[r]: javascript:alert(1)\n",
    ] {
        let out = clean(text, &hosts()).to_lowercase();
        assert!(
            !out.contains("script:") && !out.contains("data:") && !out.contains("href"),
            "{text:?} became {out:?}"
        );
    }
}

#[test]
fn the_words_of_a_link_stay() {
    assert_eq!(
        clean("a [b *c*](https://evil.example) d", &hosts()),
        "a b *c* [link removed] d"
    );
}
