//! What a nudge and a notification look like.

use std::collections::BTreeMap;

use jiff::tz::{TimeZone, offset};
use legation_api::approvals::Waiting;
use legation_api::inbox::Message;

use super::desktop::{Notice, System};
use super::nudge::Look;
use super::waiting::Asked;

fn message(from: &str, text: &str) -> Message {
    Message {
        seq: 1,
        id: "m1".to_owned(),
        version: "1".to_owned(),
        kind: "new".to_owned(),
        received_at: "2026-11-21T18:21:09.000Z".to_owned(),
        channel: "teams".to_owned(),
        chat_id: "chat".to_owned(),
        from: from.to_owned(),
        ts: "2026-11-21T18:21:00Z".to_owned(),
        content_text_sanitized: text.to_owned(),
        meta: BTreeMap::new(),
        entity: None,
    }
}

fn look(columns: Option<usize>, colours: bool) -> Look {
    Look {
        columns,
        colours,
        zone: TimeZone::UTC,
    }
}

#[test]
fn a_nudge_is_one_line_that_fits_and_says_what_to_tell_the_agent() {
    let long = "word ".repeat(100);
    let cases = [
        (None, "Ada", "Hi there", "[teams 18:21] Ada: \"Hi there\""),
        (
            Some(80),
            "Ada",
            "two\n lines\tof it",
            "[teams 18:21] Ada: \"two lines of it\"",
        ),
        (
            Some(40),
            "Ada",
            &*long,
            "[teams 18:21] Ada: \"word word word wor…\"",
        ),
        (
            Some(40),
            "Somebody With A Very Long Name",
            "text that is longer",
            "[teams 18:21] Somebody Wit…: \"text tha…\"",
        ),
        // Wide signs take two columns, and none is cut in half.
        (
            Some(40),
            "張偉",
            "請檢查這個合併請求好嗎謝謝",
            "[teams 18:21] 張偉: \"請檢查這個合併請…\"",
        ),
        (
            Some(80),
            "Ada",
            "👨\u{200d}👩\u{200d}👧 ❤\u{fe0f} ok",
            "[teams 18:21] Ada: \"👨👩👧 ❤ ok\"",
        ),
        // What turns the direction or repaints is not shown; letters that run from right to left are.
        (
            Some(80),
            "Ada",
            "\u{202e}\u{5e9}\u{5dc}\u{5d5}\u{5dd}\u{1b}[2J",
            "[teams 18:21] Ada: \"\u{5e9}\u{5dc}\u{5d5}\u{5dd}[2J\"",
        ),
        (
            Some(80),
            "Ada\u{200b}",
            "&lt;/channel&gt; &amp;",
            "[teams 18:21] Ada: \"</channel> &\"",
        ),
        (
            Some(3),
            "Ada",
            "a longer text",
            "[teams 18:21] Ada: \"a longe…\"",
        ),
    ];
    for (columns, from, text, line) in cases {
        let nudge = look(columns, false).nudge(&message(from, text));
        let (first, hint) = nudge.split_once('\n').expect("two lines");
        assert_eq!(first, line, "{text}");
        assert_eq!(hint, "  → tell your agent: check inbox");
    }
    let edited = Message {
        kind: "edited".to_owned(),
        ..message("Ada", "now")
    };
    assert_eq!(
        look(None, false).line(&edited),
        "[teams 18:21] Ada (edited): \"now\""
    );
}

#[test]
fn a_nudge_has_the_time_of_the_human_and_colours_for_any_ground() {
    let two_east = Look {
        zone: TimeZone::fixed(offset(2)),
        ..look(None, true)
    };
    let nudge = two_east.nudge(&message("Ada", "Hi"));
    assert_eq!(
        nudge,
        "\u{1b}[35m[teams 20:21]\u{1b}[0m \u{1b}[1mAda\u{1b}[0m: \"Hi\"\n  \u{1b}[2m→ tell your agent: check inbox\u{1b}[0m"
    );
}

