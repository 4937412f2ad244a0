//! Mail folders.

use serde_json::{Value, json};

use super::{READ, WRITE};
use crate::graph::error::Failure;
use crate::graph::{Call, Outcome};
use crate::random;
use crate::state::Tenant;
use crate::state::directory::ObjectId;
use crate::state::mail::{Folder, Mailbox};
use crate::web::Answer;

const WELL_KNOWN: [(&str, &str); 7] = [
    ("inbox", "Inbox"),
    ("drafts", "Drafts"),
    ("sentitems", "Sent Items"),
    ("deleteditems", "Deleted Items"),
    ("archive", "Archive"),
    ("junkemail", "Junk Email"),
    ("outbox", "Outbox"),
];
/// The root that folders without a parent hang on.
const ROOT: &str = "msgfolderroot";

/// Gives somebody a mailbox with the folders that everybody has.
pub(super) fn ensure(tenant: &mut Tenant, owner: &ObjectId) {
    let mailbox = tenant.mail.entry(owner.clone()).or_default();
    if mailbox.folders.is_empty() {
        mailbox.folders = WELL_KNOWN
            .iter()
            .map(|(well_known, name)| Folder {
                id: format!("AQMk{}", random::opaque()),
                name: (*name).to_owned(),
                well_known: (*well_known).to_owned(),
                parent: None,
                hidden: false,
            })
            .collect();
    }
}

/// A folder's id by its id or its well-known name.
pub(super) fn id_of(call: &Call<'_>, owner: &ObjectId, name: &str) -> Result<String, Failure> {
    call.mailbox(owner)?
        .folders
        .iter()
        .find(|folder| {
            folder.id == name || (!name.is_empty() && folder.well_known.eq_ignore_ascii_case(name))
        })
        .map(|folder| folder.id.clone())
        .ok_or_else(|| {
            Failure::new(
                404,
                "ErrorItemNotFound",
                "The specified folder could not be found in the store.",
            )
        })
}

pub(super) fn list(call: &Call<'_>, owner: &ObjectId, parent: Option<&str>) -> Outcome {
    call.permit("GET /me/mailFolders", &READ, &super::AS_APP)?;
    call.options(&["select", "top", "skip", "filter", "skiptoken", "count"])?;
    let parent = match parent {
        None | Some(ROOT) => None,
        Some(name) => Some(id_of(call, owner, name)?),
    };
    let mailbox = call.mailbox(owner)?;
    let mut shown: Vec<Value> = mailbox
        .folders
        .iter()
        .filter(|folder| folder.parent == parent && !folder.hidden)
        .map(|folder| shown_folder(mailbox, folder))
        .collect();
    if let Some(filter) = call.option("filter") {
        let name = filter
            .strip_prefix("displayName eq '")
            .and_then(|rest| rest.strip_suffix('\''))
            .ok_or_else(|| {
                Failure::new(
                    400,
                    "ErrorInvalidUrlQueryFilter",
                    "The query filter is not supported.",
                )
            })?;
        shown.retain(|folder| folder["displayName"] == name);
    }
    call.list("users('{id}')/mailFolders", shown, call.top(10, 1000)?)
}

pub(super) fn read(call: &Call<'_>, owner: &ObjectId, name: &str) -> Outcome {
    call.permit("GET /me/mailFolders/{id}", &READ, &super::AS_APP)?;
    call.options(&["select"])?;
    let id = id_of(call, owner, name)?;
    let mailbox = call.mailbox(owner)?;
    let folder = mailbox.folders.iter().find(|folder| folder.id == id);
    let shown = shown_folder(mailbox, folder.ok_or_else(Failure::no_item)?);
    Ok(call.entity(200, "users('{id}')/mailFolders/$entity", shown))
}

pub(super) fn create(mut call: Call<'_>, owner: &ObjectId, parent: Option<&str>) -> Outcome {
    call.permit("POST /me/mailFolders", &WRITE, &WRITE)?;
    let body = call.body()?;
    let name = body["displayName"].as_str().unwrap_or_default().to_owned();
    if name.is_empty() {
        return Err(Failure::new(
            400,
            "ErrorInvalidArgument",
            "The displayName of a folder cannot be empty.",
        ));
    }
    let parent = match parent {
        None | Some(ROOT) => None,
        Some(wanted) => Some(id_of(&call, owner, wanted)?),
    };
    let mailbox = call.mailbox_mut(owner)?;
    let taken = |folder: &Folder| folder.parent == parent && folder.name == name;
    if mailbox.folders.iter().any(taken) {
        return Err(Failure::new(
            409,
            "ErrorFolderExists",
            "A folder with the specified name already exists.",
        ));
    }
    let folder = Folder {
        id: format!("AQMk{}", random::opaque()),
        name,
        well_known: String::new(),
        parent,
        hidden: body["isHidden"].as_bool().unwrap_or(false),
    };
    let shown = shown_folder(mailbox, &folder);
    mailbox.folders.push(folder);
    Ok(call.entity(201, "users('{id}')/mailFolders/$entity", shown))
}

pub(super) fn delete(mut call: Call<'_>, owner: &ObjectId, name: &str) -> Outcome {
    call.permit("DELETE /me/mailFolders/{id}", &WRITE, &WRITE)?;
    let id = id_of(&call, owner, name)?;
    let mailbox = call.mailbox_mut(owner)?;
    let well_known = mailbox
        .folders
        .iter()
        .any(|folder| folder.id == id && !folder.well_known.is_empty());
    if well_known {
        return Err(Failure::new(
            403,
            "ErrorDeleteDistinguishedFolder",
            "Distinguished folders cannot be deleted.",
        ));
    }
    mailbox.folders.retain(|folder| folder.id != id);
    mailbox.mails.retain(|mail| mail.folder != id);
    Ok(Answer::empty(204))
}

fn shown_folder(mailbox: &Mailbox, folder: &Folder) -> Value {
    let inside = || mailbox.mails.iter().filter(|mail| mail.folder == folder.id);
    let children = mailbox
        .folders
        .iter()
        .filter(|other| other.parent.as_ref() == Some(&folder.id))
        .count();
    json!({
        "id": folder.id,
        "displayName": folder.name,
        "parentFolderId": folder.parent.as_deref().unwrap_or(ROOT),
        "childFolderCount": children,
        "unreadItemCount": inside().filter(|mail| mail.shown["isRead"] == false).count(),
        "totalItemCount": inside().count(),
        "isHidden": folder.hidden,
    })
}
