use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::{BoxFuture, join_all};
use legation_core::clock::ManualClock;
use legation_core::{SharedClock, Wall};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _,
};
use serde_json::{Value, json};

use super::keys::{Algorithm, KeySet};
use super::{BadToken, Judged, ResourceServer, ResourceSettings};
use crate::fetch::{Ask, Fetch, FetchError, Reach, Reply};
use crate::jwt::base64url;

const ISSUER: &str = "https://as.example.com";
const AUDIENCE: &str = "https://hub.example.com/mcp";
/// The beginning of the test's time, in seconds.
const NOW: i64 = 1_800_000_000;

/// An issuer's pages, and how often its keys were asked for.
#[derive(Debug, Default)]
struct Pages {
    keys: Mutex<Vec<Value>>,
    asked: AtomicUsize,
    /// What it calls itself instead.
    other: Mutex<Option<&'static str>>,
    is_down: Mutex<bool>,
}

impl Fetch for Arc<Pages> {
    fn fetch(&self, ask: Ask, _: Reach) -> BoxFuture<'static, Result<Reply, FetchError>> {
        let pages = Self::clone(self);
        Box::pin(async move {
            // Whoever would overlap does here.
            for _ in 0..20 {
                tokio::task::yield_now().await;
            }
            if *pages.is_down.lock().unwrap() {
                let host = ask.url.host().to_owned();
                return Err(FetchError::Timeout { host });
            }
            let (status, body) = match ask.url.path() {
                "/.well-known/openid-configuration" => {
                    let issuer = pages.other.lock().unwrap().unwrap_or(ISSUER);
                    (
                        200,
                        json!({"issuer": issuer, "jwks_uri": format!("{ISSUER}/jwks")}),
                    )
                }
                "/jwks" => {
                    pages.asked.fetch_add(1, Ordering::SeqCst);
                    (200, json!({"keys": *pages.keys.lock().unwrap()}))
                }
                _ => (404, json!({})),
            };
            Ok(Reply {
                status,
                nonce: None,
                body: body.to_string().into(),
            })
        })
    }
}

/// A key of the issuer's.
struct Signer {
    id: &'static str,
    pair: EcdsaKeyPair,
}

impl Signer {
    fn new(id: &'static str) -> Self {
        let (alg, random) = (&ECDSA_P256_SHA256_FIXED_SIGNING, SystemRandom::new());
        let der = EcdsaKeyPair::generate_pkcs8(alg, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(alg, der.as_ref(), &random).unwrap();
        Self { id, pair }
    }

    fn public(&self) -> Value {
        let point = self.pair.public_key().as_ref();
        json!({
            "kty": "EC", "crv": "P-256", "use": "sig", "kid": self.id, "alg": "ES256",
            "x": base64url(&point[1..33]), "y": base64url(&point[33..]),
        })
    }

    fn token(&self, header: &Value, claims: &Value) -> String {
        signed(header, claims, |text| {
            let signature = self.pair.sign(&SystemRandom::new(), text).unwrap();
            signature.as_ref().to_vec()
        })
    }

    /// A good token but for what is changed.
    fn with(&self, header: Value, claims: Value) -> String {
        let mut first = json!({"alg": "ES256", "typ": "at+jwt", "kid": self.id});
        let mut second = json!({
            "iss": ISSUER, "aud": AUDIENCE, "sub": "alex", "client_id": "agent",
            "iat": NOW, "exp": NOW + 300, "scope": "mcp:read other",
        });
        for (base, change) in [(&mut first, header), (&mut second, claims)] {
            let base = base.as_object_mut().unwrap();
            for (name, value) in change.as_object().unwrap() {
                base.insert(name.clone(), value.clone());
                if value.is_null() {
                    base.remove(name);
                }
            }
        }
        self.token(&first, &second)
    }

    fn good(&self) -> String {
        self.with(json!({}), json!({}))
    }
}

fn signed(header: &Value, claims: &Value, sign: impl FnOnce(&[u8]) -> Vec<u8>) -> String {
    let part = |value: &Value| base64url(value.to_string().as_bytes());
    let text = format!("{}.{}", part(header), part(claims));
    let signature = base64url(&sign(text.as_bytes()));
    format!("{text}.{signature}")
}

struct Rig {
    pages: Arc<Pages>,
    clock: Arc<ManualClock>,
    server: Arc<ResourceServer>,
}

impl Rig {
    fn new(signers: &[&Signer]) -> Self {
        Self::with(signers, |_| {})
    }

