//! What Entra ID's numbers mean (Microsoft Learn, "Microsoft Entra
//! authentication and authorization error codes").

use super::{Class, Step};

/// What a refusal at the token endpoint means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Meaning {
    /// The client's secret is not the right one.
    WrongSecret,
    /// The client's secret was right and is too old.
    ExpiredSecret,
    /// Neither secret nor assertion was sent.
    NoSecret,
    /// The assertion's certificate is unknown or its signature does not match.
    WrongCertificate,
    /// The assertion's times or audience do not fit.
    StaleAssertion,
    /// No federated credential has this issuer.
    WrongIssuer,
    /// No federated credential has this subject.
    WrongSubject,
    /// The tenant does not know the application.
    UnknownApplication,
    /// The application is switched off.
    DisabledApplication,
    /// The sign-in was revoked: a new password, ended sessions.
    Revoked,
    /// The sign-in was not used for too long.
    Inactive,
    /// The tenant wants a fresh sign-in from time to time.
    TooOld,
    /// The person's token was made for somebody else.
    WrongAudience,
    /// The person's token has expired.
    ExpiredAssertion,
    /// The person's token is not one of this tenant's.
    BadAssertion,
    /// Nobody agreed to what is asked for.
    NoConsent,
    /// The person did not agree.
    Declined,
    /// A second factor is needed.
    SecondFactor,
    /// A second factor must be set up first.
    EnrolSecondFactor,
    /// A rule of the tenant forbids it.
    ConditionalAccess,
    /// The device is not one the tenant manages.
    UnmanagedDevice,
    /// The tenant forbids signing in with a code.
    DeviceCodeForbidden,
    /// Nobody has entered the code yet.
    Pending,
    /// The code is not one that was given.
    UnknownCode,
    /// The code is too old.
    ExpiredCode,
    /// The code was used or declined already.
    UsedCode,
    /// Another data centre gave the code.
    WrongDataCentre,
    /// The scope is not understood.
    BadScope,
    /// An application asked for something else than `/.default`.
    NeedsDefaultScope,
    /// Two services were asked for at once.
    TwoResources,
    /// The tenant does not know the service.
    UnknownResource,
    /// The tenant's endpoint does not know the grant.
    UnknownGrant,
    /// The request lacks something, which is a mistake here.
    BadRequest,
    /// The same request came too often.
    Loop,
    /// Agents may not have what was asked for.
    NotForAgents,
    /// Too many requests.
    Throttled,
    /// There is no such tenant.
    UnknownTenant,
    /// There is no such sign-in host.
    UnknownAuthority,
    /// Something else.
    Other,
}

/// The table: number, meaning.
pub(crate) const ROWS: &[(u32, Meaning)] = &[
    (7_000_215, Meaning::WrongSecret),
    (7_000_222, Meaning::ExpiredSecret),
    (7_000_218, Meaning::NoSecret),
    (7_000_216, Meaning::NoSecret),
    (700_027, Meaning::WrongCertificate),
    (700_024, Meaning::StaleAssertion),
    (700_211, Meaning::WrongIssuer),
    (700_213, Meaning::WrongSubject),
    (700_016, Meaning::UnknownApplication),
    (7_000_112, Meaning::DisabledApplication),
    (50_173, Meaning::Revoked),
    (50_132, Meaning::Revoked),
    (50_133, Meaning::Revoked),
    (700_082, Meaning::Inactive),
    (70_043, Meaning::TooOld),
    (500_131, Meaning::WrongAudience),
    (500_133, Meaning::ExpiredAssertion),
    (50_013, Meaning::BadAssertion),
    (65_001, Meaning::NoConsent),
    (65_004, Meaning::Declined),
    (50_076, Meaning::SecondFactor),
    (50_079, Meaning::EnrolSecondFactor),
    (53_003, Meaning::ConditionalAccess),
    (53_000, Meaning::UnmanagedDevice),
    (530_035, Meaning::DeviceCodeForbidden),
    (70_016, Meaning::Pending),
    (70_018, Meaning::UnknownCode),
    (70_019, Meaning::ExpiredCode),
    (70_020, Meaning::ExpiredCode),
    (90_120, Meaning::UsedCode),
    (50_134, Meaning::WrongDataCentre),
    (70_011, Meaning::BadScope),
    (1_002_012, Meaning::NeedsDefaultScope),
    (700_022, Meaning::TwoResources),
    (500_011, Meaning::UnknownResource),
    (70_003, Meaning::UnknownGrant),
    (900_144, Meaning::BadRequest),
    (50_196, Meaning::Loop),
    (82_001, Meaning::NotForAgents),
    (82_002, Meaning::NotForAgents),
    (90_055, Meaning::Throttled),
    (90_002, Meaning::UnknownTenant),
    (50_049, Meaning::UnknownAuthority),
];

// === impl Meaning ===

