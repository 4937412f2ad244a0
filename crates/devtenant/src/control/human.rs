//! What the human does: writes, sends, meets, and looks.

use legation_core::Wall;
use serde_json::{Value, json};

use super::{Command, Done};
use crate::graph::{calendar, mail, messages};
use crate::state::directory::ObjectId;

// === impl Command ===

impl Command<'_> {
    fn now_ms(&self) -> Result<i64, String> {
        Ok(self.tenant()?.now(self.shared.now()).0)
    }

    pub(super) fn say(self) -> Done {
        let user = ObjectId::new(self.user_id("user")?);
        let (chat, text) = (
            self.text("chat_id")?.to_owned(),
            self.text("text")?.to_owned(),
        );
        // Somebody who is no member writes where Teams lets them, as an application
        // or a guest of a meeting can.
        let is_stranger = self.body["stranger"].as_bool().unwrap_or(false);
        let chats = &self.tenant()?.chats;
        let is_member = chats.iter().any(|one| one.id == chat && one.has(&user));
        if !is_member && !is_stranger {
            return Err(format!("{user} is not in the chat {chat}"));
        }
        let now = self.now_ms()?;
        let id = messages::say(self.world, &self.tenant, &chat, &user, &text, now)?;
        Ok(json!({"id": id}))
    }

    pub(super) fn edit(self) -> Done {
        let (chat, id) = (
            self.text("chat_id")?.to_owned(),
            self.text("message_id")?.to_owned(),
        );
        let text = self.text("text")?.to_owned();
        let now = self.now_ms()?;
        messages::change(self.world, &self.tenant, &chat, &id, &text, now)?;
        Ok(Value::Null)
    }

    pub(super) fn chats(self) -> Done {
        serde_json::to_value(&self.tenant()?.chats).map_err(|error| error.to_string())
    }

    pub(super) fn mail(self) -> Done {
        let to = ObjectId::new(self.user_id("to")?);
        let letter = mail::Letter {
            from: match self.body["from"].as_str() {
                Some(from) => from.to_owned(),
                None => self.tenant()?.handed_out.human.to_string(),
            },
            subject: self.text("subject")?.to_owned(),
            body: self.text("body")?.to_owned(),
            html: self.body["html"].as_bool().unwrap_or(false),
            message_id: self.body["message_id"].as_str().map(str::to_owned),
            headers: {
                let headers = self.body["headers"].as_object().into_iter().flatten();
                let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                headers
                    .map(|(name, value)| (name.clone(), text(value)))
                    .collect()
            },
            attachments: {
                let names = self.body["attachments"].as_array().into_iter().flatten();
                names.filter_map(Value::as_str).map(str::to_owned).collect()
            },
            invites: self.body["invites"].as_bool().unwrap_or(false),
        };
        let now = self.now_ms()?;
        let id = mail::deliver(self.world, &self.tenant, &to, &letter, now)
            .ok_or("the user has no mailbox")?;
        Ok(json!({"id": id}))
    }

    pub(super) fn mailbox(self) -> Done {
        let user = self.user_id("user")?;
        let mailbox = self.tenant()?.mail.get(user.as_str());
        serde_json::to_value(mailbox).map_err(|error| error.to_string())
    }

    pub(super) fn calendar(self) -> Done {
        let user = self.user_id("user")?;
        let calendar = self.tenant()?.calendars.get(user.as_str());
        serde_json::to_value(calendar).map_err(|error| error.to_string())
    }

    pub(super) fn presence(self) -> Done {
        let user = self.user_id("user")?;
        let presence = self.tenant()?.presence.get(user.as_str());
        serde_json::to_value(presence).map_err(|error| error.to_string())
    }

    pub(super) fn meeting(self) -> Done {
        let user = ObjectId::new(self.user_id("user")?);
        let time = |name: &str| {
            Wall::parse(self.text(name)?)
                .map(|at| at.0)
                .ok_or_else(|| format!("`{name}` is not a time"))
        };
        let word = |name: &str| self.body[name].as_str().unwrap_or_default().to_owned();
        let attendees = self.body["attendees"].as_array().into_iter().flatten();
        let meeting = calendar::Meeting {
            subject: self.text("subject")?.to_owned(),
            text: word("body"),
            times: (time("start")?, time("end")?),
            all_day: self.body["all_day"].as_bool().unwrap_or(false),
            place: word("place"),
            attendees: attendees
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect(),
            organizer: self.body["organizer"].as_str().map(str::to_owned),
            recurrence: self.body["recurrence"].clone(),
            zone: word("zone"),
            more: self.body["more"].clone(),
        };
        calendar::check(&meeting.recurrence)?;
        let now = self.now_ms()?;
        let copies = self.body["copies"].as_u64().unwrap_or(1).min(20_000);
        let mut ids = Vec::new();
        for _ in 0..copies {
            let id = calendar::set(self.world, &self.tenant, &user, &meeting, now);
            ids.push(id.ok_or("the user is gone")?);
        }
        Ok(json!({"id": ids.first(), "copies": ids.len()}))
    }
}
