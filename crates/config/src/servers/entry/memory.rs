//! `type: memory`.

use legation_core::ServerName;

use super::check::{Wrong, wrong};
use super::{Fields, NATIVE};
use crate::servers::Transport;

impl Fields<'_> {
    /// The server of the hub's own that the entry gives another name.
    pub(super) fn memory(&mut self) -> Result<Transport, Wrong> {
        let named = self.text("server")?.unwrap_or_default();
        let server = ServerName::parse(&named).ok();
        let server = server.filter(|_| NATIVE.contains(&&*named));
        let server = server.ok_or_else(|| {
            let message = match named.is_empty() {
                true => "server is missing or empty".to_owned(),
                false => format!("server {named:?} is none of the hub's own"),
            };
            wrong(message, format!("Use one of: {}.", NATIVE.join(", ")))
        })?;
        Ok(Transport::Memory { server })
    }
}
