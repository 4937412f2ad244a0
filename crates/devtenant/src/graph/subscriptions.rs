//! Subscriptions to changes.

use http::Method;
use legation_core::Wall;
use serde_json::{Value, json};

use super::error::Failure;
use super::{Call, Outcome, chats};
use crate::random;
use crate::state::World;
use crate::state::directory::ObjectId;
use crate::state::subscription::{Notice, Subscription};
use crate::web::Answer;

const NOTICES_MAX: usize = 10_000;
const MINUTE_MS: i64 = 60_000;
const CHAT_MAX_MS: i64 = 3 * 24 * 60 * MINUTE_MS;
const OUTLOOK_MAX_MS: i64 = 7 * 24 * 60 * MINUTE_MS;

/// Everything under `/subscriptions`.
pub(super) fn route(call: Call<'_>, rest: &[&str]) -> Outcome {
    let method = call.ask.method.clone();
    match (&method, rest) {
        (&Method::POST, []) => create(call),
        (&Method::GET, []) => list(&call),
        (&Method::GET, [id]) => read(&call, id),
        (&Method::PATCH, [id]) => renew(call, id),
        (&Method::DELETE, [id]) => delete(call, id),
        _ => Err(chats::unknown(&call)),
    }
}

/// A resource as it is compared: with its slash, without the service's address.
fn normal(resource: &str) -> String {
    let bare = resource
        .trim_start_matches('/')
        .replace("('", "/")
        .replace("')", "");
    format!("/{bare}")
}

/// The permissions for a resource, and how long a subscription to it may last.
fn rules(resource: &str) -> Option<(&'static [&'static str], i64)> {
    let path = normal(resource);
    if path.starts_with("/chats/") && path.ends_with("/messages") {
        return Some((&["Chat.Read", "Chat.ReadWrite"], CHAT_MAX_MS));
    }
    let own = path.starts_with("/me/") || path.starts_with("/users/");
    if own && path.ends_with("/messages") {
        return Some((
            &["Mail.ReadBasic", "Mail.Read", "Mail.ReadWrite"],
            OUTLOOK_MAX_MS,
        ));
    }
    if own && path.ends_with("/events") {
        return Some((&["Calendars.Read", "Calendars.ReadWrite"], OUTLOOK_MAX_MS));
    }
    None
}

fn bad(message: impl Into<String>) -> Failure {
    Failure::new(400, "InvalidRequest", message)
}

/// The address has proved itself before this is called.
fn create(mut call: Call<'_>) -> Outcome {
    let body = call.body()?;
    let text = |name: &str| {
        body[name]
            .as_str()
            .map(str::to_owned)
            .ok_or_else(|| bad(format!("'{name}' is missing.")))
    };
    let (resource, url) = (text("resource")?, text("notificationUrl")?);
    let change_type = text("changeType")?;
    let Some((permissions, longest)) = rules(&resource) else {
        call.shared
            .report()
            .unknown(&format!("subscription to {resource}"));
        return Err(bad(format!("Resource '{resource}' is not supported.")));
    };
    call.permit("POST /subscriptions", permissions, &[])?;
    let fine = ["created", "updated", "deleted"];
    if !change_type
        .split(',')
        .all(|kind| fine.contains(&kind.trim()))
    {
        return Err(bad(format!("Invalid changeType '{change_type}'.")));
    }
    let now = call.now_ms();
    let until = Wall::parse(&text("expirationDateTime")?)
        .ok_or_else(|| bad("expirationDateTime is not a time."))?
        .0;
    in_limits(until, now, longest)?;
    let lifecycle_url = body["lifecycleNotificationUrl"].as_str().map(str::to_owned);
    if longest == CHAT_MAX_MS && until > now + 60 * MINUTE_MS && lifecycle_url.is_none() {
        return Err(bad(
            "lifecycleNotificationUrl is a required property for subscription creation on this \
             resource when the expirationDateTime value is set to greater than 1 hour.",
        ));
    }
    let path = normal(&resource);
    if let Some(chat) = path
        .strip_prefix("/chats/")
        .and_then(|rest| rest.strip_suffix("/messages"))
    {
        call.own_chat(chat)?;
    }
    let subscription = Subscription {
        id: random::guid(),
        resource,
        change_type,
        notification_url: url,
        lifecycle_url,
        client_state: body["clientState"].as_str().map(str::to_owned),
        expires_ms: until,
        application: call.caller.app_id.clone(),
        creator: ObjectId::new(call.caller.oid.as_str()),
    };
    let shown = shown(&subscription);
    call.tenant_mut()?.subscriptions.push(subscription);
    Ok(call.entity(201, "subscriptions/$entity", shown))
}

