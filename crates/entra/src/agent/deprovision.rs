//! Removing what was made, last first.

use legation_core::OpContext;

use super::{Part, ProvisionError, Provisioner};
use crate::base::segment;

/// What was removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Removed {
    /// Every part that was there.
    pub parts: Vec<Part>,
}

// === impl Provisioner ===

impl Provisioner {
    /// Removes the agent's user and the agent; with `blueprint` the blueprint
    /// too, whose other agents the tenant then removes as well.
    ///
    /// # Errors
    /// See [`ProvisionError`].
    pub async fn deprovision(
        &self,
        ctx: &OpContext,
        blueprint: bool,
    ) -> Result<Removed, ProvisionError> {
        let there = self.there(ctx).await?;
        let mut removed = Removed::default();
        let mut paths = Vec::new();
        if let Some(user) = &there.user {
            paths.push((Part::AgentUser, format!("/users/{}", segment(user))));
        }
        if let Some(agent) = &there.agent {
            let path = format!("/servicePrincipals/{}", segment(agent));
            paths.push((Part::AgentIdentity, path));
        }
        if blueprint {
            if let Some(principal) = &there.principal {
                let path = format!("/servicePrincipals/{}", segment(principal));
                paths.push((Part::BlueprintPrincipal, path));
            }
            if let Some(app) = &there.blueprint {
                let path = format!("/applications/{}", segment(&app.id));
                paths.push((Part::Blueprint, path));
            }
        }
        for (part, path) in paths {
            let was_there = self.admin.delete(ctx, &path).await;
            if was_there.map_err(|source| ProvisionError::Remove { part, source })? {
                removed.parts.push(part);
            }
        }
        Ok(removed)
    }
}
