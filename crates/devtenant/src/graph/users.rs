//! People and agents' users.

use http::Method;
use serde_json::{Value, json};

use super::error::Failure;
use super::{Call, Outcome, agent_user, calendar, chats, mail, odata, presence, route};
use crate::state::directory::{User, UserKind};
use crate::web::Answer;

const READ_SELF: [&str; 4] = [
    "User.Read",
    "User.ReadBasic.All",
    "User.ReadWrite",
    "User.Read.All",
];
const READ_OTHERS: [&str; 3] = ["User.ReadBasic.All", "User.Read.All", "Directory.Read.All"];
/// The one licence of a tenant: Teams and mail.
const SKU: &str = "6fd2c87f-b296-42f0-b197-1e91e994b900";
const READ_AS_APP: [&str; 2] = ["User.Read.All", "Directory.Read.All"];

/// Everything under `/me` and `/users`.
pub(super) fn route(call: Call<'_>, parts: &[&str]) -> Outcome {
    let method = call.ask.method.clone();
    // What follows the user's name is the same under both.
    let (name, rest) = match parts {
        ["me", rest @ ..] => ("me", rest),
        ["users", name, rest @ ..]
            if !matches!(*name, "microsoft.graph.agentUser" | "delta" | "$count") =>
        {
            (*name, rest)
        }
        _ => return collection(call, parts),
    };
    match (&method, rest) {
        (&Method::GET, []) => read(&call, name),
        (&Method::PATCH, []) => agent_user::update(call, name),
        (&Method::DELETE, []) if name != "me" => agent_user::delete(call, name),
        (&Method::POST, ["revokeSignInSessions"]) => revoke(call, name),
        (&Method::POST, ["assignLicense"]) => assign_licence(call, name),
        (&Method::GET, ["licenseDetails"]) => licences(&call, name),
        (&Method::GET, ["sponsors"]) => agent_user::sponsors(&call, name),
        (_, ["presence", ..]) => presence::route(call, name, &rest[1..]),
        (_, ["chats", ..]) => chats::of_user(call, name, rest),
        (_, ["messages" | "mailFolders" | "sendMail", ..]) => mail::route(call, name, rest),
        (_, ["calendar" | "calendars" | "calendarView" | "events", ..]) => {
            calendar::route(call, name, rest)
        }
        _ => Err(route::unknown(&call, parts)),
    }
}

fn collection(call: Call<'_>, parts: &[&str]) -> Outcome {
    let method = call.ask.method.clone();
    match (&method, parts) {
        (&Method::GET, ["users"]) => list(&call),
        (&Method::GET, ["users", "microsoft.graph.agentUser"]) => list(&call),
        (&Method::POST, ["users" | "users", ..]) if parts.len() <= 2 => {
            agent_user::create(call, parts)
        }
        _ => Err(route::unknown(&call, parts)),
    }
}

fn read(call: &Call<'_>, name: &str) -> Outcome {
    call.options(&["select", "expand"])?;
    let user = call.named_user(name)?;
    let own = call.caller.user.as_ref() == Some(&user.id);
    if own {
        call.permit("GET /me", &READ_SELF, &READ_AS_APP)?;
    } else {
        call.permit("GET /users/{id}", &READ_OTHERS, &READ_AS_APP)?;
    }
    Ok(call.entity(200, "users/$entity", shown(call, &user)))
}

/// `/oidc/userinfo`: what OpenID Connect knows of the token's person.
pub(super) fn info(call: &Call<'_>) -> Outcome {
    let user = call.me()?;
    let (given, family) = user.name.split_once(' ').unwrap_or((&user.name, ""));
    let shown = json!({
        "sub": user.id.as_str(),
        "name": user.name,
        "given_name": given,
        "family_name": family,
        "email": user.upn,
    });
    Ok(Answer::json(200, &shown))
}

fn list(call: &Call<'_>) -> Outcome {
    call.permit("GET /users", &READ_OTHERS, &READ_AS_APP)?;
    call.options(&["select", "top", "filter", "skiptoken", "count", "orderby"])?;
    let now = call.now_ms();
    let mut users: Vec<&User> = call
        .tenant()?
        .users
        .iter()
        .filter(|user| user.seen_from_ms <= now)
        .collect();
    if call.ask.path.ends_with("agentUser") {
        users.retain(|user| !user.is_human());
    }
    if let Some(filter) = call.option("filter") {
        let Some(tests) = odata::comparisons(filter) else {
            return Err(Failure::new(
                400,
                "Request_UnsupportedQuery",
                format!("Unsupported or invalid query filter clause: '{filter}'."),
            ));
        };
        for (property, operator, operand) in &tests {
            if !["eq", "startswith"].contains(&operator.as_str()) {
                return Err(Failure::new(
                    400,
                    "Request_UnsupportedQuery",
                    format!("Unsupported Query for property '{property}'."),
                ));
            }
            users.retain(|user| {
                let value = match property.as_str() {
                    "userPrincipalName" | "mail" => &user.upn,
                    "displayName" => &user.name,
                    "mailNickname" => &user.nickname,
                    "id" => user.id.as_str(),
                    _ => "",
                };
                let (value, operand) = (value.to_lowercase(), operand.to_lowercase());
                if operator == "eq" {
                    value == operand
                } else {
                    value.starts_with(&operand)
                }
            });
        }
    }
    if let Some(orderby) = call.option("orderby") {
        match odata::order(orderby) {
            ("displayName", desc) => {
                users.sort_by(|a, b| a.name.cmp(&b.name));
                if desc {
                    users.reverse();
                }
            }
            (property, _) => {
                return Err(Failure::new(
                    400,
                    "Request_UnsupportedQuery",
                    format!("Sorting not supported for property '{property}'."),
                ));
            }
        }
    }
    let size = call.top(100, 999)?;
    let shown = users.iter().map(|user| shown(call, user)).collect();
    call.list("users", shown, size)
}

