//! The permissions that Graph knows, as far as this tenant serves what they are for.

/// Delegated permissions, and whether only an administrator can grant them.
const DELEGATED: &[(&str, bool)] = &[
    ("AgentIdUser.ReadWrite.All", true),
    ("AgentIdUser.ReadWrite.IdentityParentedBy", true),
    ("AgentIdentity.Create.All", true),
    ("AgentIdentity.Read.All", true),
    ("AgentIdentity.ReadWrite.All", true),
    ("AgentIdentityBlueprint.AddRemoveCreds.All", true),
    ("AgentIdentityBlueprint.Create", true),
    ("AgentIdentityBlueprint.DeleteRestore.All", true),
    ("AgentIdentityBlueprint.Read.All", true),
    ("AgentIdentityBlueprint.ReadWrite.All", true),
    ("AgentIdentityBlueprint.UpdateAuthProperties.All", true),
    ("AgentIdentityBlueprintPrincipal.Create", true),
    ("AgentIdentityBlueprintPrincipal.ReadWrite.All", true),
    ("AppRoleAssignment.ReadWrite.All", true),
    ("Application.Read.All", true),
    ("Application.ReadWrite.All", true),
    ("AuditLog.Read.All", true),
    ("Calendars.Read", false),
    ("Calendars.ReadWrite", false),
    ("Chat.Create", false),
    ("Chat.Read", false),
    ("Chat.ReadBasic", false),
    ("Chat.ReadWrite", false),
    ("ChatMember.Read", true),
    ("ChatMessage.Read", false),
    ("ChatMessage.Send", false),
    ("DelegatedPermissionGrant.Read.All", true),
    ("DelegatedPermissionGrant.ReadWrite.All", true),
    ("Directory.AccessAsUser.All", true),
    ("Directory.Read.All", true),
    ("Directory.ReadWrite.All", true),
    ("LicenseAssignment.Read.All", true),
    ("LicenseAssignment.ReadWrite.All", true),
    ("Mail.Read", false),
    ("Mail.ReadBasic", false),
    ("Mail.ReadWrite", false),
    ("Mail.Send", false),
    ("MailboxSettings.Read", false),
    // Not Graph's: whoever asks for it is told that a second factor is needed.
    ("Mfa.Needed", false),
    ("Organization.Read.All", true),
    ("Presence.Read", false),
    ("Presence.Read.All", false),
    ("Presence.ReadWrite", false),
    ("User.Read", false),
    ("User.Read.All", true),
    ("User.ReadBasic.All", false),
    ("User.ReadWrite", false),
    ("User.ReadWrite.All", true),
    ("User.RevokeSessions.All", true),
];

/// Application permissions.
const APPLICATION: &[&str] = &[
    "AgentIdUser.ReadWrite.All",
    "AgentIdUser.ReadWrite.IdentityParentedBy",
    "AgentIdentity.Create.All",
    "AgentIdentity.CreateAsManager",
    "AgentIdentity.Read.All",
    "AgentIdentity.ReadWrite.All",
    "AgentIdentityBlueprint.Create",
    "AgentIdentityBlueprint.ReadWrite.All",
    "AgentIdentityBlueprintPrincipal.Create",
    "AppRoleAssignment.ReadWrite.All",
    "Application.Read.All",
    "AuditLog.Read.All",
    "Calendars.Read",
    "Calendars.ReadWrite",
    "Chat.Read.All",
    "Chat.ReadBasic.All",
    "ChatMember.Read.All",
    "DelegatedPermissionGrant.ReadWrite.All",
    "Directory.Read.All",
    "LicenseAssignment.ReadWrite.All",
    "Mail.Read",
    "Mail.ReadWrite",
    "Mail.Send",
    "Presence.Read.All",
    "Presence.ReadWrite.All",
    "User.Read.All",
    "User.RevokeSessions.All",
];

/// What no agent identity can be granted, in the families that this tenant serves.
const BLOCKED_FOR_AGENTS: [&str; 10] = [
    "Application.ReadWrite.All",
    "Application.ReadWrite.OwnedBy",
    "AppRoleAssignment.ReadWrite.All",
    "Calendars.Read",
    "Chat.Read.All",
    "Chat.ReadWrite.All",
    "DelegatedPermissionGrant.ReadWrite.All",
    "Directory.ReadWrite.All",
    "User.ReadWrite.All",
    "RoleManagement.ReadWrite.Directory",
];

/// Blocked as delegated permissions too.
const BLOCKED_DELEGATED: [&str; 2] = ["User.ReadWrite.All", "Directory.ReadWrite.All"];

/// Directory operations refuse in another code than Teams and mail.
const DIRECTORY: [&str; 9] = [
    "/users",
    "/me",
    "/applications",
    "/servicePrincipals",
    "/oauth2PermissionGrants",
    "/organization",
    "/auditLogs",
    "/directory",
    "/directoryObjects",
];

/// Whether a delegated permission of this name exists.
pub(crate) fn is_delegated(name: &str) -> bool {
    DELEGATED.iter().any(|(known, _)| *known == name)
}

/// Whether only an administrator can grant it.
pub(crate) fn needs_administrator(name: &str) -> bool {
    DELEGATED
        .iter()
        .any(|(known, administrator)| *known == name && *administrator)
}

/// The application permissions that exist.
pub(crate) fn application() -> &'static [&'static str] {
    APPLICATION
}

/// Whether an agent identity can never be granted this application permission.
pub(crate) fn is_blocked_for_agents(name: &str) -> bool {
    BLOCKED_FOR_AGENTS.contains(&name)
}

/// Whether an agent identity can never be granted this delegated permission.
pub(crate) fn is_blocked_delegated(name: &str) -> bool {
    BLOCKED_DELEGATED.contains(&name)
}

/// Code and message of a refusal for lack of permission.
pub(crate) fn denial(
    operation: &str,
    shown: &[String],
    fitting: &[&str],
) -> (&'static str, String) {
    let path = operation
        .split_once(' ')
        .map_or(operation, |(_, path)| path);
    let part = |name: &str| path.contains(name);
    if part("/chats") || part("/presence") || part("Presence") {
        return (
            "Forbidden",
            format!(
                "Missing scope permissions on the request. API requires one of '{}'. Scopes on \
                 the request '{}'",
                fitting.join(", "),
                shown.join(", ")
            ),
        );
    }
    let outlook = [
        "/messages",
        "/mailFolders",
        "/sendMail",
        "/calendar",
        "/events",
    ];
    if outlook.iter().any(|name| part(name)) {
        return (
            "ErrorAccessDenied",
            "Access is denied. Check credentials and try again.".to_owned(),
        );
    }
    if DIRECTORY.iter().any(|name| path.starts_with(name)) {
        return (
            "Authorization_RequestDenied",
            "Insufficient privileges to complete the operation.".to_owned(),
        );
    }
    (
        "Forbidden",
        "Insufficient privileges to complete the operation.".to_owned(),
    )
}
