//! Chats and their members.

use http::Method;
use serde_json::{Value, json};

use super::error::Failure;
use super::{Call, Outcome, messages, route};
use crate::random;
use crate::state::chat::{Chat, Member};
use crate::state::directory::User;
use crate::web::Answer;

const READ: [&str; 3] = ["Chat.ReadBasic", "Chat.Read", "Chat.ReadWrite"];

/// Everything under `/chats`.
pub(super) fn route(call: Call<'_>, rest: &[&str]) -> Outcome {
    let method = call.ask.method.clone();
    match (&method, rest) {
        (&Method::POST, []) => create(call),
        (&Method::GET, []) => list(&call, "me"),
        (&Method::GET, [id]) => read(&call, id),
        (&Method::PATCH, [id]) => rename(call, id),
        (&Method::GET, [id, "members"]) => members(&call, id),
        (&Method::GET, [id, "members", member]) => member_of(&call, id, member),
        (_, [id, "messages", rest @ ..]) => messages::route(call, id, rest),
        _ => Err(unknown(&call)),
    }
}

/// The same under `/users/{id}/chats`.
pub(super) fn of_user(call: Call<'_>, name: &str, rest: &[&str]) -> Outcome {
    let method = call.ask.method.clone();
    match (&method, rest) {
        (&Method::GET, ["chats"]) => list(&call, name),
        (_, ["chats", "getAllMessages", ..]) => {
            // Only for applications, and blocked for agents.
            call.permit(
                "GET /users/{id}/chats/getAllMessages",
                &[],
                &["Chat.Read.All"],
            )?;
            Err(unknown(&call))
        }
        (_, ["chats", rest @ ..]) => {
            let user = call.named_user(name)?;
            if call.caller.user.as_ref() != Some(&user.id) {
                return Err(Failure::new(
                    403,
                    "Forbidden",
                    "The user in the path is not the user of the token.",
                ));
            }
            route(call, rest)
        }
        _ => Err(unknown(&call)),
    }
}

pub(super) fn unknown(call: &Call<'_>) -> Failure {
    let parts: Vec<&str> = call.ask.parts[1..].iter().map(String::as_str).collect();
    route::unknown(call, &parts)
}

// === impl Call ===

impl Call<'_> {
    /// A chat that the caller is in.
    pub(super) fn own_chat(&self, id: &str) -> Result<&Chat, Failure> {
        let chat = self
            .tenant()?
            .chats
            .iter()
            .find(|chat| chat.id == id)
            .ok_or_else(|| no_chat(id))?;
        match &self.caller.user {
            Some(user) if chat.has(user) => Ok(chat),
            _ => Err(Failure::new(
                403,
                "Forbidden",
                "InsufficientPrivileges: the caller is not a member of the chat.",
            )),
        }
    }

    pub(super) fn chat_mut(&mut self, id: &str) -> Result<&mut Chat, Failure> {
        self.tenant_mut()?
            .chats
            .iter_mut()
            .find(|chat| chat.id == id)
            .ok_or_else(|| no_chat(id))
    }
}

fn no_chat(id: &str) -> Failure {
    Failure::new(
        404,
        "NotFound",
        format!("NotFound: no chat with the thread id '{id}' was found."),
    )
}

fn create(mut call: Call<'_>) -> Outcome {
    call.permit(
        "POST /chats",
        &["Chat.Create", "Chat.ReadWrite"],
        &["Teamwork.Migrate.All"],
    )?;
    let me = call.me()?;
    call.licensed(&me)?;
    let body = call.body()?;
    let kind = body["chatType"].as_str().unwrap_or_default().to_owned();
    if !["oneOnOne", "group"].contains(&kind.as_str()) {
        return Err(Failure::bad_request(format!("Invalid chat type '{kind}'.")));
    }
    let people = people(&call, &body)?;
    if !people.iter().any(|(user, _)| user.id == me.id) {
        return Err(Failure::bad_request(
            "The caller must be one of the members specified in the request body.",
        ));
    }
    let unique = people
        .iter()
        .enumerate()
        .all(|(at, (user, _))| people[..at].iter().all(|(other, _)| other.id != user.id));
    if !unique {
        return Err(Failure::bad_request(
            "Duplicate chat members are specified in the request body.",
        ));
    }
    let topic = body["topic"].as_str().map(str::to_owned);
    let id = if kind == "oneOnOne" {
        if people.len() != 2 {
            return Err(Failure::bad_request(
                "A one-on-one chat must have exactly two members.",
            ));
        }
        if topic.is_some() {
            return Err(Failure::bad_request(
                "A one-on-one chat cannot have a topic.",
            ));
        }
        let mut ids: Vec<&str> = people.iter().map(|(user, _)| user.id.as_str()).collect();
        ids.sort_unstable();
        format!("19:{}_{}@unq.gbl.spaces", ids[0], ids[1])
    } else {
        format!("19:{}@thread.v2", random::hex(&random::bytes::<16>()))
    };
    let now = call.now_ms();
    let tenant = call.tenant_mut()?;
    // One chat for a pair, however often it is created.
    if !tenant.chats.iter().any(|chat| chat.id == id) {
        tenant.chats.push(Chat {
            id: id.clone(),
            kind,
            topic,
            members: people
                .into_iter()
                .map(|(user, roles)| Member {
                    id: random::opaque(),
                    user: user.id,
                    roles,
                })
                .collect(),
            messages: Vec::new(),
            created_ms: now,
            updated_ms: now,
        });
    }
    let shown = shown(&call, call.own_chat(&id)?, false)?;
    Ok(call.entity(201, "chats/$entity", shown))
}

