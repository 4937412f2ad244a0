//! What clients need to know, as lines of `NAME=value`.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::Result;
use legation_core::home::write_private;

use crate::state::{Tenant, World};

/// Everything beside the tenant itself.
#[derive(Debug)]
pub(crate) struct Given<'a> {
    pub(crate) origin: &'a str,
    pub(crate) proxy: SocketAddr,
    pub(crate) authority_file: &'a Path,
    pub(crate) cert: &'a Path,
    pub(crate) key: &'a Path,
    pub(crate) control: &'a [String],
    pub(crate) dir: &'a Path,
}

/// Writes one file a tenant: the first under the name given, every other with its name behind.
pub(crate) fn write(file: &Path, world: &World, given: &Given<'_>) -> Result<()> {
    for (index, tenant) in world.tenants.iter().enumerate() {
        let path = if index == 0 {
            file.to_owned()
        } else {
            let mut name = file.as_os_str().to_owned();
            name.push(format!(".{}", tenant.name));
            PathBuf::from(name)
        };
        write_private(&path, text(tenant, given).as_bytes())?;
    }
    Ok(())
}

fn text(tenant: &Tenant, given: &Given<'_>) -> String {
    let out = &tenant.handed_out;
    let upn = tenant
        .user(out.agent_user.as_str())
        .map_or("", |user| user.upn.as_str());
    let command: Vec<String> = given
        .control
        .iter()
        .map(String::as_str)
        .chain(["ctl", "--dir"])
        .map(str::to_owned)
        .chain([given.dir.display().to_string()])
        .chain(["--tenant".to_owned(), tenant.name.clone()])
        .map(|word| quoted(&word))
        .collect();
    let command = command.join(" ");
    let path = |path: &Path| path.display().to_string();
    let lines = [
        ("AUTHORITY_HOST", given.origin.to_owned()),
        ("TENANT_ID", tenant.id.clone()),
        ("AUTHORITY", format!("{}/{}", given.origin, tenant.id)),
        ("GRAPH_BASE", given.origin.to_owned()),
        ("CLIENT_ID", out.client.to_string()),
        ("API_CLIENT_ID", out.api.to_string()),
        ("API_CLIENT_SECRET", out.api_secret.clone()),
        ("BLUEPRINT_ID", out.blueprint.to_string()),
        ("BLUEPRINT_SECRET", out.blueprint_secret.clone()),
        ("BLUEPRINT_CERT_PEM", path(given.cert)),
        ("BLUEPRINT_KEY_PEM", path(given.key)),
        ("AGENT_ID", out.agent.to_string()),
        ("AGENT_USER_ID", out.agent_user.to_string()),
        ("AGENT_USER_UPN", upn.to_owned()),
        ("HUMAN_ID", out.human.to_string()),
        ("CA_BUNDLE", path(given.authority_file)),
        ("HTTPS_PROXY", format!("http://{}", given.proxy)),
        (
            "APPROVE_CMD",
            format!("{command} decide {{user_code}} {{decision}}"),
        ),
        ("REVOKE_CMD", format!("{command} revoke")),
        ("SAY_CMD", format!("{command} say {{chat_id}} {{text}}")),
    ];
    lines
        .iter()
        .map(|(name, value)| format!("{name}={value}\n"))
        .collect()
}

/// A word for a POSIX shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn words_survive_a_shell() {
        for (word, shell) in [
            ("/usr/bin/x", "/usr/bin/x"),
            ("a b", "'a b'"),
            ("it's", "'it'\\''s'"),
            ("", "''"),
        ] {
            assert_eq!(quoted(word), shell);
        }
    }
}
