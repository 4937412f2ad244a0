//! What is written by hand is what the libraries would write.

use legation_core::id;

use super::*;

fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = Vec::new();
    write(&mut out);
    String::from_utf8(out).expect("UTF-8")
}

#[test]
fn times_are_those_of_the_clock() {
    let spread = (0..40_000).map(|step| step * (LAST_MS / 40_000) + step % 1_000);
    let days = (0..60_000).map(|day| day * DAY_MS - 1);
    let edges = [i64::MIN, -1, 0, 1, DAY_MS, LAST_MS, LAST_MS + 1, i64::MAX];
    for at in spread.chain(days).chain(edges) {
        assert_eq!(written(|out| time(out, at)), Wall(at).to_string(), "{at}");
    }
}

#[test]
fn numbers_and_digests_are_those_of_the_library() {
    for value in [0, 1, 9, 10, -1, 1_234_567_890, i64::MAX, i64::MIN] {
        assert_eq!(written(|out| int(out, value)), value.to_string());
    }
    let bytes: [u8; 256] = std::array::from_fn(|at| u8::try_from(at).expect("small"));
    assert_eq!(written(|out| hex::<256, 512>(out, &bytes)), id::hex(&bytes));
    let call = CallId {
        start: 0x00ab_cdef,
        count: 42,
    };
    let mut line = Line::default();
    line.call("call", call);
    let text = String::from_utf8(line.into_members()).expect("UTF-8");
    assert_eq!(text, format!("\"call\":\"{call}\""));
}

#[test]
fn strings_are_escaped_as_serde_does() {
    for text in [
        "",
        "plain",
        "a\"b",
        "a\\b",
        "\u{1f}",
        "\u{20}",
        "\u{7f}",
        "ä…\u{2028}",
    ] {
        let expected = serde_json::to_string(text).expect("JSON");
        assert_eq!(written(|out| string(out, text)), expected);
    }
    for length in 0..20 {
        for at in 0..=length {
            for character in (0..=0x80).filter_map(char::from_u32) {
                let text: String = (0..length).map(|_| 'x').collect();
                let text = format!("{}{character}{}", &text[..at], &text[at..]);
                let expected = serde_json::to_string(&text).expect("JSON");
                assert_eq!(written(|out| string(out, &text)), expected);
            }
        }
    }
}

#[test]
fn digits_are_those_of_the_bytes() {
    for byte in 0..=u8::MAX {
        let four = [byte, 0x0f, !byte, 0xa9];
        let wanted = format!("{byte:02x}0f{:02x}a9", !byte);
        assert_eq!(hex_of(four), wanted.as_bytes());
    }
}
