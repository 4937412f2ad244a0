use crate::hidden::{HiddenKind, find, strip};

#[test]
fn what_a_typesetter_put_there_stays() {
    for text in [
        "plain text\twith a tab\nand a line\r\n",
        "👩‍👩‍👧‍👦 👩🏽‍🚀 🏳️‍🌈 ❤️‍🔥 1️⃣ ☎︎",
        "🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f} 🏴\u{e0075}\u{e0073}\u{e0074}\u{e0078}\u{e007f}",
        "می\u{200c}خواهم کتاب\u{200c}ها",
        "क्\u{200d}ष क्\u{200c}ष ශ්\u{200d}රී",
        "עברית \u{200f}(abc)\u{200f} שלום",
        "\u{2067}שלום abc\u{2069} and more",
        "葛\u{e0100}城",
        "ภาษา\u{200b}ไทย",
    ] {
        assert_eq!(strip(text), text);
        assert!(find(text).is_empty(), "{text:?}");
    }
}

#[test]
fn what_only_a_model_reads_goes() {
    for (text, clean, kind) in [
        ("a\u{e0068}\u{e0069}b", "ab", HiddenKind::Tags),
        (
            "🏴\u{e0061}\u{e0062}\u{e0063}\u{e0064}\u{e0065}\u{e007f}",
            "🏴",
            HiddenKind::Tags,
        ),
        ("pass\u{200b}word", "password", HiddenKind::ZeroWidth),
        (
            "a\u{200d}b\u{200c}c\u{2060}d\u{feff}",
            "abcd",
            HiddenKind::ZeroWidth,
        ),
        ("می\u{200c}\u{200c}خ", "میخ", HiddenKind::ZeroWidth),
        ("user\u{202e}nimda", "usernimda", HiddenKind::Bidi),
        ("שלום\u{202e}abc\u{202c}", "שלוםabc", HiddenKind::Bidi),
        ("שלום\u{2067}abc", "שלוםabc", HiddenKind::Bidi),
        ("abc\u{200f}", "abc", HiddenKind::Bidi),
        ("x\u{fe01}\u{fe02}\u{fe03}", "x", HiddenKind::Variation),
        ("so\u{ad}ft\u{3164}", "soft", HiddenKind::Filler),
        ("a\u{e000}\u{f8ff}\u{10fffd}b", "ab", HiddenKind::Private),
        ("a\u{8}\u{7f}\u{0}b", "ab", HiddenKind::Control),
        ("\u{1b}[31mred\u{1b}[0m", "red", HiddenKind::Escape),
        (
            "\u{1b}]8;;https://evil.example\u{1b}\\here\u{1b}]8;;\u{7}!",
            "here!",
            HiddenKind::Escape,
        ),
        ("\u{9b}2Jgone", "gone", HiddenKind::Escape),
        ("\u{1b}]0;no end\nnext", "\nnext", HiddenKind::Escape),
        ("harmless\revil", "harmless\nevil", HiddenKind::Overwrite),
    ] {
        assert_eq!(strip(text), clean, "{text:?}");
        assert!(
            find(text).iter().any(|hidden| hidden.kind == kind),
            "{text:?}: {:?}",
            find(text)
        );
        assert_eq!(strip(&strip(text)), clean, "stripping twice");
    }
}

#[test]
fn what_is_smuggled_is_spelled_out() {
    let smuggled: String = "run"
        .chars()
        .map(|c| char::from_u32(0xe0000 + u32::from(c)).unwrap())
        .collect();
    let found = find(&format!("hello{smuggled}"));
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].at, found[0].count, found[0].says.as_deref()),
        (5, 3, Some("run"))
    );
}
