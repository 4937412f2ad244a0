//! What is asked of the gate by whoever tells clients of events.

use legation_core::Principal;

use super::*;

impl Gate {
    /// Whether a credential is still good.
    #[must_use]
    pub fn knows(&self, principal: &Principal) -> bool {
        self.clients.load().check(principal).is_ok()
    }

    /// Lets a request in that only looks at what happened, as lists are.
    ///
    /// # Errors
    /// A [`Refusal`] when the credential is not good, or asks too often.
    pub fn admit(&self, context: &OpContext) -> Result<(), Refusal> {
        let principal = &context.caller.principal;
        self.clients.load().check(principal)?;
        self.asking.rates.poll(&principal.client)?;
        Ok(())
    }

    /// An object of a server's own as everybody may have it.
    #[must_use]
    pub fn cleaned(&self, server: &ServerName, item: &str, object: Object) -> Object {
        self.cleaning.load().object(server, item, object)
    }

    /// Whether a caller might ever call a tool of a server, as that names it.
    #[must_use]
    pub fn offers(&self, caller: &Caller, server: &str, tool: &str) -> bool {
        let listing = self
            .servers
            .listing(caller, &Endpoint::All, ListKind::Tools);
        let Ok(listing) = listing else { return false };
        let mut entries = listing.entries.iter();
        let found = entries.find(|entry| entry.server.as_str() == server && *entry.item == *tool);
        let rules = self.rules.load();
        found.is_some_and(|entry| {
            stage::decide::may_ever(
                &rules,
                &caller.principal,
                legation_policy::Verb::CallTool,
                entry,
            )
        })
    }
}
