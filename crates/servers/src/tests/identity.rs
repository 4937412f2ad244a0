//! `identity` where nobody has to be asked anything; sign-ins are tested
//! against a tenant, from outside.

use std::sync::Arc;

use legation_core::{EntityId, ServerName};
use legation_entra::{AccountSettings, Accounts};
use legation_gate::policy::Verb;
use legation_gate::{
    Endpoint, Item, Listing, Outcome, Resolve, ServerSet as _, TaskWish, Unresolved,
};
use legation_wire::json::{Object, Raw};
use serde_json::{Value, json};

use super::natives::OneView;
use super::others::{Others, context, silent};
use crate::identity::Identity;
use crate::{Native, Natives};

fn accounts(names: &[&str]) -> Arc<Accounts> {
    let settings = names.iter().map(|name| {
        let entity = EntityId::new(format!("of-{name}"));
        AccountSettings::new(name, entity, "example.com")
    });
    let closed = || Err(legation_keystore::SecretsError::Random);
    Arc::new(Accounts::new(settings.collect(), Arc::new(closed)))
}

fn params(arguments: &Value) -> Object {
    let params = json!({"name": "identity-whoami", "arguments": arguments});
    Raw::from_serialize(&params).to_object().unwrap()
}

fn natives(names: &[&str]) -> Natives {
    let listing = Listing {
        version: 1,
        entries: Vec::new(),
    };
    Natives::new(
        vec![Arc::new(Identity::new(accounts(names)))],
        Arc::new(Others(Arc::new(listing))),
        Arc::new(OneView),
    )
}

#[tokio::test]
async fn a_call_concerns_the_entity_of_the_account_it_names() {
    let two = &["home", "work"][..];
    for (names, arguments, found) in [
        (&["work"][..], json!({}), Ok("of-work")),
        (&["work"], json!({"account": "work"}), Ok("of-work")),
        (two, json!({"account": "home"}), Ok("of-home")),
        (two, json!({}), Err("name one of home, work")),
        (two, json!({"account": "other"}), Err("name one of")),
        (two, json!({"account": 5}), Err("name an account")),
        (two, json!({"account": null}), Err("name an account")),
    ] {
        let natives = natives(names);
        let item = Item::Tool("identity-whoami".into());
        let resolved = natives.resolve(&context().caller, &Endpoint::All, &item);
        let Resolve::Ready(Ok(target)) = resolved else {
            panic!("{resolved:?}");
        };
        let concerned = natives.concerns(&target, &params(&arguments)).known().await;
        match (concerned, found) {
            (Ok(entity), Ok(found)) => assert_eq!(entity, Some(EntityId::new(found))),
            (Err(Unresolved::NoAccount { why, hint }), Err(found)) => {
                assert!(hint.contains(found), "{hint}");
                assert!(why.ends_with("nothing was done"), "{why}");
            }
            (concerned, _) => panic!("{names:?} {arguments}: {concerned:?}"),
        }
    }
}

#[tokio::test]
async fn only_calls_of_native_tools_concern_anybody() {
    let natives = natives(&["work"]);
    let item = Item::Tool("identity-whoami".into());
    let resolved = natives.resolve(&context().caller, &Endpoint::All, &item);
    let Resolve::Ready(Ok(target)) = resolved else {
        panic!("{resolved:?}");
    };
    let mut read = target.clone();
    read.verb = Verb::ReadResource;
    let mut other = target;
    other.server = ServerName::parse("files").unwrap();
    for target in [read, other] {
        let concerned = natives.concerns(&target, &params(&json!({}))).known().await;
        assert_eq!(concerned, Ok(None));
    }
}

#[tokio::test]
async fn what_cannot_be_opened_is_said_with_its_class_and_hint() {
    let identity = Identity::new(accounts(&["work"]));
    for tool in identity.tools() {
        let arguments = Object::new();
        let outcome = identity.call(context(), tool.name, arguments, TaskWish::Never, silent());
        let Outcome::Complete(raw) = outcome.await else {
            panic!("no result");
        };
        let result: Value = raw.deserialize().unwrap();
        assert_eq!(result["isError"], true, "{result}");
        let said = &result["structuredContent"];
        assert_eq!(said["error"], "ConfigurationError", "{said}");
        assert!(said["hint"].as_str().is_some_and(|hint| !hint.is_empty()));
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(
            text.starts_with("ConfigurationError: what is kept"),
            "{text}"
        );
    }
}

#[test]
fn the_least_scopes_are_in_the_definition() {
    let identity = Identity::new(accounts(&["work"]));
    let about = identity.tools()[0].description;
    for scope in legation_entra::account::AGENT_SCOPES {
        assert!(about.contains(scope), "{scope}: {about}");
    }
}
