//! Mail: folders, messages, drafts.

mod deliver;
mod delta;
mod folders;
mod moving;
mod shape;

use http::Method;
use legation_core::Wall;
use serde_json::{Map, Value, json};

use self::moving::{delete, relocate};
use self::shape::shown;
use super::error::Failure;
use super::{Call, Outcome, chats, odata};
use crate::random;
use crate::state::directory::ObjectId;
use crate::state::mail::{Mail, Mailbox};

pub(crate) use self::deliver::{Letter, deliver};

const READ: [&str; 3] = ["Mail.ReadBasic", "Mail.Read", "Mail.ReadWrite"];
const WRITE: [&str; 1] = ["Mail.ReadWrite"];
const SEND: [&str; 1] = ["Mail.Send"];
const AS_APP: [&str; 2] = ["Mail.Read", "Mail.ReadWrite"];

/// Everything of a mailbox under `/me` or `/users/{id}`.
pub(super) fn route(mut call: Call<'_>, name: &str, rest: &[&str]) -> Outcome {
    let method = call.ask.method.clone();
    let user = call.named_user(name)?;
    // Another's mailbox is shared with nobody here.
    if call.caller.user.as_ref().is_some_and(|own| *own != user.id) {
        return Err(Failure::new(
            403,
            "ErrorAccessDenied",
            "Access is denied. Check credentials and try again.",
        ));
    }
    if !user.licensed {
        return Err(Failure::new(
            404,
            "MailboxNotEnabledForRESTAPI",
            "The mailbox is either inactive, soft-deleted, or is hosted on-premise.",
        ));
    }
    let owner = user.id.clone();
    folders::ensure(call.tenant_mut()?, &owner);
    match (&method, rest) {
        (&Method::GET, ["mailFolders"]) => folders::list(&call, &owner, None),
        (&Method::POST, ["mailFolders"]) => folders::create(call, &owner, None),
        (&Method::GET, ["mailFolders", id]) => folders::read(&call, &owner, id),
        (&Method::DELETE, ["mailFolders", id]) => folders::delete(call, &owner, id),
        (&Method::GET, ["mailFolders", id, "childFolders"]) => {
            folders::list(&call, &owner, Some(id))
        }
        (&Method::POST, ["mailFolders", id, "childFolders"]) => {
            folders::create(call, &owner, Some(id))
        }
        (&Method::GET, ["mailFolders", id, "messages", "delta"]) => {
            delta::delta(&mut call, &owner, id)
        }
        (&Method::GET, ["mailFolders", id, "messages"]) => list(&call, &owner, Some(id)),
        (&Method::GET, ["messages"]) => list(&call, &owner, None),
        (&Method::POST, ["messages"]) => create(call, &owner, "drafts"),
        (&Method::POST, ["mailFolders", id, "messages"]) => create(call, &owner, id),
        (&Method::POST, ["sendMail"]) => deliver::send_mail(call, &user),
        (_, ["messages", id, rest @ ..] | ["mailFolders", _, "messages", id, rest @ ..]) => {
            one(call, &owner, id, rest)
        }
        _ => Err(chats::unknown(&call)),
    }
}

fn one(call: Call<'_>, owner: &ObjectId, id: &str, rest: &[&str]) -> Outcome {
    let method = call.ask.method.clone();
    match (&method, rest) {
        (&Method::GET, []) => read(&call, owner, id),
        (&Method::PATCH, []) => update(call, owner, id),
        (&Method::DELETE, []) => delete(call, owner, id),
        (&Method::POST, ["move"]) => relocate(call, owner, id, false),
        (&Method::POST, ["copy"]) => relocate(call, owner, id, true),
        (&Method::POST, ["send"]) => deliver::send_draft(call, owner, id),
        (&Method::POST, ["createReply"]) => deliver::create_reply(call, owner, id, false),
        (&Method::POST, ["createReplyAll"]) => deliver::create_reply(call, owner, id, true),
        (&Method::POST, ["reply"]) => deliver::reply(call, owner, id, false),
        (&Method::POST, ["replyAll"]) => deliver::reply(call, owner, id, true),
        (&Method::GET, ["attachments"]) => attachments(&call, owner, id),
        _ => Err(chats::unknown(&call)),
    }
}

