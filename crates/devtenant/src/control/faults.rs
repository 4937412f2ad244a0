//! Ordering what goes wrong.

use serde_json::{Value, json};

use super::{Command, Done};
use crate::state::directory::ObjectId;
use crate::state::fault::{Fault, FaultKind};

// === impl Command ===

impl Command<'_> {
    pub(super) fn fault(self) -> Done {
        let kind: FaultKind =
            serde_json::from_value(self.body.clone()).map_err(|error| error.to_string())?;
        let left = match &self.body["left"] {
            Value::Null => Some(1),
            // Nothing but a number says how often; `true` is until withdrawn.
            Value::Bool(true) => None,
            value => Some(
                value
                    .as_u64()
                    .and_then(|count| u32::try_from(count).ok())
                    .ok_or("`left` is a count, or true for until it is withdrawn")?,
            ),
        };
        let id = self.world.next();
        self.world.faults.push(Fault {
            id,
            kind,
            matching: self.body["matching"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
            left,
            not_before_ms: 0,
            told_ms: 0,
        });
        Ok(json!({"id": id}))
    }

    pub(super) fn clear(self) -> Done {
        match self.body["id"].as_u64() {
            Some(id) => self.world.faults.retain(|fault| fault.id != id),
            None => self.world.faults.clear(),
        }
        Ok(Value::Null)
    }

    /// Voids tokens. Only access tokens by default: a client that answers the challenge goes on.
    pub(super) fn revoke(mut self) -> Done {
        let sessions = self.body["sessions"].as_bool().unwrap_or(false);
        if self.body["user"].is_null() && !sessions {
            let tenant = self.tenant_mut()?;
            tenant.tokens_from = tenant.count_revocation();
            return Ok(Value::Null);
        }
        let user = self.user_id("user")?;
        let tenant = self.tenant_mut()?;
        let revocation = tenant.count_revocation();
        let user = tenant.user_mut(&user).ok_or("the user is gone")?;
        user.tokens_from = revocation;
        if sessions {
            user.sessions_from = revocation;
        }
        Ok(Value::Null)
    }

    pub(super) fn time(mut self, name: &str) -> Done {
        let seconds = self.body["seconds"]
            .as_i64()
            .ok_or("`seconds` is missing")?;
        let tenant = self.tenant_mut()?;
        match name {
            "skew" => tenant.skew_ms = seconds * 1000,
            "propagation" => tenant.propagation_ms = seconds * 1000,
            _ => tenant.lifetime_s = seconds,
        }
        Ok(Value::Null)
    }

    pub(super) fn switch(mut self, name: &str) -> Done {
        let on = self.body["on"].as_bool().ok_or("`on` is missing")?;
        let user = self.user_id("user")?;
        let user = self
            .tenant_mut()?
            .user_mut(&user)
            .ok_or("the user is gone")?;
        match name {
            "license" => user.licensed = on,
            "mfa" => user.mfa_needed = on,
            _ => user.enabled = on,
        }
        Ok(Value::Null)
    }

    /// Takes back consent for a client, at every resource; everything when no scope is named.
    pub(super) fn unconsent(mut self) -> Done {
        let wanted: Vec<String> = self.body["scopes"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|scope| scope.as_str().map(str::to_owned))
            .collect();
        let name = self.text("client")?.to_owned();
        let tenant = self.tenant_mut()?;
        let client: ObjectId = tenant
            .principal_of(&name)
            .map(|principal| principal.id.clone())
            .ok_or_else(|| format!("there is no client {name}"))?;
        for grant in tenant.grants.iter_mut().filter(|g| g.client == client) {
            grant.scope = grant
                .scope
                .split(' ')
                .filter(|scope| !wanted.is_empty() && !wanted.iter().any(|gone| gone == scope))
                .collect::<Vec<_>>()
                .join(" ");
        }
        tenant.grants.retain(|grant| !grant.scope.is_empty());
        Ok(Value::Null)
    }

    pub(super) fn feature(mut self, name: &str) -> Done {
        let on = self.body["on"].as_bool().ok_or("`on` is missing")?;
        let tenant = self.tenant_mut()?;
        if name == "agents" {
            tenant.has_agents = on;
        } else {
            tenant.premium = on;
        }
        Ok(Value::Null)
    }

    pub(super) fn application(mut self) -> Done {
        let on = self.body["on"].as_bool().ok_or("`on` is missing")?;
        let name = self.text("client")?.to_owned();
        let tenant = self.tenant_mut()?;
        let mut found = false;
        for app in tenant.apps.iter_mut().filter(|app| app.app_id.is(&name)) {
            app.enabled = on;
            found = true;
        }
        for own in tenant
            .principals
            .iter_mut()
            .filter(|own| own.app_id.is(&name))
        {
            own.enabled = on;
            found = true;
        }
        found
            .then_some(Value::Null)
            .ok_or_else(|| format!("there is no client {name}"))
    }

    pub(super) fn expire_secrets(mut self) -> Done {
        let name = self.text("client")?.to_owned();
        let now = self.shared.now().0;
        let app = self
            .tenant_mut()?
            .app_mut(&name)
            .ok_or_else(|| format!("there is no application {name}"))?;
        for secret in &mut app.secrets {
            secret.end_ms = now;
        }
        Ok(Value::Null)
    }
}
