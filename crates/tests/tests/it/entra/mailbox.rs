//! Folders, letters, filing and drafts, with the mailbox of a person.

use legation_core::{Cancel, Wall};
use legation_entra::Class;
use legation_entra::mail::{DraftBody, Folder, MailError, NewDraft, Wanted};
use legation_entra::token::Role;
use serde_json::{Value, json};

use super::stand::{Stand, ctx};

fn wanted(folder: Folder) -> Wanted {
    Wanted {
        folder,
        is_unread: false,
        from: None,
        since: None,
        most: 25,
        skip: 0,
    }
}

async fn seeded() -> (Stand, legation_entra::Account) {
    let stand = Stand::new().await;
    let filled = stand.order("seed", json!({ "what": "desk" })).await;
    assert!(filled["first"]["letters"].as_u64() > Some(60), "{filled}");
    let account = stand.account(stand.settings());
    stand.sign_in(&account, Role::Human).await;
    (stand, account)
}

/// The mails of the person's, as the tenant has them.
async fn kept(stand: &Stand) -> Vec<Value> {
    let mailbox = stand.order("mailbox", json!({})).await;
    mailbox["mails"].as_array().cloned().unwrap_or_default()
}

#[tokio::test]
async fn letters_are_listed_by_pages_and_filters_and_opened_without_markup() {
    let (stand, account) = seeded().await;
    let (mails, ctx) = (account.mails(), ctx());
    let first = mails.listed(&ctx, &wanted(Folder::INBOX)).await.unwrap();
    assert!(first.has_more && first.letters.len() == 25, "{first:?}");
    let total = usize::try_from(first.total.unwrap()).unwrap();
    let mut ids = std::collections::BTreeSet::new();
    let mut last = Wall(i64::MAX);
    for skip in (0..total).step_by(50) {
        let page = Wanted {
            most: 50,
            skip,
            ..wanted(Folder::INBOX)
        };
        for one in mails.listed(&ctx, &page).await.unwrap().letters {
            assert!(one.letter.received <= last, "newest first");
            last = one.letter.received;
            assert!(ids.insert(one.letter.id), "told twice");
        }
    }
    assert_eq!(ids.len(), total);
    let unread = Wanted {
        is_unread: true,
        ..wanted(Folder::INBOX)
    };
    let unread = mails.listed(&ctx, &unread).await.unwrap();
    assert!(!unread.letters.is_empty() && unread.letters.iter().all(|one| !one.is_read));
    let robin = Wanted {
        from: Some("robin@brokers.example.net".to_owned()),
        since: Some(Wall(mails.services_time().0 - 12 * 86_400_000)),
        ..wanted(Folder::INBOX)
    };
    let robin = mails.listed(&ctx, &robin).await.unwrap();
    let subjects: Vec<&str> = robin
        .letters
        .iter()
        .map(|one| one.letter.subject.as_str())
        .collect();
    assert_eq!(
        subjects,
        ["Mill Lane: questions", "Mill Lane: letter of intent"]
    );
    assert!(robin.letters[1].is_important);

    let hostile = first
        .letters
        .iter()
        .find(|one| one.letter.subject == "You have won")
        .unwrap();
    let opened = mails.opened(&ctx, &hostile.letter.id).await.unwrap();
    for gone in ["<", "javascript:", "onload", "fetch(", "pixel.gif"] {
        assert!(!opened.text.contains(gone), "{gone}: {}", opened.text);
    }
    assert!(opened.text.contains("Dear Alex"), "{}", opened.text);
    let numbers = first
        .letters
        .iter()
        .find(|one| one.letter.has_attachments)
        .unwrap();
    let opened = mails.opened(&ctx, &numbers.letter.id).await.unwrap();
    assert_eq!(opened.attachments, ["lighthouse-point.xlsx"]);
    assert!(opened.text.contains("17.8 million"), "{}", opened.text);
    let nothing = mails.opened(&ctx, "AAkAnone").await.unwrap_err();
    assert!(matches!(nothing, MailError::NoLetter), "{nothing:?}");
    let nowhere = wanted(Folder::parse("/Deals/None").unwrap());
    let nowhere = mails.listed(&ctx, &nowhere).await.unwrap_err();
    assert!(matches!(nowhere, MailError::NoFolder), "{nowhere:?}");
    assert_eq!(nowhere.class(), Class::ItemNotFound);
    stand.no_complaints().await;
}

#[tokio::test]
async fn a_letter_is_moved_once_and_moving_it_back_undoes_it() {
    let (stand, account) = seeded().await;
    let (mails, filing, ctx) = (account.mails(), account.filing(), ctx());
    let listed = mails.listed(&ctx, &wanted(Folder::INBOX)).await.unwrap();
    let id = &listed.letters[0].letter.id;
    let archive = Folder::parse("Archive").unwrap();
    let moved = filing.move_to(&ctx, id, &archive).await.unwrap();
    assert!(!moved.was_there && moved.id == *id, "{moved:?}");
    let again = filing.move_to(&ctx, id, &archive).await.unwrap();
    assert!(again.was_there, "{again:?}");
    // The answer gets lost after the letter has moved.
    stand
        .fault(json!({ "fault": "cut-after", "left": 1, "matching": "/move" }))
        .await;
    let back = Folder::Id(moved.from.clone());
    let back = filing.move_to(&ctx, id, &back).await.unwrap();
    assert_eq!(back.to, moved.from);
    let there = mails.listed(&ctx, &wanted(Folder::INBOX)).await.unwrap();
    assert!(there.letters.iter().any(|one| one.letter.id == *id));
    for (folder, expected) in [("/Nowhere", "NoFolder"), ("AQMkNone", "NoFolder")] {
        let folder = Folder::parse(folder).unwrap();
        let error = filing.move_to(&ctx, id, &folder).await.unwrap_err();
        assert_eq!(format!("{error:?}"), expected);
    }
    let none = filing
        .move_to(&ctx, "AAkAnone", &archive)
        .await
        .unwrap_err();
    assert!(matches!(none, MailError::NoLetter), "{none:?}");
    stand.no_complaints().await;
}

