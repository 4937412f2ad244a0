use std::sync::Mutex;

use legation_core::Wall;
use serde_json::{Value, json};

use super::*;
use crate::error::Class;
use crate::test_kit::{Answer, Asked, Stand, ctx};

fn wire(change: impl FnOnce(&mut Value)) -> Option<Letter> {
    let mut letter = json!({
        "id": "AAkA1", "internetMessageId": "<one@mail.example.com>",
        "conversationId": "c1", "subject": " The build\u{7} ",
        "from": { "emailAddress": { "name": "Alex Sample", "address": "alex@example.com" } },
        "toRecipients": [{ "emailAddress": { "name": "Agent", "address": "agent@example.com" } }],
        "ccRecipients": [{ "emailAddress": { "address": "kim@example.com" } }, {}],
        "receivedDateTime": "2026-11-21T01:55:06Z", "isDraft": false, "unknown": { "x": 1 },
    });
    change(&mut letter);
    Letter::from_wire(serde_json::from_value(letter).unwrap())
}

#[test]
fn a_letter_is_read_with_whom_it_claims_to_be_from() {
    let letter = wire(|_| {}).unwrap();
    assert_eq!(letter.message_id, "one@mail.example.com");
    assert_eq!(letter.subject, "The build");
    assert_eq!(letter.from.as_ref().unwrap().address, "alex@example.com");
    let cc: Vec<_> = letter.cc.iter().map(|one| one.address.as_str()).collect();
    assert_eq!(cc, ["kim@example.com"]);
    let own = BTreeSet::from(["alex@example.com".to_owned()]);
    assert!(letter.is_from(&own));
    assert!(!letter.is_from(&BTreeSet::new()));
    let nameless = wire(|json| json["internetMessageId"] = Value::Null).unwrap();
    assert_eq!(nameless.message_id, "AAkA1");
    assert_eq!(wire(|json| json["isDraft"] = true.into()), None);
    let partial = wire(|json| json["receivedDateTime"] = Value::Null);
    assert_eq!(partial, None, "only what changed was told");
}

#[test]
fn noise_is_told_by_what_it_says_of_itself() {
    let header = |name: &str, value: &str| {
        let (name, value) = (name.to_owned(), value.to_owned());
        move |json: &mut Value| {
            json["internetMessageHeaders"] = json!([{ "name": "X-Other", "value": "1" },
                { "name": name, "value": value }]);
        }
    };
    let from = |address: &str| {
        let address = address.to_owned();
        move |json: &mut Value| json["from"]["emailAddress"]["address"] = address.as_str().into()
    };
    let noise = |change: &dyn Fn(&mut Value)| wire(|json| change(json)).unwrap().noise;
    type Case<'a> = (&'a dyn Fn(&mut Value), Option<Noise>);
    let cases: [Case<'_>; 13] = [
        (&|_| {}, None),
        (
            &header("auto-submitted", "auto-replied"),
            Some(Noise::AutoReply),
        ),
        (&header("Auto-Submitted", "no"), None),
        (&header("Precedence", "auto_reply"), Some(Noise::AutoReply)),
        (
            &|json| json["subject"] = "Automatic reply: hello".into(),
            Some(Noise::AutoReply),
        ),
        (
            &|json| json["@odata.type"] = "#microsoft.graph.eventMessageResponse".into(),
            Some(Noise::Calendar),
        ),
        (
            &header("List-Unsubscribe", "<https://example.com/u>"),
            Some(Noise::Bulk),
        ),
        (&header("list-id", "<x.example.com>"), Some(Noise::Bulk)),
        (&header("Precedence", "Bulk"), Some(Noise::Bulk)),
        (&from("No-Reply@example.com"), Some(Noise::NoReply)),
        (&from("noreply+7@example.com"), Some(Noise::NoReply)),
        (&from("x@teams.mail.microsoft"), Some(Noise::NoReply)),
        (&from("norbert@example.com"), None),
    ];
    for (number, (change, expected)) in cases.into_iter().enumerate() {
        assert_eq!(noise(change), expected, "{number}");
    }
    for kind in Noise::ALL {
        assert_eq!(Noise::parse(kind.as_str()), Some(kind));
    }
    assert_eq!(Noise::parse("spam"), None);
}

/// An authority, and a mailbox that answers as the closure says.
async fn mails(answer: impl Fn(&Asked) -> Answer + Send + Sync + 'static) -> (Stand, Mails) {
    let stand = Stand::new(move |asked: &Asked| {
        if asked.target.contains("/oauth2/") {
            let body = json!({ "token_type": "Bearer", "expires_in": 3600, "access_token": "t" });
            return Answer::json(200, &body);
        }
        answer(asked)
    })
    .await;
    let account = stand.account(|settings| {
        settings.blueprint_id = Some("b".into());
        settings.blueprint_secret = Some(legation_core::Secret::new("s"));
        settings.agent_id = Some("a".into());
        settings.agent_user = Some("Agent@example.com".into());
    });
    let mails = account.mails();
    (stand, mails)
}

