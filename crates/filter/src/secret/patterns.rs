//! Shapes of secrets: cloud providers, forges, model providers, services, keys, connection
//! strings, and assignments of something random to a name that says so.

use std::ops::Range;
use std::sync::OnceLock;

use regex::Regex;

use super::entropy;

/// One shape.
pub(crate) struct Pattern {
    /// What it is reported as.
    pub(crate) kind: &'static str,
    /// Words, in any case, without one of which it cannot match.
    pub(super) words: &'static [&'static str],
    /// The group that is the secret; 0 for the whole match.
    group: usize,
    text: &'static str,
    /// Whether the group has to look random too.
    random: bool,
    made: OnceLock<Option<Regex>>,
}

macro_rules! pattern {
    ($kind:literal, [$($word:literal),+], $group:literal, $text:literal) => {
        Pattern { kind: $kind, words: &[$($word),+], group: $group, text: $text, random: false, made: OnceLock::new() }
    };
}

/// How many there are.
const COUNT: usize = 45;

/// All of them. Each is compiled when its word is first seen.
pub(crate) static PATTERNS: [Pattern; COUNT] = [
    pattern!(
        "private-key",
        ["PRIVATE KEY"],
        0,
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?s:.*?)(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\z)"
    ),
    pattern!(
        "private-key",
        ["PuTTY-User-Key-File"],
        0,
        r"PuTTY-User-Key-File-[0-9](?s:.*?)(?:Private-MAC: [0-9a-f]+|\z)"
    ),
    pattern!(
        "private-key",
        ["AGE-SECRET-KEY-1"],
        0,
        r"AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}"
    ),
    pattern!(
        "aws-access-key",
        ["AKIA", "ASIA", "ABIA", "ACCA", "A3T"],
        0,
        r"\b(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b"
    ),
    pattern!(
        "aws-secret-key",
        ["aws"],
        1,
        r"(?i)aws.{0,20}?(?:secret|private).{0,20}?[\x22'=:\s]{1,5}([A-Za-z0-9/+=]{40})\b"
    ),
    pattern!(
        "aws-bedrock-key",
        ["ABSK"],
        0,
        r"\bABSK[A-Za-z0-9+/]{100,}={0,2}"
    ),
    pattern!("google-api-key", ["AIza"], 0, r"\bAIza[0-9A-Za-z_-]{35}"),
    pattern!(
        "google-oauth",
        ["GOCSPX-", "ya29."],
        0,
        r"\b(?:GOCSPX-[0-9A-Za-z_-]{28}|ya29\.[0-9A-Za-z_-]{20,})"
    ),
    pattern!(
        "azure-secret",
        ["Q~"],
        0,
        r"\b[0-9A-Za-z_~.]{3}[0-9]Q~[0-9A-Za-z_~.-]{31,34}"
    ),
    pattern!(
        "azure-key",
        ["AccountKey=", "SharedAccessKey="],
        1,
        r"(?i)(?:AccountKey|SharedAccessKey)=([A-Za-z0-9+/]{40,}={0,2})"
    ),
    pattern!(
        "azure-signature",
        ["sig="],
        1,
        r"[?&]sig=([A-Za-z0-9%+/=]{40,})"
    ),
    pattern!(
        "github-token",
        ["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"],
        0,
        r"\b(?:gh[pousr]_[0-9A-Za-z_]{36,255}|github_pat_[0-9A-Za-z_]{22,255})"
    ),
    pattern!(
        "gitlab-token",
        [
            "glpat-", "glptt-", "gldt-", "glrt-", "glcbt-", "gloas-", "glsoat-", "glft-", "glimt-",
            "glagent-", "glffct-"
        ],
        0,
        r"\bgl(?:pat|ptt|dt|rt|cbt|oas|soat|ft|imt|agent|ffct)-[0-9A-Za-z_-]{20,}"
    ),
    pattern!(
        "bitbucket-token",
        ["ATBB", "ATCTT3"],
        0,
        r"\b(?:ATBB[0-9A-Za-z_]{32}|ATCTT3[0-9A-Za-z_=-]{60,})"
    ),
    pattern!(
        "atlassian-token",
        ["ATATT3"],
        0,
        r"\bATATT3[0-9A-Za-z_=-]{100,}"
    ),
    pattern!(
        "slack-token",
        ["xox", "xapp-"],
        0,
        r"\b(?:xox[abeoprs][.-][0-9A-Za-z_.-]{10,}|xapp-[0-9]-[A-Za-z0-9-]{20,})"
    ),
    pattern!(
        "slack-webhook",
        ["hooks.slack.com"],
        0,
        r"hooks\.slack\.com/(?:services|workflows|triggers)/[0-9A-Za-z_+/-]{30,}"
    ),
    pattern!(
        "teams-webhook",
        ["webhook.office.com"],
        0,
        r"webhook\.office\.com/webhookb2/[0-9A-Za-z_@-]+/IncomingWebhook/[0-9A-Za-z_]{32}/[0-9A-Za-z_-]{36}"
    ),
    pattern!(
        "discord-webhook",
        ["/api/webhooks/"],
        0,
        r"discord(?:app)?\.com/api/webhooks/[0-9]{17,20}/[0-9A-Za-z_-]{60,}"
    ),
    pattern!(
        "discord-token",
        ["discord"],
        0,
        r"\b[MNO][0-9A-Za-z_-]{23,27}\.[0-9A-Za-z_-]{6}\.[0-9A-Za-z_-]{27,40}"
    ),
    pattern!(
        "telegram-token",
        [":AA"],
        0,
        r"\b[0-9]{8,10}:AA[0-9A-Za-z_-]{33}\b"
    ),
    pattern!(
        "openai-key",
        ["sk-"],
        0,
        r"\bsk-(?:(?:proj|svcacct|admin|None)-[0-9A-Za-z_-]{20,}|[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}|[A-Za-z0-9]{48}\b|[0-9a-f]{32}\b)"
    ),
    pattern!(
        "anthropic-key",
        ["sk-ant-"],
        0,
        r"\bsk-ant-[0-9A-Za-z_-]{20,}"
    ),
    pattern!("openrouter-key", ["sk-or-"], 0, r"\bsk-or-v1-[0-9a-f]{64}"),
    pattern!(
        "model-provider-key",
        [
            "gsk_", "xai-", "pplx-", "r8_", "nvapi-", "fw_", "csk-", "tgp_v1_"
        ],
        0,
        r"\b(?:gsk_[A-Za-z0-9]{40,}|xai-[A-Za-z0-9]{60,}|pplx-[A-Za-z0-9]{40,}|r8_[A-Za-z0-9]{37}|nvapi-[0-9A-Za-z_-]{60,}|fw_[A-Za-z0-9]{22,}|csk-[a-z0-9]{40,}|tgp_v1_[0-9A-Za-z_-]{40,})"
    ),
    pattern!(
        "huggingface-token",
        ["hf_", "api_org_"],
        0,
        r"\b(?:hf_|api_org_)[A-Za-z0-9]{34}"
    ),
    pattern!(
        "stripe-key",
        ["_live_", "_test_", "whsec_"],
        0,
        r"\b(?:[rs]k_(?:live|test)_[A-Za-z0-9]{10,}|whsec_[A-Za-z0-9+/=]{24,})"
    ),
    pattern!(
        "square-token",
        ["sq0", "EAAA"],
        0,
        r"\b(?:sq0(?:atp|csp|idp)-[0-9A-Za-z_-]{22,}|EAAA[0-9A-Za-z_-]{60})"
    ),
    pattern!(
        "shopify-token",
        ["shpat_", "shpca_", "shppa_", "shpss_"],
        0,
        r"\bshp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"
    ),
    pattern!(
        "twilio-key",
        ["twilio"],
        1,
        r#"(?i)twilio.{0,40}?\b((?:SK)?[0-9a-f]{32})\b"#
    ),
    pattern!(
        "sendgrid-key",
        ["SG."],
        0,
        r"\bSG\.[0-9A-Za-z_-]{20,24}\.[0-9A-Za-z_-]{39,50}"
    ),
    pattern!(
        "mail-provider-key",
        ["key-", "-us", "xkeysib-", "re_"],
        0,
        r"\b(?:key-[0-9a-f]{32}\b|[0-9a-f]{32}-us[0-9]{1,2}\b|xkeysib-[0-9a-f]{64}-[0-9A-Za-z_]{16}|re_[A-Za-z0-9]{8,}_[A-Za-z0-9]{20,})"
    ),
    pattern!("npm-token", ["npm_"], 0, r"\bnpm_[A-Za-z0-9]{36}"),
    pattern!(
        "pypi-token",
        ["pypi-AgE"],
        0,
        r"\bpypi-AgE[0-9A-Za-z_-]{50,}"
    ),
    pattern!(
        "package-token",
        ["rubygems_", "cio", "oy2", "dckr_"],
        0,
        r"\b(?:rubygems_[0-9a-f]{48}|cio[A-Za-z0-9]{32}\b|oy2[a-z0-9]{43}\b|dckr_(?:pat|oat)_[0-9A-Za-z_-]{20,})"
    ),
    pattern!(
        "digitalocean-token",
        ["_v1_"],
        0,
        r"\bdo[opr]_v1_[0-9a-f]{64}"
    ),
    pattern!(
        "hosting-token",
        [
            "HRKU-", "fo1_", "FlyV1", "rnd_", "nfp_", "vcp_", "sbp_", "pscale_", "dapi", "PMAK-"
        ],
        0,
        r"\b(?:HRKU-[0-9A-Za-z_-]{36,}|fo1_[0-9A-Za-z_-]{43}|FlyV1 fm[0-9]+_[0-9A-Za-z_+/=,-]{60,}|rnd_[A-Za-z0-9]{28,}|nfp_[A-Za-z0-9]{36,}|vcp_[A-Za-z0-9]{24,}|sbp_[0-9a-f]{40}|pscale_(?:tkn|pw|oauth)_[0-9A-Za-z_=.-]{32,}|dapi[0-9a-f]{32}(?:-[0-9])?|PMAK-[0-9a-f]{24}-[0-9a-f]{34})"
    ),
    pattern!(
        "vault-token",
        ["hvs.", "hvb.", "hvr.", "atlasv1"],
        0,
        r"\b(?:hv[sbr]\.[0-9A-Za-z_-]{24,}|[A-Za-z0-9]{14}\.atlasv1\.[0-9A-Za-z_=-]{60,})"
    ),
    pattern!(
        "doppler-token",
        ["dp."],
        0,
        r"\bdp\.(?:pt|st|ct|sa|scim|audit)\.(?:[0-9A-Za-z_-]+\.)?[A-Za-z0-9]{40,44}"
    ),
    pattern!(
        "workspace-token",
        [
            "lin_api_", "ntn_", "secret_", "figd_", "glsa_", "glc_", "sntry", "NRAK-", "AKCp",
            "pul-", "pat-na", "pat-eu", "dsk_"
        ],
        0,
        r"\b(?:lin_api_[0-9A-Za-z_]{40}|ntn_[A-Za-z0-9]{40,}|secret_[A-Za-z0-9]{43}\b|figd_[0-9A-Za-z_-]{40}|glsa_[0-9A-Za-z_]{32}_[0-9a-fA-F]{8}|glc_[A-Za-z0-9+/=]{32,}|sntry[su]_[0-9A-Za-z_=+/-]{40,}|NRAK-[A-Z0-9]{27}|AKCp[A-Za-z0-9]{60,}|pul-[0-9a-f]{40}|pat-(?:na|eu)[0-9]-[0-9a-f-]{36})"
    ),
    pattern!(
        "jwt",
        ["eyJ"],
        0,
        r"\beyJ[0-9A-Za-z_-]{10,}\.eyJ[0-9A-Za-z_-]{10,}\.[0-9A-Za-z_-]{0,}"
    ),
    pattern!(
        "url-password",
        ["://"],
        1,
        r"\b[A-Za-z][A-Za-z0-9+.-]{1,30}://[^\s:/@\x22'<>]{0,100}:([^\s/@\x22'<>]{3,200})@[0-9A-Za-z_.-]"
    ),
    pattern!(
        "connection-password",
        ["password=", "pwd="],
        1,
        r"(?i)\b(?:password|pwd)=\s{0,2}([^;\s\x22'&<>\[]{4,200})(?:;|\x22|'|\s|$)"
    ),
    pattern!(
        "authorization-header",
        ["bearer ", "basic "],
        1,
        r"(?i)\b(?:bearer|basic)\s{1,3}([A-Za-z0-9._~+/-]{20,2000}={0,2})"
    ),
    Pattern {
        kind: "assigned-secret",
        words: &[
            "key",
            "secret",
            "token",
            "passw",
            "pwd",
            "credential",
            "auth",
        ],
        group: 1,
        text: r#"(?i)\b[0-9A-Za-z_.-]{0,40}(?:api[_-]?key|access[_-]?key|private[_-]?key|signing[_-]?key|encryption[_-]?key|account[_-]?key|secret|token|passw(?:or)?d|passwd|pwd|credentials?|auth)[0-9A-Za-z_.-]{0,20}["'`]{0,2}\s{0,3}(?::=|=>|[:=])\s{0,3}["'`]{0,2}([0-9A-Za-z_.=+/~!@#$%^&*-]{10,200})"#,
        random: true,
        made: OnceLock::new(),
    },
];

