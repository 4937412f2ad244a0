//! Presence: what applications say of a person, and what the person prefers.

use http::Method;
use serde_json::{Value, json};

use super::error::Failure;
use super::{Call, Outcome, route};
use crate::state::chat::{Presence, PresenceSession};
use crate::state::directory::{ObjectId, User};
use crate::web::Answer;

/// What an application may say: availability and activity.
const SESSION: [(&str, &str); 5] = [
    ("Available", "Available"),
    ("Busy", "InACall"),
    ("Busy", "InAConferenceCall"),
    ("Away", "Away"),
    ("DoNotDisturb", "Presenting"),
];
/// What a person may prefer.
const PREFERRED: [(&str, &str); 6] = [
    ("Available", "Available"),
    ("Busy", "Busy"),
    ("DoNotDisturb", "DoNotDisturb"),
    ("BeRightBack", "BeRightBack"),
    ("Away", "Away"),
    ("Offline", "OffWork"),
];
/// The strongest first.
const STRENGTH: [&str; 4] = ["DoNotDisturb", "Busy", "Available", "Away"];
const MINUTE_MS: i64 = 60_000;
/// Availability fades unless it is said again.
const FADES_MS: i64 = 5 * MINUTE_MS;

/// Everything under `/users/{id}/presence`.
pub(super) fn route(call: Call<'_>, name: &str, rest: &[&str]) -> Outcome {
    let method = call.ask.method.clone();
    match (&method, rest) {
        (&Method::GET, []) => read(&call, name),
        (&Method::POST, ["setPresence"]) => set(call, name),
        (&Method::POST, ["clearPresence"]) => clear(call, name),
        (&Method::POST, ["setUserPreferredPresence"]) => prefer(call, name),
        (&Method::POST, ["clearUserPreferredPresence"]) => clear_preferred(call, name),
        (&Method::POST, ["setStatusMessage"]) => message(call, name),
        _ => Err(route::unknown(&call, &call_parts(&call))),
    }
}

/// `POST /communications/getPresencesByUserId`.
pub(super) fn several(call: &Call<'_>) -> Outcome {
    call.permit(
        "POST /communications/getPresencesByUserId",
        &["Presence.Read.All"],
        &["Presence.Read.All"],
    )?;
    let body = call.body()?;
    let ids = body["ids"]
        .as_array()
        .ok_or_else(|| Failure::bad_request("ids is missing."))?;
    let mut out = Vec::new();
    for id in ids {
        let user = call.named_user(id.as_str().unwrap_or_default())?;
        out.push(shown(call, &user.id)?);
    }
    call.list("Collection(microsoft.graph.presence)", out, 650)
}

fn call_parts<'a>(call: &'a Call<'_>) -> Vec<&'a str> {
    call.ask.parts[1..].iter().map(String::as_str).collect()
}

fn read(call: &Call<'_>, name: &str) -> Outcome {
    let user = call.named_user(name)?;
    let own = call.caller.user.as_ref() == Some(&user.id);
    if own {
        let fitting = ["Presence.Read", "Presence.Read.All", "Presence.ReadWrite"];
        call.permit("GET /me/presence", &fitting, &["Presence.Read.All"])?;
    } else {
        let fitting = ["Presence.Read.All"];
        call.permit("GET /users/{id}/presence", &fitting, &fitting)?;
    }
    let shown = shown(call, &user.id)?;
    Ok(call.entity(200, "users('{id}')/presence/$entity", shown))
}

fn shown(call: &Call<'_>, user: &ObjectId) -> Result<Value, Failure> {
    let tenant = call.tenant()?;
    let none = Presence::default();
    let known = tenant.presence.get(user).unwrap_or(&none);
    let (availability, activity) = current(known, call.now_ms());
    Ok(json!({
        "id": user.as_str(),
        "availability": availability,
        "activity": activity,
        "statusMessage": known.message,
    }))
}