impl Meaning {
    /// By the number, else by the words of the protocol (RFC 6749, RFC 8628).
    pub(super) fn of(codes: &[u32], error: &str, suberror: &str, status: u16) -> Self {
        let known = |code: &u32| ROWS.iter().find(|(row, _)| row == code);
        if let Some((_, meaning)) = codes.iter().find_map(known) {
            return *meaning;
        }
        match (error, suberror) {
            ("authorization_pending", _) => Self::Pending,
            ("authorization_declined" | "access_denied", _) => Self::Declined,
            ("expired_token" | "code_expired", _) => Self::ExpiredCode,
            ("bad_verification_code", _) => Self::UnknownCode,
            (_, "consent_required") | ("consent_required", _) => Self::NoConsent,
            (_, "bad_token") => Self::Revoked,
            (_, "token_expired") => Self::Inactive,
            ("interaction_required", _) | (_, "basic_action" | "additional_action") => {
                Self::SecondFactor
            }
            (_, "message_only") => Self::ConditionalAccess,
            ("unsupported_grant_type", _) => Self::UnknownGrant,
            ("invalid_scope", _) => Self::BadScope,
            ("invalid_resource", _) => Self::UnknownResource,
            ("invalid_tenant", _) => Self::UnknownTenant,
            ("invalid_instance", _) => Self::UnknownAuthority,
            ("temporarily_unavailable", _) => Self::Throttled,
            _ if status == 429 => Self::Throttled,
            _ => Self::Other,
        }
    }

    /// Its class, which depends on what was being done.
    pub(super) fn class(self, step: Step) -> Class {
        match self {
            Self::NoConsent | Self::Declined => Class::ConsentDenied,
            Self::ExpiredCode => Class::DeviceCodeTimeout,
            Self::Throttled => Class::RateLimit,
            Self::Revoked | Self::Inactive | Self::TooOld if step != Step::OnBehalfOf => {
                Class::TokenExpired
            }
            // What the tenant cannot do for agents is one failure, whichever
            // way it says so; a wrong secret is another.
            Self::UnknownGrant
            | Self::NotForAgents
            | Self::UnknownResource
            | Self::UnknownApplication
            | Self::WrongIssuer
            | Self::WrongSubject
                if step.is_agents() =>
            {
                Class::AgentIdNotAvailable
            }
            _ if step == Step::OnBehalfOf || step == Step::AgentOnBehalfOf => Class::OboExchange,
            _ => Class::Auth,
        }
    }

    /// What to do next.
    pub(super) fn hint(self) -> &'static str {
        match self {
            Self::WrongSecret => {
                "the secret is not the application's: copy its value, not its id, and keep it again"
            }
            Self::ExpiredSecret => "make a new secret for the application and keep it here",
            Self::NoSecret => {
                "the application must prove itself: keep a secret or a key for it, or name a broker; a public client must be allowed to be one"
            }
            Self::WrongCertificate => {
                "see that the certificate is registered for the application and belongs to the private key here"
            }
            Self::StaleAssertion => {
                "see that the clock of this machine is right and the authority is the tenant's own"
            }
            Self::WrongIssuer => {
                "the agent's home tenant must be the one asked: see `tenant_id` of the account"
            }
            Self::WrongSubject => {
                "the agent identity is not one of this blueprint: see `blueprint_id` and `agent_id` of the account, or make one: `legation identity provision`"
            }
            Self::UnknownApplication => {
                "see `tenant_id` and the client ids of the account; an application of another tenant needs an administrator's consent first"
            }
            Self::DisabledApplication => {
                "ask an administrator to enable the application in this tenant"
            }
            Self::Revoked => "sign in again: the password was changed or the sessions were ended",
            Self::Inactive => "sign in again: the last sign-in was not used for too long",
            Self::TooOld => "sign in again: the tenant wants a fresh sign-in from time to time",
            Self::WrongAudience => {
                "the sign-in must ask for the application's own scope, like api://ID/access_as_user: see `api_client_id` and `api_scope` of the account"
            }
            Self::ExpiredAssertion => "sign in again: the person's token has expired",
            Self::BadAssertion => "sign in again: the person's token is not one of this tenant's",
            Self::NoConsent => "have it agreed to",
            Self::Declined => "start again and agree, or ask for less",
            Self::SecondFactor => "sign in again and confirm with the second factor",
            Self::EnrolSecondFactor => "set up a second factor for the user, then sign in again",
            Self::ConditionalAccess => {
                "a rule of the tenant forbids it here: ask an administrator which one"
            }
            Self::UnmanagedDevice => "the tenant wants a device that it manages",
            Self::DeviceCodeForbidden => {
                "the tenant forbids signing in with a code: ask an administrator to allow it, or sign in through a broker"
            }
            Self::Pending => "enter the code",
            Self::UnknownCode | Self::UsedCode => "start the sign-in again",
            Self::ExpiredCode => "start the sign-in again and enter the code in time",
            Self::WrongDataCentre => "start the sign-in again; it went to another data centre",
            Self::BadScope => "see the scopes that are asked for",
            Self::NeedsDefaultScope => "an application can only ask for RESOURCE/.default",
            Self::TwoResources => "ask for one service's scopes at a time",
            Self::UnknownResource => {
                "the tenant does not have this service or application: see `graph` and `api_scope` of the account"
            }
            Self::UnknownGrant => {
                "the authority does not know this way to sign in; agents need Microsoft Entra Agent ID in the tenant"
            }
            Self::BadRequest => "this is a mistake of this program: report it with the ids above",
            Self::Loop => "wait some minutes before trying again",
            Self::NotForAgents => {
                "agents may not have this permission: ask for less, or act on behalf of the person"
            }
            Self::Throttled => "wait as long as it says",
            Self::UnknownTenant => "see `tenant_id` of the account",
            Self::UnknownAuthority => "see `authority` and `cloud` of the account",
            Self::Other => "look the number up, and give the ids above to whoever runs the tenant",
        }
    }
}