/// Whether a member of this name holds a secret.
pub(super) fn names_a_secret(name: &str) -> bool {
    const ENDS: [&str; 16] = [
        "apikey",
        "accesskey",
        "privatekey",
        "secretkey",
        "signingkey",
        "encryptionkey",
        "accountkey",
        "secret",
        "token",
        "password",
        "passwd",
        "pwd",
        "passphrase",
        "credential",
        "credentials",
        "authorization",
    ];
    // Names of what is public about a token, or counts of the other kind of tokens.
    const PUBLIC: [&str; 4] = [
        "nextpagetoken",
        "pagetoken",
        "continuationtoken",
        "progresstoken",
    ];
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    let plain = plain.to_ascii_lowercase();
    ENDS.iter().any(|end| plain.ends_with(end)) && !PUBLIC.iter().any(|end| plain.ends_with(end))
}

// === impl Pattern ===

impl Pattern {
    /// Where it matches.
    pub(super) fn find<'t>(
        &'static self,
        text: &'t str,
    ) -> impl Iterator<Item = Range<usize>> + 't {
        let made = self.made.get_or_init(|| Regex::new(self.text).ok());
        let matches = made.iter().flat_map(move |made| made.captures_iter(text));
        matches.filter_map(move |found| {
            let group = found.get(self.group)?;
            (!self.random || entropy::looks_random(group.as_str())).then(|| group.range())
        })
    }

    /// Whether its text is a regular expression.
    #[cfg(test)]
    pub(crate) fn compiles(&self) -> bool {
        Regex::new(self.text).is_ok()
    }
}