#[tokio::test]
async fn a_draft_is_made_once_and_lies_in_drafts_with_nothing_harmful_in_it() {
    let (stand, account) = seeded().await;
    let (mails, drafts, ctx) = (account.mails(), account.drafts(), ctx());
    let before = kept(&stand).await.len();
    let new = NewDraft {
        to: vec!["robin@brokers.example.net".to_owned()],
        cc: vec!["blake.sample@first.example.com".to_owned()],
        subject: "Mill Lane".to_owned(),
        body: DraftBody::Html(
            "<p onclick=\"x()\">Thank you<script>alert(1)</script></p><img src=\"https://example.com/p.gif\">".to_owned(),
        ),
        key: Some("first".to_owned()),
        ..NewDraft::default()
    };
    // The answer gets lost after the draft was made.
    stand
        .fault(json!({ "fault": "cut-after", "left": 1, "matching": "POST /v1.0/me/messages" }))
        .await;
    let made = drafts.make(&ctx, &new).await.unwrap();
    assert!(!made.was_found && made.letter.is_draft, "{made:?}");
    let again = drafts.make(&ctx, &new).await.unwrap();
    assert!(again.was_found && again.letter.letter.id == made.letter.letter.id);
    let all = kept(&stand).await;
    assert_eq!(all.len(), before + 1, "made once");
    let html = all.last().unwrap()["shown"]["body"]["content"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(html.contains("Thank you"), "{html}");
    for gone in ["script", "onclick", "p.gif"] {
        assert!(!html.contains(gone), "{html}");
    }

    let listed = mails.listed(&ctx, &wanted(Folder::INBOX)).await.unwrap();
    let letter = listed
        .letters
        .iter()
        .find(|one| one.letter.subject == "Mill Lane: questions");
    let letter = letter.unwrap();
    let answer = NewDraft {
        to: letter
            .answered_to()
            .into_iter()
            .map(|one| one.address)
            .collect(),
        subject: String::new(),
        body: DraftBody::Text("No contingency.".to_owned()),
        answers: Some(letter.letter.id.clone()),
        key: Some("second".to_owned()),
        ..NewDraft::default()
    };
    let made = drafts.make(&ctx, &answer).await.unwrap();
    assert_eq!(made.letter.letter.subject, "RE: Mill Lane: questions");
    assert_eq!(made.letter.letter.conversation, letter.letter.conversation);
    let to: Vec<&str> = made
        .letter
        .letter
        .to
        .iter()
        .map(|one| one.address.as_str())
        .collect();
    assert_eq!(to, ["robin@brokers.example.net"]);
    let in_drafts = mails.listed(&ctx, &wanted(Folder::DRAFTS)).await.unwrap();
    assert_eq!(in_drafts.letters.len(), 2, "{in_drafts:?}");
    let sent = mails
        .listed(&ctx, &wanted(Folder::parse("Sent Items").unwrap()))
        .await
        .unwrap();
    assert!(sent.letters.is_empty(), "nothing was sent");
    let bad = NewDraft {
        to: vec!["Robin <robin@brokers.example.net>".to_owned()],
        ..new.clone()
    };
    let error = drafts.make(&ctx, &bad).await.unwrap_err();
    assert!(
        matches!(error, MailError::BadAddress { number: 1 }),
        "{error:?}"
    );
    assert!(!error.to_string().contains("robin"));
    stand.no_complaints().await;
}

#[tokio::test]
async fn what_is_throttled_waits_and_what_is_not_granted_says_so() {
    let (stand, account) = seeded().await;
    let (mails, ctx) = (account.mails(), ctx());
    stand
        .fault(
            json!({ "fault": "throttle", "retry_after": 1, "left": 2, "matching": "/mailFolders" }),
        )
        .await;
    let listed = mails.listed(&ctx, &wanted(Folder::INBOX)).await.unwrap();
    assert_eq!(listed.letters.len(), 25);
    let api = stand.env["API_CLIENT_ID"].clone();
    stand
        .order(
            "unconsent",
            json!({ "client": api, "scopes": ["Mail.ReadWrite"] }),
        )
        .await;
    let error = account
        .filing()
        .move_to(&ctx, &listed.letters[0].letter.id, &Folder::INBOX)
        .await;
    let error = error.unwrap_err();
    assert_eq!(error.class(), Class::ConsentDenied, "{error:?}");
    let cancel = Cancel::new();
    cancel.cancel(legation_core::CancelReason::Shutdown);
    let context = legation_core::OpContext::new(ctx.caller.clone(), cancel);
    let error = mails
        .listed(&context, &wanted(Folder::INBOX))
        .await
        .unwrap_err();
    assert_eq!(error.class(), Class::Cancelled);
    stand.no_complaints().await;
}