/// What others see now. What is preferred counts only while some session says anything.
fn current(known: &Presence, now_ms: i64) -> (&str, &str) {
    let live: Vec<&PresenceSession> = known
        .sessions
        .iter()
        .filter(|session| session.until_ms > now_ms)
        .collect();
    if live.is_empty() {
        return ("Offline", "Offline");
    }
    if let Some(preferred) = known.preferred.as_ref().filter(|p| p.until_ms > now_ms) {
        return (&preferred.availability, &preferred.activity);
    }
    let said = |session: &&PresenceSession| {
        let faded = session.availability == "Available" && now_ms - session.set_ms > FADES_MS;
        let seen = if faded { "Away" } else { &session.availability };
        STRENGTH
            .iter()
            .position(|known| *known == seen)
            .unwrap_or(STRENGTH.len())
    };
    match live.iter().min_by_key(|session| said(session)) {
        Some(session) if said(session) == 3 => ("Away", "Away"),
        Some(session) => (&session.availability, &session.activity),
        None => ("Offline", "Offline"),
    }
}

/// The user of the path, who must be the caller, and a body.
fn own(call: &Call<'_>, name: &str, operation: &str) -> Result<(User, Value), Failure> {
    call.permit(
        operation,
        &["Presence.ReadWrite"],
        &["Presence.ReadWrite.All"],
    )?;
    let user = call.named_user(name)?;
    if call.caller.user.as_ref().is_some_and(|own| *own != user.id) {
        return Err(Failure::new(
            403,
            "Forbidden",
            "The presence of another user cannot be changed with a delegated token.",
        ));
    }
    let body = call.body()?;
    Ok((user, body))
}

fn session(
    call: &Call<'_>,
    body: &Value,
    id: String,
    pairs: &[(&str, &str)],
    bounds_ms: (i64, i64),
    default_ms: i64,
) -> Result<PresenceSession, Failure> {
    let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
    let (availability, activity) = (text("availability"), text("activity"));
    if !pairs.contains(&(availability.as_str(), activity.as_str())) {
        return Err(Failure::new(
            400,
            "InvalidArgument",
            format!(
                "The availability '{availability}' does not go with the activity '{activity}'."
            ),
        ));
    }
    let lasts_ms = match &body["expirationDuration"] {
        Value::Null => default_ms,
        Value::String(text) => duration_ms(text).ok_or_else(|| {
            Failure::new(
                400,
                "InvalidArgument",
                "expirationDuration is not a duration.",
            )
        })?,
        _ => {
            return Err(Failure::new(
                400,
                "InvalidArgument",
                "expirationDuration is not a duration.",
            ));
        }
    };
    if !(bounds_ms.0..=bounds_ms.1).contains(&lasts_ms) {
        return Err(Failure::new(
            400,
            "InvalidArgument",
            "expirationDuration is outside of what is allowed.",
        ));
    }
    let now = call.now_ms();
    Ok(PresenceSession {
        id,
        availability,
        activity,
        set_ms: now,
        until_ms: now + lasts_ms,
    })
}

fn set(mut call: Call<'_>, name: &str) -> Outcome {
    let (user, body) = own(&call, name, "POST /users/{id}/presence/setPresence")?;
    call.licensed(&user)?;
    let id = body["sessionId"].as_str().unwrap_or_default().to_owned();
    if id.is_empty() {
        return Err(Failure::new(
            400,
            "InvalidArgument",
            "sessionId is missing.",
        ));
    }
    let bounds = (5 * MINUTE_MS, 240 * MINUTE_MS);
    let session = session(&call, &body, id, &SESSION, bounds, 5 * MINUTE_MS)?;
    let presence = call.tenant_mut()?.presence.entry(user.id).or_default();
    presence.sessions.retain(|known| known.id != session.id);
    presence.sessions.push(session);
    Ok(Answer::empty(200))
}

