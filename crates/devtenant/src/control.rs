//! The control API: acting as the human, ordering faults, reading reports.
//!
//! It has a path and a token of its own, so that no client of Entra or Graph comes upon it.

mod faults;
mod human;

use http::Method;
use serde_json::{Value, json};

use crate::entra;
use crate::server::Shared;
use crate::state::seed::{self, People};
use crate::state::{Tenant, World};
use crate::web::{Answer, Ask};

/// One command.
pub(crate) struct Command<'a> {
    pub(crate) shared: &'a Shared,
    pub(crate) world: &'a mut World,
    /// The tenant's id.
    pub(crate) tenant: String,
    pub(crate) body: Value,
}

/// What a command answers; the error is for whoever gave it.
pub(crate) type Done = Result<Value, String>;

/// Answers a request under `/control`.
pub(crate) fn answer(shared: &Shared, world: &mut World, ask: &Ask) -> Answer {
    let shown = ask.bearer().unwrap_or_default();
    let wanted = shared.control_token.reveal();
    // Both are random of one length; a difference in time tells nothing of use.
    if shown != wanted {
        return Answer::json(
            401,
            &json!({"error": "the control token is missing or wrong"}),
        );
    }
    let route = ask.route();
    let (&Method::POST, ["control", name]) = (&ask.method, route.as_slice()) else {
        return Answer::json(404, &json!({"error": "there is no such command"}));
    };
    let body = ask.json().unwrap_or_default();
    let wanted = body["tenant"].as_str().unwrap_or("first");
    let Some(tenant) = world.tenant(wanted).map(|tenant| tenant.id.clone()) else {
        return Answer::json(
            404,
            &json!({"error": format!("there is no tenant {wanted}")}),
        );
    };
    let command = Command {
        shared,
        world,
        tenant,
        body,
    };
    match command.run(name) {
        Ok(value) => Answer::json(200, &value),
        Err(why) => Answer::json(400, &json!({"error": why})),
    }
}

// === impl Command ===

impl Command<'_> {
    pub(crate) fn run(self, name: &str) -> Done {
        match name {
            "decide" => self.decide(),
            "revoke" => self.revoke(),
            "fault" => self.fault(),
            "faults" => serde_json::to_value(&self.world.faults).map_err(|e| e.to_string()),
            "clear" => self.clear(),
            "skew" | "propagation" | "lifetime" => self.time(name),
            "license" | "account" | "mfa" => self.switch(name),
            "agents" | "premium" => self.feature(name),
            "application" => self.application(),
            "unconsent" => self.unconsent(),
            "say" => self.say(),
            "edit" => self.edit(),
            "chats" => self.chats(),
            "mail" => self.mail(),
            "mailbox" => self.mailbox(),
            "calendar" => self.calendar(),
            "presence" => self.presence(),
            "meeting" => self.meeting(),
            "seed" => self.seed(),
            "expire-delta" => {
                self.world.delta_epoch += 1;
                Ok(Value::Null)
            }
            "expire-secrets" => self.expire_secrets(),
            "report" => Ok(match self.text("what")? {
                "permissions" => self.shared.report().permissions_json(),
                "early" => self.shared.report().early_json(),
                _ => self.shared.report().unknown_json(),
            }),
            "add-tenant" => self.add_tenant(),
            "tenants" => Ok(tenants(self.world)),
            _ => Err(format!("there is no command {name}")),
        }
    }

    pub(crate) fn text(&self, name: &str) -> Result<&str, String> {
        self.body[name]
            .as_str()
            .ok_or_else(|| format!("`{name}` is missing"))
    }

    pub(crate) fn tenant(&self) -> Result<&Tenant, String> {
        self.world
            .tenant(&self.tenant)
            .ok_or_else(|| "the tenant is gone".to_owned())
    }

    pub(crate) fn tenant_mut(&mut self) -> Result<&mut Tenant, String> {
        self.world
            .tenant_mut(&self.tenant)
            .ok_or_else(|| "the tenant is gone".to_owned())
    }

    /// The user that a member of the body names, or the tenant's first person.
    pub(crate) fn user_id(&self, name: &str) -> Result<String, String> {
        let tenant = self.tenant()?;
        match self.body[name].as_str() {
            None => Ok(tenant.handed_out.human.to_string()),
            Some(wanted) => tenant
                .user(wanted)
                .map(|user| user.id.to_string())
                .ok_or_else(|| format!("there is no user {wanted}")),
        }
    }

    /// Another tenant like the first; its blueprint has the same certificate.
    fn add_tenant(self) -> Done {
        let (name, domain) = (self.text("name")?, self.text("domain")?);
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') {
            return Err("the name is of letters, digits and hyphens".to_owned());
        }
        if self
            .world
            .tenant(name)
            .or(self.world.tenant(domain))
            .is_some()
        {
            return Err(format!("there is a tenant {name} or {domain} already"));
        }
        let key = self.tenant()?.apps.iter().find_map(|app| app.keys.first());
        let certificate = key.ok_or("no blueprint has a certificate to take")?;
        let people = People {
            tenant: name,
            domain,
            human: self.text("human")?,
            others: ["Gale Sample", "Harper Sample"],
        };
        let made = seed::tenant(&people, self.shared.now().0, &certificate.certificate);
        let id = made.id.clone();
        self.world.tenants.push(made);
        Ok(json!({"id": id}))
    }

    /// Puts what people would have written and set into the tenants; each time anew.
    fn seed(self) -> Done {
        match self.text("what")? {
            "desk" => seed::desk::fill(self.world, self.shared.now(), self.body["mark"].as_str())
                .map_err(|error| format!("{error:#}")),
            other => Err(format!("there is no seed {other}; there is desk")),
        }
    }

    fn decide(self) -> Done {
        let user = self.user_id("user")?;
        let code = self.text("user_code")?.to_owned();
        let approve = self.body["approve"].as_bool().unwrap_or(false);
        let who = approve.then_some((self.tenant.as_str(), user.as_str()));
        entra::decide(self.world, self.shared.now(), &code, who)?;
        Ok(Value::Null)
    }
}

fn tenants(world: &World) -> Value {
    let shown = world.tenants.iter().map(|tenant| {
        let users = tenant
            .users
            .iter()
            .map(|user| json!({"id": user.id.as_str(), "userPrincipalName": user.upn}))
            .collect::<Vec<_>>();
        let apps = tenant
            .apps
            .iter()
            .map(|app| json!({"appId": app.app_id.as_str(), "displayName": app.name}))
            .collect::<Vec<_>>();
        json!({
            "id": tenant.id,
            "name": tenant.name,
            "domain": tenant.domain,
            "users": users,
            "apps": apps,
        })
    });
    shown.collect()
}
