//! Orders that a definition gives to the model.

use std::sync::LazyLock;

use regex::{Regex, RegexSet};

use super::{Check, Finding, finding, plain};

/// What is looked for in lower-case text with single spaces: check, whether it is hard, pattern.
const SOUGHT: &[(Check, bool, &str)] = &[
    // Overriding what the model was told.
    (
        Check::Instructions,
        true,
        r"\b(?:ignore|disregard|forget|override|bypass|skip|do not follow|stop following)\b[^.]{0,30}\b(?:previous|prior|above|earlier|preceding|existing|original|system|other|all|your|any|user's)\b[^.]{0,20}\b(?:instruction|rule|prompt|guideline|directive|constraint|polic|command|safety|guardrail|safeguard)",
    ),
    (
        Check::Instructions,
        true,
        r"\b(?:ignora|ignorar|olvida)\b.{0,30}\binstrucciones|\b(?:ignorez|oubliez)\b.{0,30}\binstructions|\bignoriere\b.{0,40}\banweisungen|忽略.{0,12}(?:指令|指示|提示)|以前の指示.{0,6}無視|игнорируй.{0,30}инструкци|nhopиpyй",
    ),
    (
        Check::Instructions,
        true,
        r"<\s*/?\s*(?:important|system|secret|critical|hidden|instructions?|admin|override|assistant|sys)\s*>|\[/?(?:inst|sys)\]|<\|im[ _](?:start|end)\|>|<<sys>>|\[system\]|###\s*(?:system|new instructions)",
    ),
    (
        Check::Instructions,
        true,
        r"\b(?:you are now|from now on,? you|act as if you|pretend (?:to be|you)|enter (?:developer|admin|dan) mode|new (?:system )?(?:instructions|prompt)\s*:|system (?:override|prompt\s*:|notice\s*:|message\s*:))",
    ),
    // Hiding it from the person.
    (
        Check::Instructions,
        true,
        r"\b(?:do not|don'?t|never|must not|avoid|without|refrain from)\b[^.]{0,40}\b(?:tell|telling|inform|informing|mention|mentioning|notify|notifying|alert|alerting|reveal|revealing|disclose|disclosing|show|showing|let|letting|asking|explain|explaining|warn|warning)\b[^.]{0,40}\b(?:the |to )?(?:user|human|operator|person|owner|anyone|them)\b[^.]{0,30}",
    ),
    (
        Check::Instructions,
        true,
        r"\b(?:user|human|operator)\b[^.]{0,20}\b(?:must|should|does|need|will)\s?(?:not|n't)\b[^.]{0,20}\b(?:know|see|notice|be (?:told|aware|informed))",
    ),
    (
        Check::Instructions,
        true,
        r"\b(?:secretly|silently|covertly|stealthily|quietly|in the background)\b[^.]{0,40}\b(?:send|read|copy|forward|upload|include|run|execute|call|collect|add|append|transmit|exfiltrate)\b",
    ),
    (
        Check::Instructions,
        true,
        r"\b(?:keep|remain)\b[^.]{0,20}\b(?:hidden|secret|confidential)\b[^.]{0,30}\b(?:user|human|operator)",
    ),
    (
        Check::Instructions,
        true,
        r"\b(?:bypass|skip|circumvent|evade|ignore|disregard)\b (?:\w+ ){0,2}(?:(?:safety|security|content) (?:polic|restriction|check|filter|measure|guideline)|guardrail|safeguard)",
    ),
    // A turn of the conversation that the server made up.
    (
        Check::Instructions,
        true,
        r"(?:^|[.!?>] )(?:system|assistant|developer): ",
    ),
    // What the model was told is not for arguments or results.
    (
        Check::Instructions,
        true,
        r"\b(?:repeat|output|print|reveal|show|dump|recite|echo|write)\b (?:\w+ ){0,3}(?:system prompt|(?:initial|hidden|original|internal|secret) (?:instructions?|prompts?))\b",
    ),
    (
        Check::Instructions,
        true,
        r"\b(?:put|show|write|print|repeat|dump|include)\b[^.]{0,30}\b(?:chat|conversation|message) (?:history|log|so far)\b[^.]{0,20}\b(?:in|into|as)\b[^.]{0,20}\b(?:field|argument|parameter)",
    ),
    (
        Check::Instructions,
        true,
        r"\b(?:do not|don'?t|never|without)\b[^.]{0,20}\b(?:ask|bother|prompt|wait)\w*\b[^.]{0,30}\b(?:user|human|operator)\b[^.]{0,30}\b(?:confirm|consent|permission|approv)",
    ),
    (
        Check::Instructions,
        true,
        r"\b(?:conceal|withhold|hide (?:this|it|that))\b[^.]{0,40}\bfrom\b[^.]{0,10}\b(?:user|human|operator|person|owner)\b|\blog nothing\b",
    ),
    // Reading what is nobody's business.
    (
        Check::Instructions,
        true,
        r"\b(?:read|open|load|collect|gather|fetch)\b[^.]{0,40}\b(?:credentials?|secrets|environment variables|passwords|private keys?)\b[^.]{0,40}\b(?:and|then)\b[^.]{0,20}\b(?:pass|include|send|put|attach|add|forward|upload|provide)\b",
    ),
    (
        Check::Instructions,
        true,
        r"\b(?:read|cat|open|include|send|pass|get|fetch|access|load|copy|attach|contents? of|upload|paste|provide|extract)\b[^.]{0,60}(?:~/\.(?:ssh|aws|gnupg|kube|config|netrc|npmrc|cursor|claude)|\bid (?:rsa|ed25519)\b|/etc/(?:passwd|shadow)|\.env\b|\bmcp\.json|\.git-credentials|keychain|wallet\.dat|\bseed phrase)",
    ),
    (
        Check::Instructions,
        true,
        r"\b(?:send|pass|include|provide|put|forward|post|append|attach|insert|leak|exfiltrate|transmit|upload|report|copy|add|encode)\b[^.]{0,60}\b(?:conversation|chat (?:history|log)|message history|previous messages|system prompt|api keys?|credentials?|passwords?|environment variables|access tokens?|private keys?|secrets|session cookies?)\b[^.]{0,80}\b(?:to|as|in|into|via|with|parameter|argument|field|request|endpoint|server)\b",
    ),
    (
        Check::Exfiltration,
        true,
        r"\b(?:bcc|cc|forward|also send|send a copy|copy)\b[^.]{0,60}\b[\w.+-]+@[\w-]+\.[\w.-]+",
    ),
    (
        Check::Exfiltration,
        true,
        r"\b(?:webhook\.site|requestbin|pipedream\.net|burpcollaborator|oastify\.com|interact\.sh|ngrok(?:-free)?\.(?:io|app|dev)|requestcatcher\.com|beeceptor\.com|dnslog\.cn|canarytokens\.com)",
    ),
    (
        Check::Exfiltration,
        true,
        r"!\[[^\]]*\]\(\s*https?://[^)]*(?:\{|\$|<|=\s*\[)",
    ),
    (
        Check::Exfiltration,
        true,
        r"https?://\S*[?&]\S*=\{[^}]{0,40}(?:secret|token|passw|api key|history|conversation|cookie|credential)",
    ),
    (
        Check::Exfiltration,
        true,
        r"\b(?:send|post|upload|report|submit|transmit)\b[^.]{0,40}\b(?:cookies?|contacts|address book|credentials?|secrets?|tokens?|passwords?|conversation|history)\b[^.]{0,30}\bto (?:(?:https?|ftp)://|(?:\d{1,3}\.){3}\d)",
    ),
    (
        Check::Exfiltration,
        true,
        r"\b(?:e-?mails?|messages|payments|transfers|requests)\b[^.]{0,30}\b(?:must|should|have to|need to)\b[^.]{0,30}\b(?:sent|routed|forwarded|copied|addressed|redirected|go)\b[^.]{0,20}\bto\b[^.]{0,40}(?:@|https?://)",
    ),
    (
        Check::Exfiltration,
        false,
        r"https?://(?:\d{1,3}\.){3}\d{1,3}\b|\b(?:send|post|upload|report)\b[^.]{0,60}\bto https?://",
    ),
    (
        Check::Instructions,
        true,
        r"(?:curl|wget)\b[^|]{0,200}\|\s*(?:sudo )?(?:ba|z|da)?sh\b|\brm -rf [/~]|\bbase64 (?:-d|--decode)\b[^|]{0,40}\|\s*(?:ba)?sh",
    ),
    // Other tools.
    (
        Check::OtherTools,
        true,
        r"\b(?:every time|each time|whenever|when)\b[^.]{0,20}\b(?:another|any other|other) tools?\b[^.]{0,30}\b(?:send|pass|include|forward|copy|report)\b",
    ),
    (
        Check::OtherTools,
        true,
        r"\btools?\b[^.]{0,30}\b(?:must|should) only\b[^.]{0,30}\b(?:recipient|account|address|iban|destination)\b|\b(?:route|redirect) (?:all|every)\b[^.]{0,40}\b(?:this|here)\b",
    ),
    (
        Check::OtherTools,
        false,
        r"\b(?:before|after|when|whenever|prior to)\b[^.]{0,30}\b(?:using|calling|invoking|running|executing)?\s?\b(?:any|every|all|each|other|another)\b (?:other )?(?:tools?|functions?|calls?)\b",
    ),
    (
        Check::OtherTools,
        false,
        r"\b(?:instead of|rather than|in place of)\b[^.]{0,30}\b(?:the )?(?:other|original|built-?in|official|default)\b[^.]{0,20}\b(?:tools?|functions?|server)",
    ),
    (
        Check::OtherTools,
        false,
        r"\b(?:do not|don'?t|never)\b[^.]{0,15}\b(?:use|call|trust)\b[^.]{0,20}\b(?:any |the )?(?:other|another|alternative)\b[^.]{0,20}\b(?:tools?|servers?)",
    ),
    (
        Check::OtherTools,
        true,
        r"\b(?:when|whenever|if)\b[^.]{0,60}\b(?:tool|send|e-?mail|payment|transfer)\b[^.]{0,60}\b(?:change|replace|redirect|modify|set)\b[^.]{0,40}\b(?:recipient|address|account|destination|amount|iban|to)\b",
    ),
    (
        Check::OtherTools,
        false,
        r"\b(?:this tool (?:replaces|supersedes|overrides)|takes? (?:precedence|priority) over|highest priority|always (?:call|use|run|invoke) this (?:tool|function|first))",
    ),
];

/// Words without which nothing above matches would be most of the dictionary, so the patterns are
/// tried together.
static SET: LazyLock<Option<(RegexSet, Vec<Regex>)>> = LazyLock::new(|| {
    let patterns = SOUGHT.iter().map(|(.., pattern)| *pattern);
    let set = RegexSet::new(patterns.clone()).ok()?;
    let single: Result<Vec<Regex>, _> = patterns.map(Regex::new).collect();
    Some((set, single.ok()?))
});

/// What is said in a text, tricks undone.
pub(super) fn find(text: &str) -> Vec<Finding> {
    let plain = plain(text);
    let Some((set, single)) = SET.as_ref() else {
        // Cannot happen with patterns that the tests compile; nothing passes then.
        return vec![finding(
            Check::Instructions,
            true,
            "the patterns cannot be read",
        )];
    };
    let hits = set.matches(&plain);
    hits.iter()
        .filter_map(|index| {
            let (check, hard, _) = SOUGHT.get(index)?;
            let place = single.get(index)?.find(&plain)?;
            Some(finding(*check, *hard, place.as_str()))
        })
        .collect()
}