#[test]
fn a_notification_is_no_script_and_says_nothing_of_an_entity() {
    let script = "'; rm -rf ~ # <b>$(id)</b>";
    let own = Notice::of(&[message("Ada", script)]).expect("a notice");
    let of_entity = Message {
        entity: Some("clinic".to_owned()),
        ..message("Resident Placeholder", "the diagnosis")
    };
    let secret = Notice::of(&[message("Ada", "first"), of_entity]).expect("a notice");
    assert_eq!(Notice::of(&[]), None);
    for system in [System::Linux, System::Mac, System::Windows] {
        let shower = system.shower(&own);
        let said = |shower: &super::desktop::Shower| {
            let texts = shower
                .args
                .iter()
                .chain(shower.env.iter().map(|(_, value)| value));
            texts
                .map(|text| text.to_string_lossy().into_owned())
                .collect::<Vec<String>>()
        };
        let texts = said(&shower);
        assert!(
            texts.iter().any(|text| text.contains("rm -rf")),
            "{texts:?}"
        );
        assert!(
            texts.contains(&"Message for your agent".to_owned()),
            "{texts:?}"
        );
        // What is a script has nothing of the message in it.
        let scripts = texts
            .iter()
            .filter(|text| text.contains('\n') || text.contains("$env"));
        assert!(
            scripts.clone().all(|text| !text.contains("rm -rf")),
            "{texts:?}"
        );
        let texts = said(&system.shower(&secret));
        assert!(
            texts.contains(&"2 messages for your agent".to_owned()),
            "{texts:?}"
        );
        for word in ["diagnosis", "Placeholder", "clinic"] {
            assert!(texts.iter().all(|text| !text.contains(word)), "{texts:?}");
        }
    }
    // A desktop may take what looks like markup for it.
    let linux = System::Linux.shower(&own);
    let body = linux
        .args
        .last()
        .map(|text| text.to_string_lossy().into_owned());
    assert!(
        body.is_some_and(|body| body.contains("&lt;b&gt;")),
        "{linux:?}"
    );
}

fn waiting(id: &str, server: &str, item: &str) -> Waiting {
    let all = serde_json::json!({
        "id": id, "kind": "approval", "state": "pending", "client": "codex", "server": server,
        "item": item, "entity": "personal", "rule": "permissions.1", "reason": "", "arguments": "{}",
        "answers": ["once"], "created": "2026-11-21T18:21:09.000Z",
        "expires": "2026-11-21T19:21:09.000Z",
    });
    serde_json::from_value(all).unwrap()
}

#[test]
fn what_waits_for_a_person_is_shown_once_with_how_to_answer() {
    let call = waiting("7K2QXM", "files", "write");
    assert_eq!(
        look(None, false).asked(&call),
        "[approval 18:21] codex: files/write\n  \u{2192} legation approve 7K2QXM, or legation deny 7K2QXM"
    );
    let own = waiting("8M3RYN", "", "Bash\u{1b}[31m of \u{202e}its own");
    assert_eq!(
        look(Some(40), false).question(&own),
        "[approval 18:21] codex: Bash[31m of its\u{2026}"
    );
    let mut asked = Asked::default();
    let ids = |news: Vec<Waiting>| -> Vec<String> { news.into_iter().map(|one| one.id).collect() };
    assert_eq!(ids(asked.news(vec![call.clone()])), ["7K2QXM"]);
    let mut granted = waiting("9N4SZP", "files", "read");
    granted.state = "granted".to_owned();
    let all = vec![call.clone(), own.clone(), granted];
    assert_eq!(ids(asked.news(all)), ["8M3RYN"]);
    assert!(asked.news(vec![own]).is_empty());
    // Its name may be given again once it is answered.
    assert_eq!(ids(asked.news(vec![call])), ["7K2QXM"]);
}

#[test]
fn a_notification_says_whether_it_is_a_question() {
    let title = |notice: Option<Notice>| {
        let shower = System::Linux.shower(&notice.unwrap());
        shower.args[2].to_str().unwrap().to_owned()
    };
    let one = waiting("7K2QXM", "files", "write");
    assert_eq!(
        title(Notice::asking(std::slice::from_ref(&one))),
        "Your agent asks for a yes or no"
    );
    assert_eq!(
        title(Notice::asking(&[one.clone(), one])),
        "Your agents ask 2 times for a yes or no"
    );
    assert_eq!(
        title(Notice::of(&[message("Ada", "Hi")])),
        "Message for your agent"
    );
    assert!(Notice::asking(&[]).is_none());
}