fn clear(mut call: Call<'_>, name: &str) -> Outcome {
    let (user, body) = own(&call, name, "POST /users/{id}/presence/clearPresence")?;
    let id = body["sessionId"].as_str().unwrap_or_default().to_owned();
    let now = call.now_ms();
    let presence = call.tenant_mut()?.presence.entry(user.id).or_default();
    let before = presence.sessions.len();
    presence.sessions.retain(|known| known.until_ms > now);
    presence.sessions.retain(|known| known.id != id);
    if presence.sessions.len() == before {
        return Err(Failure::new(
            404,
            "NotFound",
            "There is no presence session with this id.",
        ));
    }
    Ok(Answer::empty(200))
}

fn prefer(mut call: Call<'_>, name: &str) -> Outcome {
    let operation = "POST /users/{id}/presence/setUserPreferredPresence";
    let (user, body) = own(&call, name, operation)?;
    call.licensed(&user)?;
    let bounds = (MINUTE_MS, 7 * 24 * 60 * MINUTE_MS);
    let away = ["Available", "Offline", "BeRightBack", "Away"];
    let lasts = if away.contains(&body["availability"].as_str().unwrap_or_default()) {
        7 * 24 * 60 * MINUTE_MS
    } else {
        24 * 60 * MINUTE_MS
    };
    let session = session(&call, &body, String::new(), &PREFERRED, bounds, lasts)?;
    call.tenant_mut()?
        .presence
        .entry(user.id)
        .or_default()
        .preferred = Some(session);
    Ok(Answer::empty(200))
}

fn clear_preferred(mut call: Call<'_>, name: &str) -> Outcome {
    let operation = "POST /users/{id}/presence/clearUserPreferredPresence";
    call.permit(
        operation,
        &["Presence.ReadWrite"],
        &["Presence.ReadWrite.All"],
    )?;
    let user = call.named_user(name)?;
    call.tenant_mut()?
        .presence
        .entry(user.id)
        .or_default()
        .preferred = None;
    Ok(Answer::empty(200))
}

fn message(mut call: Call<'_>, name: &str) -> Outcome {
    let (user, body) = own(&call, name, "POST /users/{id}/presence/setStatusMessage")?;
    let message = body["statusMessage"].clone();
    call.tenant_mut()?
        .presence
        .entry(user.id)
        .or_default()
        .message = message;
    Ok(Answer::empty(200))
}

/// ISO 8601 as Graph documents it, or `h:mm:ss` as kiota for Python writes it.
fn duration_ms(text: &str) -> Option<i64> {
    if let Some(rest) = text.strip_prefix('P') {
        let (days, clock) = rest.split_once('T').unwrap_or((rest, ""));
        let mut total = 0;
        let mut digits = String::new();
        for (part, units) in [
            (days, [('D', 86_400), ('W', 604_800), ('?', 0)]),
            (clock, [('H', 3600), ('M', 60), ('S', 1)]),
        ] {
            for c in part.chars() {
                if c.is_ascii_digit() {
                    digits.push(c);
                    continue;
                }
                let (_, seconds) = units.iter().find(|(unit, _)| *unit == c)?;
                total += digits.parse::<i64>().ok()?.checked_mul(*seconds)?;
                digits.clear();
            }
        }
        return digits.is_empty().then_some(total * 1000);
    }
    let parts: Vec<i64> = text
        .split(':')
        .map(|part| part.parse().ok())
        .collect::<Option<_>>()?;
    match parts.as_slice() {
        [hours, minutes, seconds] => Some((hours * 3600 + minutes * 60 + seconds) * 1000),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::duration_ms;

    #[test]
    fn durations_of_both_kinds_are_read() {
        for (text, seconds) in [
            ("PT5M", Some(300)),
            ("PT4H", Some(14_400)),
            ("P1DT1H", Some(90_000)),
            ("1:00:00", Some(3600)),
            ("0:05:00", Some(300)),
            ("PT", Some(0)),
            ("five", None),
            ("PT5", None),
        ] {
            assert_eq!(duration_ms(text), seconds.map(|s: i64| s * 1000), "{text}");
        }
    }
}