    fn with(signers: &[&Signer], change: impl FnOnce(&mut ResourceSettings)) -> Self {
        let pages = Arc::new(Pages::default());
        let clock = Arc::new(ManualClock::at(Wall(NOW * 1000)));
        let mut settings = ResourceSettings {
            issuer: ISSUER.into(),
            audience: AUDIENCE.into(),
            keys_at: None,
            subjects: Vec::new(),
            scopes: vec!["mcp:read".into()],
        };
        change(&mut settings);
        let fetch = Arc::new(Arc::clone(&pages));
        let server = ResourceServer::new(settings, fetch, Arc::clone(&clock) as SharedClock);
        let rig = Self {
            pages,
            clock,
            server: server.unwrap(),
        };
        rig.publish(signers);
        rig
    }

    fn publish(&self, signers: &[&Signer]) {
        *self.pages.keys.lock().unwrap() = signers.iter().map(|one| one.public()).collect();
    }

    /// As the front judges: it waits once.
    async fn judge(&self, token: &str) -> Result<Box<str>, BadToken> {
        let mut judged = self.server.judge(token);
        if let Judged::Wait(wait) = judged {
            wait.await;
            judged = self.server.judge(token);
        }
        match judged {
            Judged::Good(bearer) => Ok(bearer.name),
            Judged::Bad(bad) => Err(bad),
            Judged::Wait(_) => panic!("it waits for ever"),
        }
    }

