//! The chats that were connected, one for an account.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use legation_core::OpContext;
use legation_entra::chat::{Chat, ChatError, Chats};
use legation_entra::{Account, Class};
use tokio::sync::Notify;

use crate::accounts::{self, Failure};

/// One account's chat with its human.
#[derive(Debug, Default)]
pub(super) struct Talk {
    chat: Mutex<Option<Chat>>,
    /// Held while something is looked up and then sent: two callers with one
    /// key must not both find nothing.
    pub(super) turn: tokio::sync::Mutex<()>,
    /// Held while a question is looked for and then asked: two callers with one
    /// question must not both find none. Taken before `turn`.
    pub(super) asking: tokio::sync::Mutex<()>,
    /// Told when an agent says something in the chat.
    used: Notify,
}

/// By account. There are as many as the settings have.
#[derive(Debug, Default)]
pub(super) struct Talks(Mutex<HashMap<Box<str>, Arc<Talk>>>);

/// A chat to talk in.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) chats: Chats,
    pub(super) chat: Chat,
    pub(super) talk: Arc<Talk>,
}

// === impl Talks ===

impl Talks {
    /// The chat with the account's human. Graph is asked where that is not
    /// known, or whoever acts has changed since.
    pub(super) async fn line(
        &self,
        context: &OpContext,
        account: &Account,
        anew: bool,
    ) -> Result<Line, Failure> {
        accounts::ready(context, account).await?;
        let talk = self.of(account.name());
        let chats = account.chats();
        let me = chats.me(context).await;
        let me = me.map_err(|error| Failure::from(&error))?;
        let known = talk.known().filter(|chat| !anew && chat.me == me);
        let chat = match known {
            Some(chat) => chat,
            None => {
                let connected = chats.connect(context).await;
                let chat = connected.map_err(|error| Failure::from(&error))?;
                talk.set(Some(chat.clone()));
                chat
            }
        };
        Ok(Line { chats, chat, talk })
    }

    /// Returns when an agent says something in the chat of the account, with
    /// the chat's id.
    pub(super) async fn talking(&self, account: &str) -> Option<String> {
        let talk = self.of(account);
        talk.used.notified().await;
        talk.known().map(|chat| chat.id)
    }

    fn of(&self, account: &str) -> Arc<Talk> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(all.entry(account.into()).or_default())
    }
}

// === impl Talk ===

impl Talk {
    /// An agent is about to say something.
    pub(super) fn is_used(&self) {
        self.used.notify_one();
    }

    fn known(&self) -> Option<Chat> {
        self.lock().clone()
    }

    fn set(&self, chat: Option<Chat>) {
        *self.lock() = chat;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Chat>> {
        self.chat.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Line ===

impl Line {
    /// An error of this chat's in words. A chat that is gone is connected anew
    /// the next time.
    pub(super) fn failure(&self, error: &ChatError) -> Failure {
        if error.class() == Class::ChatNotFound {
            self.talk.set(None);
        }
        Failure::from(error)
    }
}
