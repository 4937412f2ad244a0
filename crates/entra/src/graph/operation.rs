//! What a request is called in errors, and with which others it waits.

use http::Method;

use crate::http::Url;

/// Method and path. What may name a person is left out.
pub(super) fn name(method: &Method, url: &Url) -> Box<str> {
    format!("{method} {}", masked(url.path())).into()
}

/// A path without query, ids with `@` and ids of users.
pub(super) fn masked(path: &str) -> String {
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let mut shown = String::with_capacity(path.len());
    let mut before = "";
    for (index, segment) in path.split('/').enumerate() {
        if index > 0 {
            shown.push('/');
        }
        let names = segment.contains('@')
            || segment.contains("%40")
            || segment.len() > 60
            || (before == "users" && !segment.starts_with("microsoft.graph"));
        shown.push_str(if names { "{id}" } else { segment });
        before = segment;
    }
    shown
}

/// Whose mailbox it is about, if it is about one.
pub(super) fn mailbox(url: &Url) -> Option<Box<str>> {
    let (owner, what) = owner(url)?;
    let is_mailbox = [
        "messages",
        "mailFolders",
        "sendMail",
        "events",
        "calendar",
        "calendars",
        "calendarView",
        "mailboxSettings",
    ]
    .iter()
    .any(|known| what.split('(').next() == Some(*known));
    is_mailbox.then(|| owner.into())
}

pub(super) fn is_mail(url: &Url) -> bool {
    mailbox(url).is_some()
}

/// Services of Graph throttle apart from each other.
pub(super) fn bucket(url: &Url) -> Box<str> {
    if let Some(mailbox) = mailbox(url) {
        return format!("mail {mailbox}").into();
    }
    let path = url.path();
    let has = |word: &str| path.split('/').any(|segment| segment == word);
    let bucket = if has("chats") {
        "chats"
    } else if has("presence") {
        "presence"
    } else if has("auditLogs") {
        "sign-in logs"
    } else {
        "directory"
    };
    bucket.into()
}

/// `me` or the user's id, and the segment after it.
fn owner(url: &Url) -> Option<(&str, &str)> {
    let mut segments = url.path().split('/');
    loop {
        match segments.next()? {
            "me" => return Some(("me", segments.next()?)),
            "users" => return Some((segments.next()?, segments.next()?)),
            _ => {}
        }
    }
}
