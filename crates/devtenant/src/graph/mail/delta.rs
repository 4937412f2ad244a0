//! Changes of a folder since the last time.
//!
//! A link holds where the client is and everything it asked for at first; a client that comes with
//! a link gets what that says, whatever else it writes.

use legation_core::Wall;
use serde_json::{Value, json};

use super::shape::shown;
use super::{AS_APP, READ, folders};
use crate::graph::error::Failure;
use crate::graph::{Call, Outcome, delta, odata};
use crate::state::directory::ObjectId;
use crate::state::mail::Mail;
use crate::web::{Answer, base64_any, base64_url};

const PAGE: usize = 10;
const PAGE_MAX: usize = 200;
const FIRST_MAX: usize = 5000;

/// What a link holds.
#[derive(Debug, Clone)]
struct Position {
    /// Everything up to here was seen.
    since: u64,
    /// Where this round began; 0 for the first, which tells what is there and not what happened.
    begun: u64,
    /// This round ends here; more comes in the next.
    until: u64,
    /// When links of this kind were last voided.
    epoch: u64,
    /// `$select`, `changeType` and `$filter`.
    select: String,
    change: String,
    filter: String,
}

// === impl Position ===

impl Position {
    fn token(&self) -> String {
        let json = json!([
            self.since,
            self.begun,
            self.until,
            self.epoch,
            self.select,
            self.change,
            self.filter
        ]);
        base64_url(json.to_string().as_bytes())
    }

    fn parse(token: &str) -> Option<Self> {
        let json: Value = serde_json::from_slice(&base64_any(token)?).ok()?;
        let text = |at: usize| json[at].as_str().map(str::to_owned);
        Some(Self {
            since: json[0].as_u64()?,
            begun: json[1].as_u64()?,
            until: json[2].as_u64()?,
            epoch: json[3].as_u64()?,
            select: text(4)?,
            change: text(5)?,
            filter: text(6)?,
        })
    }
}

/// `/mailFolders/{id}/messages/delta`.
pub(super) fn delta(call: &mut Call<'_>, owner: &ObjectId, folder: &str) -> Outcome {
    call.permit("GET /me/mailFolders/{id}/messages/delta", &READ, &AS_APP)?;
    call.options(&[
        "select",
        "filter",
        "orderby",
        "top",
        "skiptoken",
        "deltatoken",
        "expand",
    ])?;
    let folder = folders::id_of(call, owner, folder)?;
    delta::hold(call)?;
    let call = &*call;
    let epoch = call.world.delta_epoch;
    let position = position(call, epoch)?;
    let size = delta::page_size(call, PAGE, PAGE_MAX);
    let after = filtered(&position.filter)?;
    let mut changes = changes(call, owner, &folder, &position, after)?;
    changes.sort_by_key(|(sequence, _)| *sequence);
    changes.truncate(FIRST_MAX);
    let more = changes.len() > size;
    changes.truncate(size);
    let end = position.until.max(1);
    let next = match changes.last().filter(|_| more) {
        Some((sequence, _)) => Position {
            since: *sequence,
            ..position
        },
        None => Position {
            since: end,
            begun: end,
            ..position
        },
    };
    let drop = [
        "select",
        "filter",
        "orderby",
        "changetype",
        "top",
        "skiptoken",
        "deltatoken",
    ];
    let mut body = json!({});
    call.annotate(&mut body, "Collection(message)");
    if more {
        let link = odata::link(call.ask, &[("$skiptoken", &next.token())], &drop);
        body["@odata.nextLink"] = link.into();
    } else {
        let link = odata::link(call.ask, &[("$deltatoken", &next.token())], &drop);
        body["@odata.deltaLink"] = link.into();
    }
    body["value"] = changes.into_iter().map(|(_, value)| value).collect();
    Ok(Answer::json(200, &body))
}