/// The members of a creation. A user is bound by a link, which names an id or a principal name.
fn people(call: &Call<'_>, body: &Value) -> Result<Vec<(User, Vec<String>)>, Failure> {
    let members = body["members"]
        .as_array()
        .ok_or_else(|| Failure::bad_request("Members must be specified in the request body."))?;
    members
        .iter()
        .map(|member| {
            if member["@odata.type"].as_str() != Some("#microsoft.graph.aadUserConversationMember")
            {
                return Err(Failure::bad_request(
                    "Invalid member type: '@odata.type' must be \
                     '#microsoft.graph.aadUserConversationMember'.",
                ));
            }
            let link = member["user@odata.bind"].as_str().unwrap_or_default();
            let name = bound(link).ok_or_else(|| {
                Failure::bad_request(format!("Invalid value for user@odata.bind: '{link}'."))
            })?;
            let user = call.named_user(&name)?;
            let roles: Vec<String> = member["roles"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|role| role.as_str().map(str::to_owned))
                .collect();
            if !roles.iter().all(|role| role == "owner" || role == "guest") || roles.is_empty() {
                return Err(Failure::bad_request(
                    "Invalid role specified for member: a member is 'owner' or 'guest'.",
                ));
            }
            Ok((user, roles))
        })
        .collect()
}

/// The last key of a link to an object; `/me` is none.
pub(super) fn bound(link: &str) -> Option<String> {
    let tail = link.rsplit('/').next()?;
    let key = match tail.split_once("('") {
        Some((_, key)) => key.strip_suffix("')")?,
        None if link.contains("/users/") || link.contains("/directoryObjects/") => tail,
        None => return None,
    };
    (!key.is_empty()).then(|| crate::web::decoded(key, false))
}

fn list(call: &Call<'_>, name: &str) -> Outcome {
    let user = call.named_user(name)?;
    call.permit("GET /chats", &READ, &["Chat.ReadBasic.All"])?;
    call.options(&["expand", "filter", "top", "skiptoken", "orderby"])?;
    let size = call.top(20, 50)?;
    let mut chats: Vec<&Chat> = call
        .tenant()?
        .chats
        .iter()
        .filter(|chat| chat.has(&user.id))
        .collect();
    if let Some(filter) = call.option("filter") {
        let kind = filter
            .strip_prefix("chatType eq '")
            .and_then(|rest| rest.strip_suffix('\''))
            .ok_or_else(|| {
                Failure::bad_request(format!("Filter expression '{filter}' is not supported."))
            })?;
        chats.retain(|chat| chat.kind == kind);
    }
    if let Some(order) = call.option("orderby")
        && !["lastMessagePreview/createdDateTime desc"].contains(&order)
    {
        return Err(Failure::bad_request(format!(
            "QueryOptions to order by '{order}' is not supported."
        )));
    }
    chats.sort_by_key(|chat| std::cmp::Reverse(chat.updated_ms));
    let expanded = expanded(call)?;
    let shown = chats
        .iter()
        .map(|chat| shown(call, chat, expanded))
        .collect::<Result<_, _>>()?;
    call.list("chats", shown, size)
}

