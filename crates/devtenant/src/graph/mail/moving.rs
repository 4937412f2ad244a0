//! Mail that changes its folder, or leaves.

use super::shape::shown;
use super::{WRITE, folders};
use crate::graph::error::Failure;
use crate::graph::{Call, Outcome};
use crate::random;
use crate::state::directory::ObjectId;
use crate::state::mail::{Mail, Removed};
use crate::web::Answer;

pub(super) fn delete(mut call: Call<'_>, owner: &ObjectId, id: &str) -> Outcome {
    call.permit("DELETE /me/messages/{id}", &WRITE, &WRITE)?;
    call.mail(owner, id)?;
    let bin = folders::id_of(&call, owner, "deleteditems")?;
    let sequence = call.world.next();
    let mailbox = call.mailbox_mut(owner)?;
    let at = mailbox.mails.iter().position(|mail| mail.is_named(id));
    let Some(mail) = at.map(|at| mailbox.mails.remove(at)) else {
        return Err(Failure::no_item());
    };
    let reason = if mail.folder == bin {
        "deleted"
    } else {
        "changed"
    };
    mailbox.removed.push(gone(&mail, sequence, reason));
    if mail.folder != bin {
        mailbox.mails.push(Mail {
            id: format!("AAMk{}", random::opaque()),
            folder: bin,
            sequence,
            entered: sequence,
            ..mail
        });
    }
    Ok(Answer::empty(204))
}

pub(super) fn gone(mail: &Mail, sequence: u64, reason: &str) -> Removed {
    Removed {
        id: mail.id.clone(),
        immutable_id: mail.immutable_id.clone(),
        folder: mail.folder.clone(),
        sequence,
        reason: reason.to_owned(),
    }
}

/// `move` and `copy`: what arrives has a new id.
pub(super) fn relocate(mut call: Call<'_>, owner: &ObjectId, id: &str, copy: bool) -> Outcome {
    let operation = if copy {
        "POST /me/messages/{id}/copy"
    } else {
        "POST /me/messages/{id}/move"
    };
    call.permit(operation, &WRITE, &WRITE)?;
    let body = call.arguments();
    let wanted = body["destinationId"].as_str().unwrap_or_default();
    let folder = folders::id_of(&call, owner, wanted)?;
    let sequence = call.world.next();
    let from = call.mail(owner, id)?.clone();
    let moved = Mail {
        id: format!("AAMk{}", random::opaque()),
        immutable_id: if copy {
            format!("AAkA{}", random::opaque())
        } else {
            from.immutable_id.clone()
        },
        folder,
        sequence,
        entered: sequence,
        ..from.clone()
    };
    let new_id = moved.id.clone();
    let mailbox = call.mailbox_mut(owner)?;
    if !copy {
        mailbox.mails.retain(|mail| mail.id != from.id);
        mailbox.removed.push(gone(&from, sequence, "deleted"));
    }
    mailbox.mails.push(moved);
    let shown = shown(&call, call.mail(owner, &new_id)?, call.immutable());
    Ok(call.entity(201, "users('{id}')/messages/$entity", shown))
}