/// What changed in a folder within a round, with the place of each in the order of changes.
fn changes(
    call: &Call<'_>,
    owner: &ObjectId,
    folder: &str,
    position: &Position,
    after: Option<(i64, bool)>,
) -> Result<Vec<(u64, Value)>, Failure> {
    let first = position.begun == 0;
    let immutable = call.immutable();
    let mailbox = call.mailbox(owner)?;
    let in_round = |sequence: u64| sequence > position.since && sequence <= position.until;
    let mut changes: Vec<(u64, Value)> = mailbox
        .mails
        .iter()
        .filter(|mail| mail.folder == folder && in_round(mail.sequence))
        .filter(|mail| after.is_none_or(|(at, equal)| passes(mail, at, equal)))
        .filter(|mail| fits(mail, position, first))
        .map(|mail| {
            (
                mail.sequence,
                selected(shown(call, mail, immutable), &position.select),
            )
        })
        .collect();
    if !first && (position.change.is_empty() || position.change == "deleted") {
        // What left after it came within the same round was never seen, and its end is news to
        // nobody; Graph tells it anyway.
        changes.extend(
            mailbox
                .removed
                .iter()
                .filter(|gone| gone.folder == folder && in_round(gone.sequence))
                .map(|gone| {
                    let id = if immutable {
                        &gone.immutable_id
                    } else {
                        &gone.id
                    };
                    let shown = json!({
                        "@removed": {"reason": gone.reason},
                        "id": id,
                    });
                    (gone.sequence, shown)
                }),
        );
    }
    Ok(changes)
}

/// Where the client is: from its link, or at the beginning.
fn position(call: &Call<'_>, epoch: u64) -> Result<Position, Failure> {
    let Some((token, round_ended)) = delta::link(call) else {
        if let Some(order) = call.option("orderby")
            && odata::order(order) != ("receivedDateTime", true)
        {
            return Err(Failure::new(
                400,
                "ErrorInvalidUrlQuery",
                "Only 'receivedDateTime desc' is supported for ordering changes.",
            ));
        }
        let text = |name: &str| call.option(name).unwrap_or_default().to_owned();
        let change = text("changetype");
        if !["", "created", "updated", "deleted"].contains(&change.as_str()) {
            return Err(Failure::new(
                400,
                "ErrorInvalidUrlQuery",
                format!("Invalid changeType '{change}'."),
            ));
        }
        return Ok(Position {
            since: 0,
            begun: 0,
            until: call.world.sequence,
            epoch,
            select: text("select"),
            change,
            filter: text("filter"),
        });
    };
    let mut position = Position::parse(token).ok_or_else(delta::malformed)?;
    if position.epoch != epoch {
        return Err(delta::too_old(call));
    }
    if round_ended {
        position.until = call.world.sequence;
    }
    Ok(position)
}

/// The one filter there is: received from or after a time.
fn filtered(filter: &str) -> Result<Option<(i64, bool)>, Failure> {
    if filter.is_empty() {
        return Ok(None);
    }
    let bad = || {
        Failure::new(
            400,
            "ErrorInvalidUrlQueryFilter",
            "Only 'receivedDateTime ge' and 'receivedDateTime gt' are supported for changes.",
        )
    };
    let tests = odata::comparisons(filter).ok_or_else(bad)?;
    match tests.as_slice() {
        [(property, operator, operand)]
            if property == "receivedDateTime" && ["ge", "gt"].contains(&operator.as_str()) =>
        {
            let at = Wall::parse(operand).ok_or_else(bad)?;
            Ok(Some((at.0, operator == "ge")))
        }
        _ => Err(bad()),
    }
}

fn passes(mail: &Mail, at: i64, equal: bool) -> bool {
    let received = mail.received_ms();
    received > at || (equal && received == at)
}

/// Whether the kind of change is wanted.
fn fits(mail: &Mail, position: &Position, first: bool) -> bool {
    let new = first || mail.entered > position.begun;
    match position.change.as_str() {
        "created" => new,
        "updated" => !new || first,
        "deleted" => false,
        _ => true,
    }
}

fn selected(mut value: Value, select: &str) -> Value {
    if select.is_empty()
        && let Some(members) = value.as_object_mut()
    {
        members.remove("internetMessageHeaders");
    }
    if let Some(members) = value.as_object_mut().filter(|_| !select.is_empty()) {
        members.retain(|name, _| {
            name.starts_with('@')
                || name == "id"
                || select
                    .split(',')
                    .any(|wanted| wanted.trim().eq_ignore_ascii_case(name))
        });
    }
    value
}
