//! Moving letters from one folder to another.

use http::Method;
use legation_core::OpContext;
use serde_json::json;

use super::wire::WireFolder;
use super::{Folder, FoundFolder, MailError};
use crate::account::Account;
use crate::base::segment;
use crate::error::GraphError;
use crate::graph::{Graph, GraphCall};
use crate::http::Repeat;

/// What changing a mailbox takes. It is asked for apart, when something is to
/// be changed; sending takes another one, which nothing here asks for.
pub const FILING_SCOPES: [&str; 1] = ["Mail.ReadWrite"];

/// A mailbox whose letters are filed.
#[derive(Clone, Debug)]
pub struct Filing {
    graph: Graph,
}

/// A letter that lies where it was wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// Its id there.
    pub id: String,
    /// The id of the folder it came from; moving it there undoes it.
    pub from: String,
    /// The id of the folder it lies in.
    pub to: String,
    /// What people call that one.
    pub to_name: String,
    /// Whether it had been there before.
    pub was_there: bool,
}

/// How often it is tried to move a letter while nobody knows where it is.
const TRIES: usize = 3;

// === impl Account ===

impl Account {
    /// The mailbox of whoever acts, to file letters in.
    #[must_use]
    pub fn filing(&self) -> Filing {
        Filing {
            graph: writing(self),
        }
    }
}

/// Graph with the scope that changing a mailbox takes.
pub(super) fn writing(account: &Account) -> Graph {
    let resource = account.graph_resource();
    let scopes = FILING_SCOPES.map(|scope| format!("{resource}/{scope}"));
    account.graph_with_scope(&scopes.join(" "))
}

// === impl Filing ===

impl Filing {
    /// Makes sure that a folder is there, with those that lead to it where it is
    /// named by a path.
    ///
    /// # Errors
    /// See [`MailError`].
    pub async fn folder(&self, ctx: &OpContext, folder: &Folder) -> Result<FoundFolder, MailError> {
        folder.find_or_make(ctx, &self.graph).await
    }

    /// Moves a letter into a folder. One that lies there already stays as it
    /// is, however often it is moved.
    ///
    /// # Errors
    /// See [`MailError`].
    pub async fn move_to(
        &self,
        ctx: &OpContext,
        id: &str,
        to: &Folder,
    ) -> Result<Moved, MailError> {
        let target = to.find(ctx, &self.graph).await?;
        let from = self.lies_in(ctx, id).await?;
        let mut moved = Moved {
            id: id.to_owned(),
            was_there: from == target.id,
            from,
            to: target.id,
            to_name: target.name,
        };
        if moved.was_there {
            return Ok(moved);
        }
        let path = format!("/me/messages/{}/move", segment(id));
        let mut call = GraphCall::new(Method::POST, &path);
        call.body = Some(json!({ "destinationId": moved.to }));
        call.repeat = Repeat::Refused;
        let mut tries = 0;
        loop {
            tries += 1;
            let error = match self.graph.call(ctx, &call).await {
                Ok(answer) => {
                    let letter: WireFolder = answer.json().map_err(uncertain)?;
                    moved.id = letter.id.unwrap_or(moved.id);
                    return Ok(moved);
                }
                Err(error) if !error.is_ambiguous() => return Err(MailError::at_letter(error)),
                Err(error) => error,
            };
            // Its id stays when it moves, so that one look says what became of it.
            match self.lies_in(ctx, id).await {
                Ok(now) if now == moved.to => return Ok(moved),
                Ok(_) if tries < TRIES => {}
                Ok(_) => return Err(MailError::Graph { source: error }),
                Err(_) => return Err(uncertain(error)),
            }
        }
    }

    async fn lies_in(&self, ctx: &OpContext, id: &str) -> Result<String, MailError> {
        let path = format!("/me/messages/{}?$select=parentFolderId", segment(id));
        let read = self.graph.get::<WireFolder>(ctx, &path).await;
        let letter = read.map_err(MailError::at_letter)?;
        letter.parent_folder_id.ok_or(MailError::NoLetter)
    }
}

fn uncertain(source: GraphError) -> MailError {
    MailError::Uncertain {
        what: "moving the letter",
        source,
    }
}