fn in_limits(until: i64, now: i64, longest: i64) -> Result<(), Failure> {
    if until <= now || until > now + longest {
        return Err(bad(
            "Subscription expiration can only be in the future and within the maximum for the \
             resource.",
        ));
    }
    Ok(())
}

fn own<'c>(call: &'c Call<'_>, id: &str) -> Result<&'c Subscription, Failure> {
    let now = call.now_ms();
    call.tenant()?
        .subscriptions
        .iter()
        .filter(|one| one.application == call.caller.app_id && one.expires_ms > now)
        .find(|one| one.id == id)
        .ok_or_else(|| Failure::new(404, "ResourceNotFound", "The object was not found."))
}

fn list(call: &Call<'_>) -> Outcome {
    let now = call.now_ms();
    let shown = call
        .tenant()?
        .subscriptions
        .iter()
        .filter(|one| one.application == call.caller.app_id && one.expires_ms > now)
        .map(shown)
        .collect();
    call.list("subscriptions", shown, 100)
}

fn read(call: &Call<'_>, id: &str) -> Outcome {
    let shown = shown(own(call, id)?);
    Ok(call.entity(200, "subscriptions/$entity", shown))
}

fn renew(mut call: Call<'_>, id: &str) -> Outcome {
    let body = call.body()?;
    let until = body["expirationDateTime"]
        .as_str()
        .and_then(Wall::parse)
        .ok_or_else(|| bad("expirationDateTime is not a time."))?
        .0;
    let found = own(&call, id)?;
    let longest = rules(&found.resource).map_or(OUTLOOK_MAX_MS, |(_, longest)| longest);
    in_limits(until, call.now_ms(), longest)?;
    if let Some(one) = call
        .tenant_mut()?
        .subscriptions
        .iter_mut()
        .find(|one| one.id == id)
    {
        one.expires_ms = until;
    }
    let shown = shown(own(&call, id)?);
    Ok(call.entity(200, "subscriptions/$entity", shown))
}

fn delete(mut call: Call<'_>, id: &str) -> Outcome {
    own(&call, id)?;
    call.tenant_mut()?.subscriptions.retain(|one| one.id != id);
    Ok(Answer::empty(204))
}

fn shown(one: &Subscription) -> Value {
    json!({
        "id": one.id,
        "resource": one.resource,
        "applicationId": one.application,
        "changeType": one.change_type,
        "clientState": one.client_state,
        "notificationUrl": one.notification_url,
        "notificationQueryOptions": null,
        "lifecycleNotificationUrl": one.lifecycle_url,
        "expirationDateTime": Wall(one.expires_ms).to_string(),
        "creatorId": one.creator.as_str(),
        "includeResourceData": null,
        "latestSupportedTlsVersion": "v1_2",
        "encryptionCertificate": null,
        "encryptionCertificateId": null,
        "notificationUrlAppId": null,
    })
}

/// Notes what subscribers are to be told. `resources` are the names under which somebody may
/// have subscribed, `concerned` the users whose `/me` it is.
pub(super) fn changed(
    world: &mut World,
    tenant: &str,
    resources: &[String],
    concerned: &[ObjectId],
    change: &str,
    object: &Value,
    now: i64,
) {
    let Some(known) = world.tenant(tenant) else {
        return;
    };
    let due: Vec<Notice> = known
        .subscriptions
        .iter()
        .filter(|one| {
            one.expires_ms > now
                && concerned.contains(&one.creator)
                && one.change_type.split(',').any(|kind| kind.trim() == change)
                && resources
                    .iter()
                    .any(|resource| normal(&one.resource).eq_ignore_ascii_case(resource))
        })
        .map(|one| Notice {
            url: one.notification_url.clone(),
            body: json!({"value": [{
                "subscriptionId": one.id,
                "changeType": change,
                "clientState": one.client_state,
                "subscriptionExpirationDateTime": Wall(one.expires_ms).to_string(),
                "resource": object["@odata.id"],
                "resourceData": object,
                "tenantId": known.id,
            }]}),
        })
        .collect();
    // Whoever takes no notice for so long has to read anew anyway.
    let room = NOTICES_MAX.saturating_sub(world.notices.len());
    world.notices.extend(due.into_iter().take(room));
}
