//! The human of a running tenant, for programs: what a person would click and
//! type, over the same pages and commands.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use http::Request;
use serde_json::{Value, json};

use crate::ctl;
use crate::web::{Pairs, encoded};

/// A person of the first tenant.
#[derive(Debug, Clone)]
pub struct Human {
    dir: PathBuf,
    name: Option<String>,
}

// === impl Human ===

impl Human {
    /// The first person of the tenant that runs with this directory.
    #[must_use]
    pub fn at(dir: &Path) -> Self {
        Self {
            dir: dir.to_owned(),
            name: None,
        }
    }

    /// Somebody else of it, by id, name or sign-in name.
    #[must_use]
    pub fn named(dir: &Path, name: &str) -> Self {
        Self {
            dir: dir.to_owned(),
            name: Some(name.to_owned()),
        }
    }

    /// Opens the page that a device code leads to, and agrees to what stands
    /// there as this person.
    ///
    /// # Errors
    /// When the page is not there, or does not offer that.
    pub async fn approve_on_page(&self, user_code: &str) -> Result<()> {
        let path = format!("/device?otc={}", encoded(user_code));
        let shown = Request::get(path);
        let (status, page) = ctl::ask(&self.dir, shown, String::new()).await?;
        let page = String::from_utf8_lossy(&page).into_owned();
        if status != 200 || !page.contains("value=\"approve\"") {
            bail!("the page does not ask for approval (status {status})");
        }
        let form = Pairs(vec![
            ("user_code".to_owned(), field(&page, "user_code")?),
            ("account".to_owned(), self.option(&page)?),
            ("decision".to_owned(), "approve".to_owned()),
        ]);
        let pairs = form
            .0
            .iter()
            .map(|(name, value)| format!("{name}={}", encoded(value)));
        let body = pairs.collect::<Vec<_>>().join("&");
        let sent =
            Request::post("/device").header("content-type", "application/x-www-form-urlencoded");
        let (status, answer) = ctl::ask(&self.dir, sent, body).await?;
        if status != 200 || !String::from_utf8_lossy(&answer).contains("You have signed in") {
            bail!("the page did not sign anybody in (status {status})");
        }
        Ok(())
    }

    /// Writes in a chat.
    ///
    /// # Errors
    /// When the tenant refuses.
    pub async fn say(&self, chat: &str, text: &str) -> Result<()> {
        let body = json!({"chat_id": chat, "text": text});
        self.order("say", body).await.map(drop)
    }

    /// Gives any command of the control API as this person.
    ///
    /// # Errors
    /// When the tenant refuses.
    pub async fn order(&self, command: &str, mut body: Value) -> Result<Value> {
        if let (Some(name), Some(body)) = (&self.name, body.as_object_mut()) {
            body.entry("user").or_insert_with(|| name.as_str().into());
        }
        ctl::send(&self.dir, command, &body).await
    }

    /// The value of the option that names this person; else the first.
    fn option(&self, page: &str) -> Result<String> {
        let mut options = page.split("<option value=\"").skip(1);
        let own = options.find(|option| {
            let name = self.name.as_deref();
            name.is_none_or(|name| {
                option
                    .split("</option>")
                    .next()
                    .is_some_and(|text| text.contains(name))
            })
        });
        let option = own.context("the page does not know this person")?;
        let value = option.split('"').next().unwrap_or_default();
        Ok(value.to_owned())
    }
}

/// The value of a hidden field.
fn field(page: &str, name: &str) -> Result<String> {
    let start = format!("name=\"{name}\" value=\"");
    let rest = page.split_once(&start).map(|(_, rest)| rest);
    let value = rest.and_then(|rest| rest.split_once('"'));
    value
        .map(|(value, _)| value.to_owned())
        .with_context(|| format!("the page has no field {name}"))
}