// === impl Call ===

impl Call<'_> {
    pub(super) fn mailbox(&self, owner: &ObjectId) -> Result<&Mailbox, Failure> {
        self.tenant()?.mail.get(owner).ok_or_else(Failure::no_item)
    }

    pub(super) fn mailbox_mut(&mut self, owner: &ObjectId) -> Result<&mut Mailbox, Failure> {
        self.tenant_mut()?
            .mail
            .get_mut(owner)
            .ok_or_else(Failure::no_item)
    }

    /// A mail by either of its ids.
    fn mail(&self, owner: &ObjectId, id: &str) -> Result<&Mail, Failure> {
        self.mailbox(owner)?
            .mails
            .iter()
            .find(|mail| mail.is_named(id))
            .ok_or_else(Failure::no_item)
    }

    /// The body of an action. Outlook's actions take their parameters in either case, and the SDKs
    /// write them with a capital.
    fn arguments(&self) -> Value {
        let Some(Value::Object(members)) = self.ask.json() else {
            return json!({});
        };
        let small = |name: String| {
            let mut letters = name.chars();
            match letters.next() {
                Some(first) => first.to_lowercase().collect::<String>() + letters.as_str(),
                None => name,
            }
        };
        members
            .into_iter()
            .map(|(name, value)| (small(name), value))
            .collect()
    }

    /// Whether the client asked for ids that survive a move.
    fn immutable(&self) -> bool {
        self.prefers("IdType=\"ImmutableId\"")
    }

    pub(super) fn prefers(&self, wanted: &str) -> bool {
        self.ask
            .headers
            .get_all("prefer")
            .iter()
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split([',', ';']))
            .any(|part| part.trim().eq_ignore_ascii_case(wanted))
    }
}

// === impl Mail ===

impl Mail {
    pub(super) fn is_named(&self, id: &str) -> bool {
        self.id == id || self.immutable_id == id
    }

    fn received_ms(&self) -> i64 {
        self.shown["receivedDateTime"]
            .as_str()
            .and_then(Wall::parse)
            .map_or(0, |at| at.0)
    }
}

fn list(call: &Call<'_>, owner: &ObjectId, folder: Option<&str>) -> Outcome {
    call.permit("GET /me/messages", &READ, &AS_APP)?;
    call.options(&[
        "select",
        "top",
        "skip",
        "filter",
        "orderby",
        "count",
        "skiptoken",
        "search",
    ])?;
    let folder = folder
        .map(|name| folders::id_of(call, owner, name))
        .transpose()?;
    let mut mails: Vec<&Mail> = call
        .mailbox(owner)?
        .mails
        .iter()
        .filter(|mail| folder.as_ref().is_none_or(|id| mail.folder == *id))
        .collect();
    if let Some(filter) = call.option("filter") {
        let bad = || {
            Failure::new(
                400,
                "ErrorInvalidUrlQueryFilter",
                "The query filter is not supported.",
            )
        };
        let tests = odata::comparisons(filter).ok_or_else(bad)?;
        // What a list is ordered by must be what it is filtered by first.
        let order = call.option("orderby").map(|order| odata::order(order).0);
        if order.is_some_and(|order| tests.first().is_none_or(|first| first.0 != order)) {
            return Err(Failure::new(
                400,
                "InefficientFilter",
                "The restriction or sort order is too complex for this operation.",
            ));
        }
        for (property, operator, operand) in &tests {
            shape::filterable(property).ok_or_else(bad)?;
            mails.retain(|mail| shape::fits(mail, property, operator, operand));
        }
    }
    if let Some(search) = call.option("search") {
        if call.option("filter").is_some() || call.option("orderby").is_some() {
            return Err(Failure::new(
                400,
                "SearchWithFilter",
                "The query parameter '$search' cannot be combined with '$filter' or '$orderby'.",
            ));
        }
        let words = search.trim_matches('"').to_lowercase();
        mails.retain(|mail| shape::mentions(mail, &words));
    }
    let (property, down) = call
        .option("orderby")
        .map_or(("receivedDateTime", true), odata::order);
    if !["receivedDateTime", "subject", "sentDateTime"].contains(&property) {
        return Err(Failure::new(
            400,
            "ErrorInvalidProperty",
            format!("The property '{property}' cannot be used for ordering."),
        ));
    }
    mails.sort_by_key(|mail| mail.shown[property].as_str().unwrap_or_default().to_owned());
    if down {
        mails.reverse();
    }
    let immutable = call.immutable();
    let shown = mails
        .iter()
        .map(|mail| shown(call, mail, immutable))
        .collect();
    call.list("users('{id}')/messages", shown, call.top(10, 1000)?)
}

