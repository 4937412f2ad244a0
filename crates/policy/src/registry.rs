//! Every reason code a refusal can carry and every event a record can be.
//!
//! Both are closed: a program that reads refusals or records can name all of
//! them, and a code that is not here does not exist. Codes are never renamed;
//! they stand in ledgers.

use std::fmt;

macro_rules! registry {
    (
        $(#[$enum_doc:meta])*
        $name:ident { $( $(#[$doc:meta])* $variant:ident = $code:literal, )* }
    ) => {
        $(#[$enum_doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name { $( $(#[$doc])* $variant, )* }

        impl $name {
            /// Every one of them.
            pub const ALL: &[Self] = &[ $( Self::$variant, )* ];

            /// As it stands in refusals and records.
            pub fn as_str(self) -> &'static str {
                match self { $( Self::$variant => $code, )* }
            }

            /// The one that is written so.
            pub fn parse(text: &str) -> Option<Self> {
                match text { $( $code => Some(Self::$variant), )* _ => None }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

registry! {
    /// Why something was refused or put off.
    ReasonCode {
        // Who asks.
        /// No credential, or one that does not hold.
        MissingOrInvalidAuth = "MISSING_OR_INVALID_AUTH",
        /// An account of the entity has no sign-in.
        NotAuthenticated = "NOT_AUTHENTICATED",
        /// Of a delegated call, one of the two who make it may not.
        DelegationDenied = "DELEGATION_DENIED",
        /// Too many calls in too little time.
        RateLimited = "RATE_LIMITED",

        // What is called.
        /// There is no such tool, resource or prompt.
        UnknownTarget = "UNKNOWN_TARGET",
        /// The server was never reviewed.
        ServerNotTrusted = "SERVER_NOT_TRUSTED",
        /// The definition was never seen before, and somebody must look at it.
        DefinitionNew = "DEFINITION_NEW",
        /// The definition is not the one that was approved.
        DefinitionChanged = "DEFINITION_CHANGED",
        /// The definition looks dangerous.
        DefinitionQuarantined = "DEFINITION_QUARANTINED",

        // Files.
        /// A governance file is missing, unusable or wrong.
        GovernanceUnavailable = "GOVERNANCE_UNAVAILABLE",
        /// The organisation's policy forbids it.
        EnterprisePolicyBlock = "ENTERPRISE_POLICY_BLOCK",
        /// A rule could not be evaluated.
        PolicyError = "POLICY_ERROR",
        /// One of the owner's Cedar policies forbids it.
        PolicyForbidden = "POLICY_FORBIDDEN",

        // Entities.
        /// Nothing says whose data it is about.
        MissingEntityOrProvenance = "MISSING_ENTITY_OR_PROVENANCE",
        /// There is no such entity.
        UnknownEntity = "UNKNOWN_ENTITY",
        /// The name of an entity is written with look-alike letters.
        EntityLookAlike = "ENTITY_LOOK_ALIKE",
        /// Data of two entities would meet that never may.
        CrossEntityBlock = "CROSS_ENTITY_BLOCK",
        /// The client may not see this entity's data.
        ClientNotCleared = "CLIENT_NOT_CLEARED",
        /// A recipient may not get this entity's data.
        RecipientNotCleared = "RECIPIENT_NOT_CLEARED",

        // Rules.
        /// The client has no role that may do this.
        RoleCardBlock = "ROLE_CARD_BLOCK",
        /// A ban forbids it.
        HardBanViolation = "HARD_BAN_VIOLATION",
        /// The ladder blocks it for now.
        LadderBlocked = "LADDER_BLOCKED",
        /// The ladder says never.
        LadderNever = "LADDER_NEVER",
        /// A permission rule denies it.
        PermissionDenied = "PERMISSION_DENIED",
        /// No permission rule allows it.
        NoRuleAllows = "NO_RULE_ALLOWS",
        /// The result breaks a contract with those who would read it.
        OutputContractViolation = "OUTPUT_CONTRACT_VIOLATION",
        /// Health information is in it that was not redacted.
        UnredactedPhi = "UNREDACTED_PHI",
        /// Too much may have been missed by redaction.
        ResidualRisk = "RESIDUAL_RISK",

        // Approvals and proposals.
        /// A person has to agree first.
        OperatorApprovalRequired = "OPERATOR_APPROVAL_REQUIRED",
        /// A person has been asked and has not answered.
        ApprovalPending = "APPROVAL_PENDING",
        /// A person said no.
        ApprovalDenied = "APPROVAL_DENIED",
        /// The approval is too old.
        ApprovalExpired = "APPROVAL_EXPIRED",
        /// The approval was used before.
        ApprovalUsed = "APPROVAL_USED",
        /// The call is not the one that was approved.
        ApprovalVoided = "APPROVAL_VOIDED",
        /// The reply is not of the person who may answer, or cannot be told from
        /// what the agent writes.
        ReplyNotFromSponsor = "REPLY_NOT_FROM_SPONSOR",
        /// The reply has no code of a question that waits there.
        ReplyWrongCode = "REPLY_WRONG_CODE",
        /// The reply was edited.
        ReplyEdited = "REPLY_EDITED",
        /// The reply says more than yes or no.
        ReplyUnclear = "REPLY_UNCLEAR",
        /// Too many wrong codes came before it.
        ReplyLocked = "REPLY_LOCKED",
        /// A person has to certify the proposal.
        CertificationRequired = "CERTIFICATION_REQUIRED",
        /// The proposal is not as it was certified.
        ProposalVoided = "PROPOSAL_VOIDED",

        // Models.
        /// No provider is left that may have this.
        LlmProviderUnavailable = "LLM_PROVIDER_UNAVAILABLE",
        /// Copilot was chosen, and nobody's token came with the request.
        CopilotTokenMissing = "COPILOT_TOKEN_MISSING",
        /// A provider is preferred that `llm_provider.json` does not have.
        UnknownProvider = "UNKNOWN_PROVIDER",

        // The record.
        /// The call could not be recorded, so it was not made.
        LedgerUnavailable = "LEDGER_UNAVAILABLE",
    }
}

registry! {
    /// What a record is about.
    EventName {
        /// A tool was called, or its call refused.
        McpToolCall = "MCP_TOOL_CALL",
        /// A resource was read, or its reading refused.
        McpResourceRead = "MCP_RESOURCE_READ",
        /// A prompt was fetched, or its fetching refused.
        McpPromptGet = "MCP_PROMPT_GET",
        /// An argument was completed.
        McpCompletion = "MCP_COMPLETION",
        /// A task was answered or cancelled.
        McpTask = "MCP_TASK",
        /// A server asked for a model.
        McpSampling = "MCP_SAMPLING",
        /// The Copilot webhook was called.
        CopilotWebhookRequest = "COPILOT_WEBHOOK_REQUEST",
        /// A provider was chosen.
        LlmProviderSelected = "LLM_PROVIDER_SELECTED",
        /// No provider may have what was asked.
        LlmProviderBlocked = "LLM_PROVIDER_BLOCKED",
        /// The owner changed which provider is preferred.
        LlmProviderChanged = "LLM_PROVIDER_CHANGED",
        /// The chosen provider did not answer.
        LlmProviderUnavailable = "LLM_PROVIDER_UNAVAILABLE",
        /// Copilot was chosen, and nobody's token came with the request.
        CopilotTokenMissing = "COPILOT_TOKEN_MISSING",
        /// A provider is preferred that there is none of.
        UnknownProvider = "UNKNOWN_PROVIDER",
        /// A person was asked.
        ApprovalRequested = "APPROVAL_REQUESTED",
        /// A person agreed.
        ApprovalGranted = "APPROVAL_GRANTED",
        /// A person said no.
        ApprovalDenied = "APPROVAL_DENIED",
        /// Nobody answered in time.
        ApprovalExpired = "APPROVAL_EXPIRED",
        /// What was approved is no longer what would be done.
        ApprovalVoided = "APPROVAL_VOIDED",
        /// A person was asked elsewhere: the question went out.
        ApprovalPosted = "APPROVAL_POSTED",
        /// An answer from elsewhere was not taken.
        ApprovalReplyRefused = "APPROVAL_REPLY_REFUSED",
        /// A grant was made.
        GrantAdded = "GRANT_ADDED",
        /// A grant was taken back.
        GrantRemoved = "GRANT_REMOVED",
        /// Something was proposed.
        ProposalMade = "PROPOSAL_MADE",
        /// A person certified a proposal.
        ProposalCertified = "PROPOSAL_CERTIFIED",
        /// A person rejected a proposal.
        ProposalRejected = "PROPOSAL_REJECTED",
        /// A certified proposal was carried out.
        ProposalApplied = "PROPOSAL_APPLIED",
        /// A proposal was too old before anything came of it.
        ProposalExpired = "PROPOSAL_EXPIRED",
        /// A proposal was made under other rules.
        ProposalVoided = "PROPOSAL_VOIDED",
        /// A definition was seen for the first time.
        DefinitionSeen = "DEFINITION_SEEN",
        /// A definition is no longer what it was.
        DefinitionChanged = "DEFINITION_CHANGED",
        /// The owner looked at a definition and accepted it.
        DefinitionApproved = "DEFINITION_APPROVED",
        /// The owner looked at a definition and refused it.
        DefinitionRejected = "DEFINITION_REJECTED",
        /// Governance files changed and hold from here on.
        GovernanceChanged = "GOVERNANCE_CHANGED",
        /// A governance file broke and denies what it governs.
        GovernanceBroken = "GOVERNANCE_BROKEN",
        /// A browser was let in at the console.
        ConsoleSignedIn = "CONSOLE_SIGNED_IN",
        /// The labels of a conversation were taken off by a person.
        LabelsCleared = "LABELS_CLEARED",
        /// The owner changed something of the desk.
        DeskChanged = "DESK_CHANGED",
        /// Keys were destroyed, and with them what they sealed.
        KeyDestroyed = "KEY_DESTROYED",
        /// A message came in and was kept.
        MessageReceived = "MESSAGE_RECEIVED",
        /// A client named an address that events are sent to.
        EventSubscribed = "EVENT_SUBSCRIBED",
        /// Events are sent to an address no longer.
        EventSubscriptionEnded = "EVENT_SUBSCRIPTION_ENDED",
        /// An event is on its way to an address.
        EventSent = "EVENT_SENT",
        /// An event could not be delivered and is not tried again.
        EventGivenUp = "EVENT_GIVEN_UP",
    }
}

/// Who writes the record of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Producer {
    /// The gate: calls, approvals, grants and proposals.
    Gate,
    /// The hub around it: files, definitions, labels and keys.
    Hub,
    /// The provider decision names it for `explain`, and `models` records it
    /// through the gate.
    Decision,
    /// A part that is not built yet, for this reason.
    Later(&'static str),
}

/// What a record of an event may say beside who, when and what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EventField {
    /// The tool, as `server/tool`.
    ToolName,
    /// The entities it is about.
    EntityContext,
    /// The provider of the model that was used, `none` where there was none.
    ProviderUsed,
    /// `allowed`, or the reason code.
    GovernanceResult,
    /// How long it took, in milliseconds.
    ExecutionTimeMs,
    /// When, RFC 3339.
    Timestamp,
    /// What the person wanted, as it was classified.
    Intent,
    /// The thread in Copilot.
    CopilotThreadId,
    /// Who asked in Copilot.
    UserGithubLogin,
    /// The job it was for.
    JobId,
    /// Whose preference chose the provider.
    Source,
}

// === impl ReasonCode ===

impl ReasonCode {
    /// Why nothing gives this reason yet; `None` for what something does.
    pub fn is_for_later(self) -> Option<&'static str> {
        match self {
            Self::NotAuthenticated => Some("accounts sign in where their services are reached"),
            Self::RecipientNotCleared => {
                Some("a message is judged by its recipients where one is sent")
            }
            _ => None,
        }
    }
}

// === impl EventField ===

impl EventField {
    /// As it stands in records.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ToolName => "tool_name",
            Self::EntityContext => "entity_context",
            Self::ProviderUsed => "provider_used",
            Self::GovernanceResult => "governance_result",
            Self::ExecutionTimeMs => "execution_time_ms",
            Self::Timestamp => "timestamp",
            Self::Intent => "intent",
            Self::CopilotThreadId => "copilot_thread_id",
            Self::UserGithubLogin => "user_github_login",
            Self::JobId => "job_id",
            Self::Source => "source",
        }
    }
}

// === impl EventName ===

impl EventName {
    /// Who records it.
    pub fn producer(self) -> Producer {
        match self {
            Self::McpToolCall
            | Self::McpResourceRead
            | Self::McpPromptGet
            | Self::McpCompletion
            | Self::McpTask
            | Self::McpSampling
            | Self::ApprovalRequested
            | Self::ApprovalGranted
            | Self::ApprovalDenied
            | Self::ApprovalExpired
            | Self::ApprovalVoided
            | Self::ApprovalPosted
            | Self::ApprovalReplyRefused
            | Self::GrantAdded
            | Self::GrantRemoved
            | Self::ProposalMade
            | Self::ProposalCertified
            | Self::ProposalRejected
            | Self::ProposalApplied
            | Self::ProposalExpired
            | Self::ProposalVoided => Producer::Gate,
            Self::DefinitionSeen
            | Self::DefinitionChanged
            | Self::DefinitionApproved
            | Self::DefinitionRejected
            | Self::GovernanceChanged
            | Self::GovernanceBroken
            | Self::LlmProviderChanged
            | Self::ConsoleSignedIn
            | Self::LabelsCleared
            | Self::DeskChanged
            | Self::KeyDestroyed
            | Self::MessageReceived
            | Self::EventSubscribed
            | Self::EventSubscriptionEnded
            | Self::EventSent
            | Self::EventGivenUp
            | Self::CopilotWebhookRequest => Producer::Hub,
            Self::LlmProviderSelected
            | Self::LlmProviderBlocked
            | Self::LlmProviderUnavailable
            | Self::CopilotTokenMissing
            | Self::UnknownProvider => Producer::Decision,
        }
    }

    /// What a record of it says.
    pub fn fields(self) -> &'static [EventField] {
        use EventField::{
            CopilotThreadId, EntityContext, ExecutionTimeMs, GovernanceResult, Intent, JobId,
            ProviderUsed, Source, Timestamp, ToolName, UserGithubLogin,
        };
        match self {
            Self::McpToolCall
            | Self::McpResourceRead
            | Self::McpPromptGet
            | Self::McpCompletion
            | Self::McpTask
            | Self::McpSampling => &[
                ToolName,
                EntityContext,
                ProviderUsed,
                GovernanceResult,
                ExecutionTimeMs,
                Timestamp,
            ],
            Self::CopilotWebhookRequest => &[
                Intent,
                EntityContext,
                CopilotThreadId,
                UserGithubLogin,
                ProviderUsed,
                GovernanceResult,
                Timestamp,
            ],
            Self::LlmProviderSelected
            | Self::LlmProviderBlocked
            | Self::LlmProviderUnavailable
            | Self::CopilotTokenMissing
            | Self::UnknownProvider => &[
                ProviderUsed,
                EntityContext,
                JobId,
                Source,
                GovernanceResult,
                Timestamp,
            ],
            Self::ApprovalRequested
            | Self::ApprovalGranted
            | Self::ApprovalDenied
            | Self::ApprovalExpired
            | Self::ApprovalVoided
            | Self::GrantAdded
            | Self::GrantRemoved
            | Self::ProposalMade
            | Self::ProposalCertified
            | Self::ProposalRejected
            | Self::ProposalApplied
            | Self::ProposalExpired
            | Self::ProposalVoided
            | Self::DefinitionSeen
            | Self::DefinitionChanged
            | Self::DefinitionApproved
            | Self::DefinitionRejected
            | Self::DeskChanged => &[ToolName, EntityContext, GovernanceResult, Timestamp],
            Self::LlmProviderChanged
            | Self::GovernanceChanged
            | Self::GovernanceBroken
            | Self::ConsoleSignedIn
            | Self::LabelsCleared
            | Self::KeyDestroyed
            | Self::ApprovalPosted
            | Self::ApprovalReplyRefused
            | Self::MessageReceived
            | Self::EventSubscribed
            | Self::EventSubscriptionEnded
            | Self::EventSent
            | Self::EventGivenUp => &[EntityContext, GovernanceResult, Timestamp],
        }
    }
}

#[cfg(test)]
mod tests;