    fn asked(&self) -> usize {
        self.pages.asked.load(Ordering::SeqCst)
    }
}

#[tokio::test]
async fn a_token_of_the_issuer_for_this_resource_is_good() {
    let signer = Signer::new("k1");
    let rig = Rig::new(&[&signer]);
    let name = rig.judge(&signer.good()).await.unwrap();
    for (header, claims) in [
        (json!({"typ": null}), json!({})),
        (json!({"typ": "JWT"}), json!({})),
        (json!({"typ": "application/at+jwt"}), json!({})),
        (json!({"kid": null}), json!({})),
        (
            json!({}),
            json!({"aud": ["https://other.example.com", AUDIENCE]}),
        ),
        (json!({}), json!({"exp": NOW as f64 + 0.5, "nbf": NOW + 5})),
        (json!({}), json!({"scope": null, "scp": ["mcp:read"]})),
        (json!({}), json!({"client_id": null, "azp": "agent"})),
    ] {
        let token = signer.with(header.clone(), claims.clone());
        assert_eq!(
            rig.judge(&token).await.as_ref(),
            Ok(&name),
            "{header} {claims}"
        );
    }
    // Another person or program is somebody else, and none is named.
    for claims in [json!({"sub": "sam"}), json!({"client_id": "other"})] {
        let other = rig.judge(&signer.with(json!({}), claims)).await.unwrap();
        assert_ne!(other, name);
    }
    assert_eq!(name.len(), 20);
    assert!(!format!("{name}").contains("alex"));
    let Judged::Good(bearer) = rig.server.judge(&signer.good()) else {
        panic!("it was good before");
    };
    assert_eq!(
        bearer.scopes,
        ["mcp:read".into(), "other".into()] as [Box<str>; 2]
    );
    // As long as it is taken, the clocks' difference included.
    assert_eq!(bearer.until, Wall((NOW + 310) * 1000));
    assert_eq!(rig.asked(), 1, "keys are kept");
}

#[tokio::test]
async fn what_is_wrong_with_a_token_is_seen() {
    use BadToken as Bad;
    let (signer, foreign) = (Signer::new("k1"), Signer::new("k1"));
    let rig = Rig::new(&[&signer]);
    rig.judge(&signer.good()).await.unwrap();
    let cases = [
        (json!({"alg": "none"}), json!({}), Bad::Algorithm),
        (json!({"alg": "HS256"}), json!({}), Bad::Algorithm),
        (json!({"alg": "RS256"}), json!({}), Bad::Key),
        (json!({"crit": ["exp"]}), json!({}), Bad::Unreadable),
        (json!({"typ": "dpop+jwt"}), json!({}), Bad::Unreadable),
        (json!({"typ": "logout+jwt"}), json!({}), Bad::Unreadable),
        (
            json!({"kid": "../../../../etc/passwd"}),
            json!({}),
            Bad::Key,
        ),
        (json!({"kid": "k1\u{0}"}), json!({}), Bad::Key),
        (json!({"kid": "' OR 1=1 --"}), json!({}), Bad::Key),
        (
            json!({}),
            json!({"iss": "https://evil.example.com"}),
            Bad::Issuer,
        ),
        (json!({}), json!({"iss": format!("{ISSUER}/")}), Bad::Issuer),
        (
            json!({}),
            json!({"aud": "https://hub.example.com"}),
            Bad::Audience,
        ),
        (
            json!({}),
            json!({"aud": format!("{AUDIENCE}/s/notes")}),
            Bad::Audience,
        ),
        (json!({}), json!({"aud": ["agent"]}), Bad::Audience),
        (json!({}), json!({"aud": []}), Bad::Audience),
        (json!({}), json!({"aud": null}), Bad::Unreadable),
        (json!({}), json!({"exp": NOW - 10}), Bad::Expired),
        (json!({}), json!({"exp": -1}), Bad::Expired),
        (json!({}), json!({"exp": null}), Bad::Unreadable),
        (json!({}), json!({"exp": "never"}), Bad::Unreadable),
        (json!({}), json!({"nbf": NOW + 60}), Bad::Early),
        (json!({}), json!({"iat": NOW + 60}), Bad::Early),
        (json!({}), json!({"cnf": {"jkt": "x"}}), Bad::Bound),
        (json!({}), json!({"sub": null}), Bad::Subject),
        (json!({}), json!({"sub": ""}), Bad::Subject),
    ];
    for (header, claims, bad) in cases {
        let token = signer.with(header.clone(), claims.clone());
        assert_eq!(rig.judge(&token).await, Err(bad), "{header} {claims}");
    }
    assert_eq!(rig.judge(&foreign.good()).await, Err(Bad::Signature));
    let good = signer.good();
    let (text, signature) = good.rsplit_once('.').unwrap();
    let parts: Vec<&str> = good.split('.').collect();
    for broken in [
        String::new(),
        "..".to_owned(),
        text.to_owned(),
        format!("{text}."),
        format!("{text}.{}", &signature[..signature.len() - 2]),
        format!("{text}.{signature}="),
        format!("{good}.{signature}"),
        format!(" {good}"),
        format!("{}.{}.{signature}", parts[1], parts[0]),
        format!("{}.{}", "x".repeat(20_000), good),
    ] {
        let judged = rig.judge(&broken).await;
        let refused = matches!(judged, Err(Bad::Unreadable | Bad::Signature));
        assert!(refused, "{broken:.80}: {judged:?}");
    }
    assert_eq!(rig.asked(), 1, "none of them had keys asked for");
}

#[tokio::test]
async fn only_those_who_are_named_may_come() {
    let signer = Signer::new("k1");
    let rig = Rig::with(&[&signer], |settings| {
        settings.subjects = vec!["alex".into()]
    });
    assert!(rig.judge(&signer.good()).await.is_ok());
    let other = signer.with(json!({}), json!({"sub": "sam"}));
    assert_eq!(rig.judge(&other).await, Err(BadToken::Subject));
}

#[tokio::test]
async fn a_key_that_is_not_known_has_the_issuer_asked_once_in_a_while() {
    let (first, second, never) = (Signer::new("k1"), Signer::new("k2"), Signer::new("k3"));
    let rig = Rig::new(&[&first]);
    // Fifty at once are one question.
    let token = first.good();
    for judged in join_all((0..50).map(|_| rig.judge(&token))).await {
        assert!(judged.is_ok());
    }
    assert_eq!(rig.asked(), 1);
    // It rotates its keys.
    rig.publish(&[&first, &second]);
    assert_eq!(
        rig.judge(&second.good()).await,
        Err(BadToken::Key),
        "too soon"
    );
    rig.clock.advance(Duration::from_secs(31));
    assert!(rig.judge(&second.good()).await.is_ok());
    assert_eq!(rig.asked(), 2);
    for _ in 0..20 {
        assert_eq!(rig.judge(&never.good()).await, Err(BadToken::Key));
    }
    assert_eq!(rig.asked(), 2, "strangers have it asked no more often");
    // A key that it takes back is good no more after a while.
    rig.publish(&[&second]);
    assert!(rig.judge(&first.good()).await.is_ok());
    rig.clock.advance(Duration::from_secs(600));
    let late = |signer: &Signer| signer.with(json!({}), json!({"exp": NOW + 90_000}));
    assert_eq!(rig.judge(&late(&first)).await, Err(BadToken::Key));
    assert!(rig.judge(&late(&second)).await.is_ok());
}

#[tokio::test]
async fn an_issuer_that_cannot_be_asked_is_believed_for_a_while_and_nobody_else_is() {
    let signer = Signer::new("k1");
    let rig = Rig::new(&[&signer]);
    let token = signer.with(json!({}), json!({"exp": NOW + 90_000}));
    *rig.pages.is_down.lock().unwrap() = true;
    assert_eq!(rig.judge(&token).await, Err(BadToken::NoKeys));
    *rig.pages.is_down.lock().unwrap() = false;
    assert_eq!(rig.judge(&token).await, Err(BadToken::NoKeys), "too soon");
    rig.clock.advance(Duration::from_secs(5));
    assert!(rig.judge(&token).await.is_ok());
    *rig.pages.is_down.lock().unwrap() = true;
    rig.clock.advance(Duration::from_secs(700));
    assert!(rig.judge(&token).await.is_ok(), "it is only not there now");
    rig.clock.advance(Duration::from_secs(3600));
    assert_eq!(rig.judge(&token).await, Err(BadToken::NoKeys));
    // Who describes another issuer is not asked for keys.
    let rig = Rig::new(&[&signer]);
    *rig.pages.other.lock().unwrap() = Some("https://evil.example.com");
    assert_eq!(rig.judge(&token).await, Err(BadToken::NoKeys));
    assert_eq!(rig.asked(), 0);
}

#[tokio::test]
async fn keys_are_for_their_own_kind_of_signature() {
    let signer = Signer::new("k1");
    let mut wrong = Vec::new();
    for (name, value) in [
        ("use", json!("enc")),
        ("alg", json!("ES384")),
        ("kty", json!("oct")),
        ("x", json!("AAAA")),
        ("crv", json!("P-521")),
    ] {
        let mut key = signer.public();
        key[name] = value;
        wrong.push(key);
    }
    let rig = Rig::new(&[]);
    *rig.pages.keys.lock().unwrap() = wrong;
    assert_eq!(rig.judge(&signer.good()).await, Err(BadToken::Key));

    let der = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
    let pair = Ed25519KeyPair::from_pkcs8(der.as_ref()).unwrap();
    let x = base64url(pair.public_key().as_ref());
    let rig = Rig::new(&[]);
    *rig.pages.keys.lock().unwrap() = vec![json!({"kty": "OKP", "crv": "Ed25519", "x": x})];
    let claims = json!({"iss": ISSUER, "aud": AUDIENCE, "sub": "alex", "exp": NOW + 60});
    let sign = |text: &[u8]| pair.sign(text).as_ref().to_vec();
    let token = signed(&json!({"alg": "EdDSA"}), &claims, sign);
    assert!(rig.judge(&token).await.is_ok());
}

/// RFC 7515, appendix A.2.
#[test]
fn a_signature_of_rsa_is_verified() {
    const N: &str = "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ";
    const TEXT: &str = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
    const SIGNATURE: &str = "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw";
    use base64::Engine as _;
    let keys = json!({"keys": [{"kty": "RSA", "n": N, "e": "AQAB"}]});
    let keys = KeySet::read(keys.to_string().as_bytes()).unwrap();
    let engine = base64::engine::general_purpose::URL_SAFE_NO_PAD;
    let signature = engine.decode(SIGNATURE).unwrap();
    let key = keys.find(None, Algorithm::Rs256).unwrap();
    assert!(key.verify(Algorithm::Rs256, TEXT.as_bytes(), &signature));
    assert!(!key.verify(Algorithm::Ps256, TEXT.as_bytes(), &signature));
    assert!(!key.verify(Algorithm::Rs256, &TEXT.as_bytes()[1..], &signature));
}

#[test]
fn the_description_stands_where_the_resource_says() {
    let rig = Rig::new(&[]);
    assert_eq!(
        rig.server.document_url(),
        "https://hub.example.com/.well-known/oauth-protected-resource/mcp"
    );
    let document: Value = serde_json::from_str(&rig.server.document()).unwrap();
    assert_eq!(document["resource"], AUDIENCE);
    assert_eq!(document["authorization_servers"], json!([ISSUER]));
    assert_eq!(document["scopes_supported"], json!(["mcp:read"]));
    for (issuer, audience, key) in [
        ("javascript:alert(1)", AUDIENCE, "issuer"),
        ("http://as.example.com", AUDIENCE, "issuer"),
        (ISSUER, "mcp", "audience"),
        (ISSUER, "http://hub.example.com/mcp", "audience"),
    ] {
        let settings = ResourceSettings {
            issuer: issuer.into(),
            audience: audience.into(),
            keys_at: None,
            subjects: Vec::new(),
            scopes: Vec::new(),
        };
        let fetch = Arc::new(Arc::new(Pages::default()));
        let clock = Arc::new(ManualClock::at(Wall(0)));
        let bad = ResourceServer::new(settings, fetch, clock).unwrap_err();
        assert_eq!(bad.key, key);
    }
}