fn read(call: &Call<'_>, owner: &ObjectId, id: &str) -> Outcome {
    call.permit("GET /me/messages/{id}", &READ, &AS_APP)?;
    call.options(&["select", "expand"])?;
    let mail = call.mail(owner, id)?;
    let mut shown = shown(call, mail, call.immutable());
    match call.option("expand") {
        None => {}
        Some("attachments") => shown["attachments"] = shape::attachments(mail),
        Some(other) => {
            return Err(Failure::bad_request(format!(
                "Expand of '{other}' is not supported."
            )));
        }
    }
    Ok(call.entity(200, "users('{id}')/messages/$entity", shown))
}

/// A draft.
fn create(mut call: Call<'_>, owner: &ObjectId, folder: &str) -> Outcome {
    call.permit("POST /me/messages", &WRITE, &WRITE)?;
    let folder = folders::id_of(&call, owner, folder)?;
    let body = call.body()?;
    let mut made = shape::blank(&call, owner)?;
    shape::merge(&mut made, &body, true)?;
    let id = store(&mut call, owner, &folder, made, attached(&body))?;
    let shown = shown(&call, call.mail(owner, &id)?, call.immutable());
    Ok(call.entity(201, "users('{id}')/messages/$entity", shown))
}

fn attached(body: &Value) -> Vec<Value> {
    let list = body["attachments"].as_array().into_iter().flatten();
    list.map(|attachment| {
        let mut kept = attachment.clone();
        kept["id"] = random::opaque().into();
        kept
    })
    .collect()
}

/// Puts a mail into a folder; its id.
fn store(
    call: &mut Call<'_>,
    owner: &ObjectId,
    folder: &str,
    shown: Map<String, Value>,
    attachments: Vec<Value>,
) -> Result<String, Failure> {
    let sequence = call.world.next();
    let mail = Mail {
        id: format!("AAMk{}", random::opaque()),
        immutable_id: format!("AAkA{}", random::opaque()),
        folder: folder.to_owned(),
        sequence,
        entered: sequence,
        shown,
        attachments,
    };
    let id = mail.id.clone();
    call.mailbox_mut(owner)?.mails.push(mail);
    Ok(id)
}

fn update(mut call: Call<'_>, owner: &ObjectId, id: &str) -> Outcome {
    call.permit("PATCH /me/messages/{id}", &WRITE, &WRITE)?;
    let body = call.body()?;
    let draft = call.mail(owner, id)?.shown["isDraft"] == true;
    let sequence = call.world.next();
    let now = call.now_ms();
    let stored = call
        .mailbox_mut(owner)?
        .mails
        .iter_mut()
        .find(|mail| mail.is_named(id))
        .ok_or_else(Failure::no_item)?;
    shape::merge(&mut stored.shown, &body, draft)?;
    stored
        .shown
        .insert("lastModifiedDateTime".to_owned(), seconds(now).into());
    stored.sequence = sequence;
    let shown = shown(&call, call.mail(owner, id)?, call.immutable());
    Ok(call.entity(200, "users('{id}')/messages/$entity", shown))
}

/// `GET …/attachments`.
fn attachments(call: &Call<'_>, owner: &ObjectId, id: &str) -> Outcome {
    call.permit(
        "GET /me/messages/{id}/attachments",
        &["Mail.Read", "Mail.ReadWrite"],
        &AS_APP,
    )?;
    let shown = shape::attachments(call.mail(owner, id)?);
    let shown = shown.as_array().cloned().unwrap_or_default();
    call.list("users('{id}')/messages('{id}')/attachments", shown, 100)
}

/// A time as Outlook keeps it: to the second.
pub(super) fn seconds(ms: i64) -> String {
    format!("{}Z", &Wall(ms).to_string()[..19])
}
