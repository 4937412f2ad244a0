use legation_core::SystemClock;
use legation_store::StoreOptions;

use super::*;

fn claims(folder: &std::path::Path) -> Arc<Claims> {
    let store = Store::open(&folder.join("state.db"), StoreOptions::default()).expect("a store");
    let keystore = Keystore::open(&folder.join("keys")).expect("keys");
    let boot = BootId::random().expect("random bytes");
    let claims = Claims::new(
        &Arc::new(store),
        &Arc::new(keystore),
        &SystemClock::shared(),
        &boot,
    );
    Arc::new(claims)
}

fn kept(body: &str) -> Kept {
    Kept {
        status: 200,
        body: Some(body.to_owned().into()),
    }
}

async fn claim(claims: &Arc<Claims>, key: &str, digest: u8) -> Claimed {
    let claimed = claims.clone().claim(key.to_owned(), [digest; 32]).await;
    claimed.expect("rows can be written")
}

#[tokio::test]
async fn a_request_is_done_once_under_its_key() {
    let folder = tempfile::tempdir().expect("a folder");
    let claims = claims(folder.path());
    assert_eq!(claim(&claims, "a", 1).await, Claimed::New);
    assert_eq!(claim(&claims, "a", 1).await, Claimed::Running);
    assert_eq!(claim(&claims, "a", 2).await, Claimed::Other);
    assert_eq!(claim(&claims, "b", 2).await, Claimed::New);
    let answer = kept(r#"{"said":"hidden words"}"#);
    claims
        .clone()
        .settle("a".to_owned(), [1; 32], Some(answer.clone()))
        .await;
    claims.clone().settle("b".to_owned(), [2; 32], None).await;
    assert_eq!(claim(&claims, "a", 1).await, Claimed::Answered(answer));
    assert_eq!(claim(&claims, "a", 2).await, Claimed::Other);
    assert_eq!(
        claim(&claims, "b", 1).await,
        Claimed::New,
        "nothing was done under it"
    );
    let rows = claims.store.kept_list(KIND).expect("rows");
    assert_eq!(rows.len(), 2);
    for row in rows {
        assert!(!format!("{row:?}").contains("hidden"), "it is sealed");
    }
}

#[tokio::test]
async fn the_next_hub_knows_what_was_done_and_what_is_not_known() {
    let folder = tempfile::tempdir().expect("a folder");
    let first = claims(folder.path());
    assert_eq!(claim(&first, "done", 1).await, Claimed::New);
    assert_eq!(claim(&first, "cut", 1).await, Claimed::New);
    let too_long = Kept {
        status: 201,
        body: Some(vec![b'x'; ANSWER_MAX + 1].into()),
    };
    first
        .clone()
        .settle("done".to_owned(), [1; 32], Some(too_long))
        .await;
    drop(first);
    let second = claims(folder.path());
    let without = Kept {
        status: 201,
        body: None,
    };
    assert_eq!(claim(&second, "done", 1).await, Claimed::Answered(without));
    assert_eq!(claim(&second, "cut", 1).await, Claimed::Unknown);
}

#[tokio::test]
async fn keys_expire_and_are_bounded() {
    let folder = tempfile::tempdir().expect("a folder");
    let claims = claims(folder.path());
    let name = claims.name("old").expect("a name");
    let mut row = claims
        .row(&name, [1; 32], Some(kept("{}")))
        .expect("sealed");
    row.expires_ms = 1;
    claims.store.kept_put(&row).expect("kept");
    assert_eq!(claim(&claims, "old", 2).await, Claimed::New);
    row.expires_ms = i64::MAX;
    row.value = STANDARD.encode(b"another hand wrote this");
    claims.store.kept_put(&row).expect("kept");
    let damaged = claims.clone().claim("old".to_owned(), [1; 32]).await;
    assert_eq!(
        damaged.map_err(|fault| fault.kind),
        Err(FaultKind::Unavailable)
    );
    let most = usize::try_from(KEPT_MAX).expect("small");
    for n in 0..most {
        row.name = format!("n{n}");
        row.changed_ms = 0;
        claims.store.kept_put(&row).expect("kept");
    }
    assert_eq!(claim(&claims, "new", 1).await, Claimed::New);
    assert_eq!(claims.store.kept_list(KIND).expect("rows").len(), most);
    assert_eq!(
        claim(&claims, "new", 1).await,
        Claimed::Running,
        "the oldest went"
    );
}