fn expanded(call: &Call<'_>) -> Result<bool, Failure> {
    match call.option("expand") {
        None => Ok(false),
        Some("members") => Ok(true),
        // Shown whether or not members are; expanding both is one list.
        Some("lastMessagePreview") => Ok(false),
        Some(both)
            if both
                .split(',')
                .all(|one| ["members", "lastMessagePreview"].contains(&one.trim())) =>
        {
            Ok(true)
        }
        Some(other) => Err(Failure::bad_request(format!(
            "Expand of '{other}' is not supported."
        ))),
    }
}

fn read(call: &Call<'_>, id: &str) -> Outcome {
    call.permit("GET /chats/{id}", &READ, &["Chat.ReadBasic.All"])?;
    call.options(&["expand", "select"])?;
    let expanded = expanded(call)?;
    let shown = shown(call, call.own_chat(id)?, expanded)?;
    Ok(call.entity(200, "chats/$entity", shown))
}

fn rename(mut call: Call<'_>, id: &str) -> Outcome {
    call.permit("PATCH /chats/{id}", &["Chat.ReadWrite"], &[])?;
    let body = call.body()?;
    if call.own_chat(id)?.kind == "oneOnOne" {
        return Err(Failure::bad_request(
            "A one-on-one chat cannot have a topic.",
        ));
    }
    let topic = body["topic"].as_str().map(str::to_owned);
    call.chat_mut(id)?.topic = topic;
    let shown = shown(&call, call.own_chat(id)?, false)?;
    Ok(call.entity(200, "chats/$entity", shown))
}

fn members(call: &Call<'_>, id: &str) -> Outcome {
    call.permit(
        "GET /chats/{id}/members",
        &[
            "Chat.ReadBasic",
            "ChatMember.Read",
            "Chat.Read",
            "Chat.ReadWrite",
        ],
        &["ChatMember.Read.All"],
    )?;
    let shown = call
        .own_chat(id)?
        .members
        .iter()
        .map(|member| shown_member(call, member))
        .collect::<Result<_, _>>()?;
    call.list("chats('{id}')/members", shown, 200)
}

fn member_of(call: &Call<'_>, id: &str, wanted: &str) -> Outcome {
    call.permit(
        "GET /chats/{id}/members/{id}",
        &READ,
        &["ChatMember.Read.All"],
    )?;
    let member = call.own_chat(id)?.members.iter().find(|m| m.id == wanted);
    let member = member.ok_or_else(|| Failure::new(404, "NotFound", "No such member."))?;
    Ok(call.entity(
        200,
        "chats('{id}')/members/$entity",
        shown_member(call, member)?,
    ))
}

fn shown(call: &Call<'_>, chat: &Chat, members: bool) -> Result<Value, Failure> {
    let time = |ms| legation_core::Wall(ms).to_string();
    let tenant = &call.tenant()?.id;
    let mut out = json!({
        "id": chat.id,
        "topic": chat.topic,
        "createdDateTime": time(chat.created_ms),
        "lastUpdatedDateTime": time(chat.updated_ms),
        "chatType": chat.kind,
        "webUrl": format!(
            "https://teams.microsoft.com/l/chat/{}/0?tenantId={tenant}",
            crate::web::encoded(&chat.id)
        ),
        "tenantId": tenant,
        "onlineMeetingInfo": null,
        "viewpoint": {"isHidden": false, "lastMessageReadDateTime": "0001-01-01T00:00:00Z"},
    });
    let preview = call
        .option("expand")
        .is_some_and(|expand| expand.contains("lastMessagePreview"));
    if let Some(last) = chat.messages.last().filter(|_| preview) {
        out["lastMessagePreview"] = messages::preview(call, last)?;
    }
    if members {
        out["members"] = chat
            .members
            .iter()
            .map(|member| shown_member(call, member))
            .collect::<Result<Vec<_>, _>>()?
            .into();
    }
    Ok(out)
}

fn shown_member(call: &Call<'_>, member: &Member) -> Result<Value, Failure> {
    let tenant = call.tenant()?;
    let user = tenant.user(member.user.as_str());
    Ok(json!({
        "@odata.type": "#microsoft.graph.aadUserConversationMember",
        "id": member.id,
        "roles": member.roles,
        "displayName": user.map(|user| user.name.as_str()),
        "visibleHistoryStartDateTime": "0001-01-01T00:00:00Z",
        "userId": member.user.as_str(),
        "email": user.map(|user| user.upn.as_str()),
        "tenantId": tenant.id,
    }))
}

/// A creation answered without a body.
pub(super) fn no_content() -> Answer {
    Answer::empty(204)
}
