use super::*;

#[tokio::test]
async fn a_link_is_used_by_its_form_and_not_by_looking_at_it() {
    let visit = Visit::new(&[]);
    let now: Wall = SystemClock::shared().wall();
    let word = visit.door.link(now).expect("randomness");
    let path = format!("/login/{word}");
    for _ in 0..2 {
        let answer = visit.send(Method::GET, &path, &[], "").await;
        assert_eq!(answer.status, StatusCode::OK);
        assert!(answer.headers.get(header::SET_COOKIE).is_none());
    }
    let own = [("origin", "http://127.0.0.1:48080")];
    let form = format!("word={word}");
    let answer = visit.send(Method::POST, "/login", &own, &form).await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER);
    assert!(answer.headers.get(header::SET_COOKIE).is_some());
    let answer = visit.send(Method::POST, "/login", &own, &form).await;
    assert_eq!(answer.status, StatusCode::FORBIDDEN);
    let recorded = visit.hub.asked(SIGNED_IN).len();
    assert_eq!(recorded, 1, "a link that lets nobody in is no sign-in");
}

#[tokio::test]
async fn nobody_is_let_in_who_is_not_on_record() {
    let visit = Visit::new(&[(SIGNED_IN, Value::Null)]);
    let now: Wall = SystemClock::shared().wall();
    let word = visit.door.link(now).expect("randomness");
    let own = [("origin", "http://127.0.0.1:48080")];
    let form = format!("word={word}");
    let answer = visit.send(Method::POST, "/login", &own, &form).await;
    assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(answer.headers.get(header::SET_COOKIE).is_none());
}
