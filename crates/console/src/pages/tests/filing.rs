use super::*;

#[tokio::test]
async fn suggestions_are_decided_about_where_items_are_sorted() {
    let filed =
        json!({"filing": filing("f1", "filed"), "folder": "/Deals/Mill Lane", "done": true});
    let visit = Visit::new(&[
        ("desk/status", json!({})),
        ("desk/triage_list", json!({"items": []})),
        (
            "desk.filings",
            json!({"filings": [filing("f1", "proposed"), filing("f2", "filed"), filing("f3", "rejected")]}),
        ),
        ("desk.file", filed.clone()),
        ("desk.unfile", filed),
        ("desk.reject", filing("f1", "rejected")),
    ]);
    let (status, page) = visit.get("/desk/triage?entity=harbor").await;
    assert_eq!(status, StatusCode::OK);
    assert!(page.contains(r#"data-live="/live?of=desk""#), "{page}");
    for (form, is_there) in [
        ("/desk/filings/f1/approve", true),
        ("/desk/filings/f1/reject", true),
        ("/desk/filings/f1/undo", false),
        ("/desk/filings/f2/undo", true),
        ("/desk/filings/f2/approve", false),
        ("/desk/filings/f3/approve", false),
        ("/desk/filings/f3/undo", false),
    ] {
        let form = format!(r#"action="{form}""#);
        assert_eq!(page.contains(&form), is_there, "{form}: {page}");
    }
    let asked = visit.hub.asked("desk.filings");
    let wanted = |state: &str| json!({"entity": "harbor", "state": state});
    assert_eq!(asked, [wanted("proposed"), wanted("filed")]);

    for (verb, method, said) in [
        (
            "approve",
            "desk.file",
            "The letter is in /Deals/Mill Lane now.",
        ),
        ("undo", "desk.unfile", "where it was before"),
        ("reject", "desk.reject", "is refused"),
    ] {
        let path = format!("/desk/filings/f%201/{verb}");
        // Without the session's token nothing is done.
        let own = [
            ("cookie", visit.cookie.as_str()),
            ("origin", "http://127.0.0.1:48080"),
        ];
        let answer = visit.send(Method::POST, &path, &own, "csrf=x").await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{verb}");
        assert!(visit.hub.asked(method).is_empty(), "{verb}");
        let answer = visit.post(&path, "").await;
        assert_eq!(answer.status, StatusCode::SEE_OTHER, "{verb}");
        assert_eq!(answer.headers[header::LOCATION], "/desk/triage");
        let asked = visit.hub.asked(method);
        assert_eq!(asked.len(), 1, "{verb}");
        assert_eq!(asked[0]["suggestion_id"], "f 1", "{verb}");
        assert_ne!(asked[0]["dry_run"], true, "{verb}");
        let (_, page) = visit.get("/desk/triage").await;
        assert!(page.contains(said), "{verb}: {page}");
    }
    assert_eq!(
        visit.post("/desk/filings/f1/send", "").await.status,
        StatusCode::NOT_FOUND
    );
}

#[tokio::test]
async fn what_is_refused_is_said_where_it_was_asked() {
    let visit = Visit::new(&[
        ("desk/status", json!({})),
        ("desk/triage_list", json!({"items": []})),
        ("desk.filings", json!({"filings": []})),
    ]);
    let answer = visit.post("/desk/filings/f1/approve", "").await;
    assert_eq!(answer.headers[header::LOCATION], "/desk/triage");
    let (_, page) = visit.get("/desk/triage").await;
    assert!(
        page.contains(r#"role="alert""#) && page.contains("desk.file is not there"),
        "{page}"
    );
    assert!(page.contains("No folder is suggested."), "{page}");
}

#[tokio::test]
async fn a_filing_that_has_to_be_certified_leads_to_its_proposal() {
    let refusal = json!({"blocked": true, "approval_id": "P-7f3a", "rule": "ladder.file"});
    let visit = Visit::new(&[
        ("desk/status", json!({})),
        ("desk/triage_list", json!({"items": []})),
        (
            "desk.filings",
            json!({"filings": [filing("f1", "proposed"), filing("f2", "filed")]}),
        ),
        ("desk.file waits", refusal.clone()),
        ("desk.unfile waits", refusal),
    ]);
    for verb in ["f1/approve", "f2/undo"] {
        let answer = visit.post(&format!("/desk/filings/{verb}"), "").await;
        assert_eq!(answer.headers[header::LOCATION], "/desk/triage", "{verb}");
        // A page that is open elsewhere asks for itself again meanwhile.
        let script = [
            ("cookie", visit.cookie.as_str()),
            ("sec-fetch-mode", "cors"),
        ];
        let seen = visit.send(Method::GET, "/desk/triage", &script, "").await;
        assert!(!text(seen).contains("P-7f3a"), "{verb}");
        let (_, page) = visit.get("/desk/triage").await;
        let link = r##"<a href="/approvals#P-7f3a">Answer P-7f3a</a>"##;
        assert!(page.contains(link), "{verb}: {page}");
        assert!(
            page.contains("then ask for the same again"),
            "{verb}: {page}"
        );
        // It is said once.
        let (_, page) = visit.get("/desk/triage").await;
        assert!(!page.contains("P-7f3a"), "{verb}: {page}");
    }
}