/// Ends every session: refresh tokens are void, access tokens are challenged.
fn revoke(mut call: Call<'_>, name: &str) -> Outcome {
    let user = call.named_user(name)?;
    call.permit(
        "POST /me/revokeSignInSessions",
        &["User.RevokeSessions.All", "User.ReadWrite.All"],
        &["User.RevokeSessions.All", "User.ReadWrite.All"],
    )?;
    let tenant = call.tenant_mut()?;
    let revocation = tenant.count_revocation();
    if let Some(user) = tenant.user_mut(user.id.as_str()) {
        user.tokens_from = revocation;
        user.sessions_from = revocation;
    }
    let mut body = json!({"value": true});
    call.annotate(&mut body, "Edm.Boolean");
    Ok(Answer::json(200, &body))
}

/// The one licence there is, given or taken.
fn assign_licence(mut call: Call<'_>, name: &str) -> Outcome {
    let fitting = ["LicenseAssignment.ReadWrite.All", "User.ReadWrite.All"];
    call.permit("POST /users/{id}/assignLicense", &fitting, &fitting)?;
    let user = call.named_user(name)?;
    let body = call.body()?;
    let lists = ["addLicenses", "removeLicenses"].map(|member| body[member].as_array().cloned());
    let [Some(add), Some(remove)] = lists else {
        return Err(Failure::new(
            400,
            "Request_BadRequest",
            "addLicenses and removeLicenses must both be specified, if only as empty lists.",
        ));
    };
    let strange = add.iter().any(|one| one["skuId"] != SKU) || remove.iter().any(|one| *one != SKU);
    if strange {
        return Err(Failure::new(
            400,
            "Request_BadRequest",
            "License assignment cannot be done for a subscription that the company does not have.",
        ));
    }
    if let Some(user) = call.tenant_mut()?.user_mut(user.id.as_str()) {
        user.licensed = (user.licensed && remove.is_empty()) || !add.is_empty();
    }
    let user = call.named_user(user.id.as_str())?;
    let shown = shown(&call, &user);
    Ok(call.entity(200, "users/$entity", shown))
}

/// `GET /subscribedSkus`: what can be assigned.
pub(super) fn skus(call: &Call<'_>) -> Outcome {
    let fitting = [
        "LicenseAssignment.Read.All",
        "LicenseAssignment.ReadWrite.All",
        "Organization.Read.All",
        "Directory.Read.All",
    ];
    call.permit("GET /subscribedSkus", &fitting, &fitting)?;
    let tenant = call.tenant()?;
    let used = tenant.users.iter().filter(|user| user.licensed).count();
    let shown = json!({
        "accountId": tenant.id,
        "accountName": tenant.name,
        "appliesTo": "User",
        "capabilityStatus": "Enabled",
        "consumedUnits": used,
        "id": format!("{}_{SKU}", tenant.id),
        "skuId": SKU,
        "skuPartNumber": "ENTERPRISEPACK",
        "subscriptionIds": [],
        "prepaidUnits": {"enabled": 100, "suspended": 0, "warning": 0, "lockedOut": 0},
        "servicePlans": [],
    });
    call.list("subscribedSkus", vec![shown], 100)
}

fn licences(call: &Call<'_>, name: &str) -> Outcome {
    let user = call.named_user(name)?;
    call.permit(
        "GET /me/licenseDetails",
        &["User.Read", "User.Read.All", "Directory.Read.All"],
        &["User.Read.All", "Directory.Read.All"],
    )?;
    let licences = if user.licensed {
        vec![json!({
            "id": "mUfNtXYyd0yLqWmqXcxLqA",
            "skuId": SKU,
            "skuPartNumber": "ENTERPRISEPACK",
            "servicePlans": [
                {
                    "servicePlanId": "57ff2da0-773e-42df-b2af-ffb7a2317929",
                    "servicePlanName": "TEAMS1",
                    "provisioningStatus": "Success",
                    "appliesTo": "User",
                },
                {
                    "servicePlanId": "efb87545-963c-4e0d-99df-69c6916d9eb0",
                    "servicePlanName": "EXCHANGE_S_ENTERPRISE",
                    "provisioningStatus": "Success",
                    "appliesTo": "User",
                },
            ],
        })]
    } else {
        Vec::new()
    };
    call.list("users/licenseDetails", licences, 100)
}

/// The members that Graph shows when none are selected, and those that can be.
pub(super) fn shown(call: &Call<'_>, user: &User) -> Value {
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
    if call.option("select").is_some() {
        out["accountEnabled"] = user.enabled.into();
        out["mailNickname"] = user.nickname.as_str().into();
        out["userType"] = match user.kind {
            UserKind::Guest => "Guest",
            UserKind::Member | UserKind::Agent { .. } => "Member",
        }
        .into();
        out["createdDateTime"] = legation_core::Wall(user.created_ms).to_string().into();
    }
    if let UserKind::Agent { parent } = &user.kind {
        out["@odata.type"] = "#microsoft.graph.agentUser".into();
        out["identityParentId"] = parent.as_str().into();
    }
    out
}