#[tokio::test]
async fn mail_is_asked_for_with_a_token_of_its_own_and_links_are_gone_on_from() {
    let told = Mutex::new(0);
    let (stand, mails) = mails(move |asked| {
        let host = asked.header("host").unwrap().to_owned();
        let mut told = told.lock().unwrap();
        *told += 1;
        if asked.target.contains("deltatoken=old") {
            let code = json!({ "error": { "code": "syncStateNotFound", "message": "gone" } });
            return Answer::json(410, &code);
        }
        if asked.target.contains("deltatoken=foreign") {
            return Answer::json(400, &json!({ "error": { "code": "ErrorInvalidUser" } }));
        }
        let body = json!({
            "value": [
                { "id": "1", "receivedDateTime": "2026-11-21T01:55:06Z", "subject": "x" },
                { "id": "2", "isRead": true },
                { "id": "3", "@removed": { "reason": "deleted" } },
            ],
            "@odata.deltaLink": format!("https://{host}/v1.0/me/x?$deltatoken=new"),
        });
        Answer::json(200, &body)
    })
    .await;
    let since = Wall::parse("2026-11-20T00:00:00.250Z").unwrap();
    let page = mails.changes(&ctx(), since, None).await.unwrap();
    assert!(page.is_last && !page.is_resync);
    assert!(page.link.ends_with("$deltatoken=new"), "{}", page.link);
    let [MailChange::Here(letter), MailChange::Gone { id }] = &page.changes[..] else {
        panic!("{:?}", page.changes);
    };
    assert_eq!((letter.id.as_str(), id.as_str()), ("1", "3"));
    for void in ["old", "foreign"] {
        let link = format!("{}/v1.0/me/x?$deltatoken={void}", stand.origin);
        let page = mails.changes(&ctx(), since, Some(link)).await.unwrap();
        assert!(page.is_resync, "{void}");
    }
    let asked = stand.asked();
    let tokens = asked.iter().filter(|one| one.target.contains("/token"));
    let scopes: Vec<_> = tokens.filter_map(|one| one.form("scope")).collect();
    assert!(scopes.last().unwrap().ends_with("/Mail.Read"), "{scopes:?}");
    let start = asked
        .iter()
        .find(|one| one.target.contains("/delta?"))
        .unwrap();
    assert!(
        start
            .target
            .contains("receivedDateTime%20ge%202026-11-20T00:00:00Z&"),
        "{}",
        start.target
    );
    let prefer = start.header("prefer").unwrap();
    assert!(
        prefer.contains("maxpagesize=50") && prefer.contains("ImmutableId"),
        "{prefer}"
    );
}

#[tokio::test]
async fn a_letter_longer_than_an_answer_may_be_keeps_no_other_back() {
    let long = "x".repeat(9 << 20);
    let (_stand, mails) = mails(move |asked| {
        let body = |kind: &str, text: &str| {
            let body = json!({ "body": { "contentType": kind, "content": text } });
            Answer::json(200, &body)
        };
        let prefers = asked.header("prefer").unwrap_or_default();
        match asked.target.split('?').next().unwrap() {
            "/v1.0/me/messages/html" => body(
                "html",
                "<html><head><title>t</title><style>p { color: red }</style></head><body>\
                 <p>Dear <b>agent</b>,<br>see <a href=\"https://ci.example.com/7\">the log</a>.</p>\
                 <script>alert(1)</script></body></html>",
            ),
            "/v1.0/me/messages/text" => body("text", "a < b"),
            "/v1.0/me/messages/long" => body("text", &long),
            "/v1.0/me/mailFolders/inbox/messages/delta" if prefers.contains("=50") => {
                body("text", &long)
            }
            "/v1.0/me/mailFolders/inbox/messages/delta" => {
                let letter = json!({ "id": "1", "receivedDateTime": "2026-11-21T01:55:06Z" });
                let link = "https://graph.example.com/v1.0/me/x";
                Answer::json(200, &json!({ "value": [letter], "@odata.deltaLink": link }))
            }
            _ => Answer::json(404, &json!({ "error": { "code": "ErrorItemNotFound" } })),
        }
    })
    .await;
    let html = mails.words(&ctx(), "html").await.unwrap().unwrap();
    assert!(html.starts_with("Dear agent,\nsee the log"), "{html:?}");
    for hidden in ["color", "alert", "<"] {
        assert!(!html.contains(hidden), "{html:?}");
    }
    for (id, expected) in [("text", Some("a < b")), ("long", None), ("gone", None)] {
        let words = mails.words(&ctx(), id).await.unwrap();
        assert_eq!(words.as_deref(), expected, "{id}");
    }
    let page = mails.changes(&ctx(), Wall(0), None).await.unwrap();
    assert_eq!(page.changes.len(), 1);
}

