//! Whose inbox a command uses: the running hub's, or the files under the inbox's
//! own lock.

use std::sync::Arc;

use legation_api::AdminClient;
use legation_api::inbox::{
    Export, ExportAnswer, List, ListAnswer, Message, Post, PostAnswer, Prune, PruneAnswer, Pull,
    PullAnswer, Show,
};
use legation_core::SharedClock;
use legation_inbox::{Inbox, Options, Ungoverned};
use legation_keystore::Keystore;

use super::answers;
use crate::commands::hub;
use crate::{CliError, Context};

pub(super) enum Source {
    Hub(Box<AdminClient>),
    Files {
        inbox: Box<Inbox>,
        clock: SharedClock,
    },
}

// === impl Source ===

impl Source {
    pub(super) fn open(context: &Context) -> Result<Self, CliError> {
        if let Some(client) = hub(context)? {
            return Ok(Self::Hub(Box::new(client)));
        }
        context.home.create()?;
        let keystore = Keystore::open(&context.home.keys())
            .map_err(|error| CliError::failed(&error).with_hint(error.hint()))?;
        let inbox = Inbox::open(Options {
            folder: context.home.inbox(),
            keystore: Arc::new(keystore),
            clock: context.clock.clone(),
            governor: Arc::new(Ungoverned),
        });
        let inbox = inbox.map_err(|error| CliError::failed(&error).with_hint(error.hint()))?;
        for problem in inbox.problems() {
            context.output.say(&format!("note: {problem}"));
        }
        Ok(Self::Files {
            inbox: Box::new(inbox),
            clock: context.clock.clone(),
        })
    }

    pub(super) fn post(&mut self, post: Post) -> Result<PostAnswer, CliError> {
        match self {
            Self::Hub(client) => Ok(client.call(&post)?),
            Self::Files { inbox, clock } => answers::post(inbox, post, clock.wall()),
        }
    }

    pub(super) fn list(&mut self, list: &List) -> Result<ListAnswer, CliError> {
        match self {
            Self::Hub(client) => Ok(client.call(list)?),
            Self::Files { inbox, .. } => answers::list(inbox, list),
        }
    }

    pub(super) fn show(&mut self, show: &Show) -> Result<Message, CliError> {
        match self {
            Self::Hub(client) => Ok(client.call(show)?),
            Self::Files { inbox, .. } => {
                answers::show(inbox, show).map_err(|error| answers::of_read(&error))
            }
        }
    }

    pub(super) fn pull(&mut self, pull: &Pull) -> Result<PullAnswer, CliError> {
        match self {
            Self::Hub(client) => Ok(client.call(pull)?),
            Self::Files { inbox, .. } => answers::pull(inbox, pull.clone()),
        }
    }

    pub(super) fn export(&mut self, export: &Export) -> Result<ExportAnswer, CliError> {
        match self {
            Self::Hub(client) => Ok(client.call(export)?),
            Self::Files { inbox, .. } => answers::export(inbox, export),
        }
    }

    pub(super) fn prune(&mut self, prune: Prune) -> Result<PruneAnswer, CliError> {
        match self {
            Self::Hub(client) => Ok(client.call(&prune)?),
            Self::Files { inbox, .. } => answers::prune(inbox, prune),
        }
    }
}
