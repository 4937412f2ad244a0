//! People.

use http::Method;
use serde_json::{Value, json};

use super::{Call, Outcome, route};
use crate::state::directory::{User, UserKind};
use crate::web::Answer;

/// Everything under `/me` and `/users`.
pub(super) fn route(call: Call<'_>, parts: &[&str]) -> Outcome {
    let get = call.ask.method == Method::GET;
    match parts {
        ["me"] if get => me(&call),
        _ => Err(route::unknown(&call, parts)),
    }
}

fn me(call: &Call<'_>) -> Outcome {
    let user = call.me()?;
    call.permit(
        "GET /me",
        &["User.Read", "User.ReadWrite", "User.Read.All"],
        &[],
    )?;
    let mut shown = shown(&user);
    shown["@odata.context"] = call.context("users/$entity").into();
    Ok(Answer::json(200, &shown))
}

/// The members that Graph shows when none are selected.
pub(super) fn shown(user: &User) -> Value {
    let (given, surname) = user.name.split_once(' ').unwrap_or((&user.name, ""));
    let mut out = json!({
        "businessPhones": [],
        "displayName": user.name,
        "givenName": given,
        "jobTitle": null,
        "mail": user.licensed.then_some(&user.upn),
        "mobilePhone": null,
        "officeLocation": null,
        "preferredLanguage": null,
        "surname": surname,
        "userPrincipalName": user.upn,
        "id": user.id.as_str(),
    });
    if let UserKind::Agent { parent } = &user.kind {
        out["@odata.type"] = "#microsoft.graph.agentUser".into();
        out["identityParentId"] = parent.as_str().into();
    }
    out
}