#[tokio::test]
async fn own_addresses_are_known_where_the_directory_does_not_tell() {
    let (_stand, silent) = mails(|_| {
        let code = json!({ "error": { "code": "Authorization_RequestDenied", "message": "no" } });
        Answer::json(403, &code)
    })
    .await;
    let own = silent.own_addresses(&ctx()).await.unwrap();
    assert_eq!(own.into_iter().collect::<Vec<_>>(), ["agent@example.com"]);
    let error = silent.newest(&ctx()).await.unwrap_err();
    assert_eq!(error.meaning(), Some(GraphMeaning::Forbidden));
    assert_ne!(error.class(), Class::Unreachable);
    let (_stand, telling) = mails(|_| {
        let user = json!({ "mail": "First@example.com", "userPrincipalName": "agent@example.com",
            "proxyAddresses": ["SMTP:First@example.com", "smtp:other@example.com", "sip:x@y"] });
        Answer::json(200, &user)
    })
    .await;
    let own = telling.own_addresses(&ctx()).await.unwrap();
    let expected = [
        "agent@example.com",
        "first@example.com",
        "other@example.com",
    ];
    assert_eq!(own.into_iter().collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn a_letter_that_left_was_deleted_or_only_moved() {
    let (_stand, mails) = mails(|asked| {
        let gone = json!({ "error": { "code": "ErrorItemNotFound", "message": "gone" } });
        match asked.target.split('?').next().unwrap() {
            "/v1.0/me/mailFolders/deleteditems" => Answer::json(200, &json!({ "id": "bin" })),
            "/v1.0/me/messages/binned" => {
                Answer::json(200, &json!({ "id": "binned", "parentFolderId": "bin" }))
            }
            "/v1.0/me/messages/moved" => {
                Answer::json(200, &json!({ "id": "moved", "parentFolderId": "archive" }))
            }
            _ => Answer::json(404, &gone),
        }
    })
    .await;
    for (id, deleted) in [("binned", true), ("moved", false), ("destroyed", true)] {
        assert_eq!(mails.is_deleted(&ctx(), id).await.unwrap(), deleted, "{id}");
    }
}

#[test]
fn folders_are_named_as_people_and_graph_do() {
    for (text, expected) in [
        ("inbox", Some(Folder::INBOX)),
        (" Sent Items ", Some(Folder::Known("sentitems"))),
        ("DRAFTS", Some(Folder::DRAFTS)),
        (
            "/Deals/Mill Lane",
            Some(Folder::Path(vec!["Deals".into(), "Mill Lane".into()])),
        ),
        ("AQMkAD-_x=", Some(Folder::Id("AQMkAD-_x=".into()))),
        ("outbox", None),
        ("Out Box", None),
        ("", None),
        ("/", None),
        ("/a//b", None),
        ("../messages", None),
        ("inbox/messages?$top=1", None),
        ("a\u{0}b", None),
    ] {
        assert_eq!(Folder::parse(text).ok(), expected, "{text:?}");
    }
}

#[test]
fn an_address_is_one_address_and_nothing_beside_it() {
    for (text, expected) in [
        ("robin@example.com", true),
        ("r.o+b@mail.example.com", true),
        ("robin@example", false),
        ("Robin <robin@example.com>", false),
        ("robin@example.com,kim@example.com", false),
        ("robin@example.com\nBcc: kim@example.com", false),
        ("@example.com", false),
        ("robin@@example.com", false),
        ("robin@example..com", false),
        ("robin", false),
        // In a normal form these are several texts, of which one is an address or none.
        ("robin\u{ff0c}kim@example.com", false),
        ("robin\u{1f101}kim@example.com", false),
        ("robin\u{b4}@example.com", false),
        ("robin@example\u{ff0c}.com", false),
        ("robin@xn--bcher-kva.example", true),
    ] {
        assert_eq!(is_address(text), expected, "{text:?}");
    }
}

#[tokio::test]
async fn nothing_is_sent_and_a_draft_elsewhere_than_in_drafts_is_a_failure() {
    let (stand, mails) = mails(|asked| {
        let body = match (asked.method.as_str(), asked.target.as_str()) {
            ("POST", _) => json!({ "id": "m1", "isDraft": true, "parentFolderId": "elsewhere",
                "receivedDateTime": "2026-11-21T01:55:06Z" }),
            (_, target) if target.contains("mailFolders/drafts") => json!({ "id": "drafts" }),
            _ => json!({ "value": [] }),
        };
        Answer::json(200, &body)
    })
    .await;
    let account = mails.graph.account();
    let new = NewDraft {
        to: vec!["kim@example.com".to_owned()],
        subject: "Hello".to_owned(),
        body: DraftBody::Text("a < b".to_owned()),
        ..NewDraft::default()
    };
    let error = account.drafts().make(&ctx(), &new).await.unwrap_err();
    assert!(matches!(error, MailError::NoDraft), "{error:?}");
    let asked = stand.asked();
    assert!(
        asked
            .iter()
            .all(|one| !one.target.to_lowercase().contains("send"))
    );
    let scopes: Vec<String> = asked.iter().filter_map(|one| one.form("scope")).collect();
    assert!(
        scopes.iter().any(|one| one.contains("Mail.ReadWrite")),
        "{scopes:?}"
    );
    assert!(
        scopes.iter().all(|one| !one.contains("Mail.Send")),
        "{scopes:?}"
    );
}
