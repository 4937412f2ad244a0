//! Orders that a definition gives to the model.

use std::sync::{LazyLock, OnceLock};

use aho_corasick::{AhoCorasick, Input};
use regex::Regex;

use super::{Check, Finding, finding, plain};

/// What it is, whether it is hard, groups of words of each of which the text must have one for the
/// pattern to match, and the pattern.
pub(crate) type Sought = (
    Check,
    bool,
    &'static [&'static [&'static str]],
    &'static str,
);

/// Ways to forbid something.
const NEVER: &[&str] = &[
    "do not",
    "don't",
    "dont",
    "never",
    "must not",
    "avoid",
    "without",
    "refrain from",
];
/// Who sits before the model.
const PERSON: &[&str] = &["user", "human", "operator"];

/// What is looked for in lower-case text with single spaces.
pub(crate) const SOUGHT: &[Sought] = &[
    // Overriding what the model was told.
    (
        Check::Instructions,
        true,
        &[
            &[
                "ignore",
                "disregard",
                "forget",
                "override",
                "bypass",
                "skip",
                "do not follow",
                "stop following",
            ],
            &[
                "instruction",
                "rule",
                "prompt",
                "guideline",
                "directive",
                "constraint",
                "polic",
                "command",
                "safety",
                "guardrail",
                "safeguard",
            ],
        ],
        r"\b(?:ignore|disregard|forget|override|bypass|skip|do not follow|stop following)\b[^.]{0,30}\b(?:previous|prior|above|earlier|preceding|existing|original|system|other|all|your|any|user's)\b[^.]{0,20}\b(?:instruction|rule|prompt|guideline|directive|constraint|polic|command|safety|guardrail|safeguard)",
    ),
    (
        Check::Instructions,
        true,
        &[&[
            "ignora",
            "olvida",
            "ignorez",
            "oubliez",
            "ignoriere",
            "忽略",
            "以前の指示",
            "игнорируй",
            "nhopиpyй",
        ]],
        r"\b(?:ignora|ignorar|olvida)\b.{0,30}\binstrucciones|\b(?:ignorez|oubliez)\b.{0,30}\binstructions|\bignoriere\b.{0,40}\banweisungen|忽略.{0,12}(?:指令|指示|提示)|以前の指示.{0,6}無視|игнорируй.{0,30}инструкци|nhopиpyй",
    ),
    (
        Check::Instructions,
        true,
        &[
            &["<", "[", "###"],
            &[
                "important",
                "sys",
                "secret",
                "critical",
                "hidden",
                "inst",
                "admin",
                "override",
                "assistant",
                "|im",
            ],
        ],
        r"<\s*/?\s*(?:important|system|secret|critical|hidden|instructions?|admin|override|assistant|sys)\s*>|\[/?(?:inst|sys)\]|<\|im[ _](?:start|end)\|>|<<sys>>|\[system\]|###\s*(?:system|new instructions)",
    ),
    (
        Check::Instructions,
        true,
        &[&[
            "you are now",
            "from now on",
            "act as if you",
            "pretend to be",
            "pretend you",
            "enter developer",
            "enter admin",
            "enter dan",
            "new system ",
            "new instructions",
            "new prompt",
            "system override",
            "system prompt",
            "system notice",
            "system message",
        ]],
        r"\b(?:you are now|from now on,? you|act as if you|pretend (?:to be|you)|enter (?:developer|admin|dan) mode|new (?:system )?(?:instructions|prompt)\s*:|system (?:override|prompt\s*:|notice\s*:|message\s*:))",
    ),
    // Hiding it from the person.
    (
        Check::Instructions,
        true,
        &[
            NEVER,
            &[
                "tell", "inform", "mention", "notify", "alert", "reveal", "disclos", "show", "let",
                "asking", "explain", "warn",
            ],
            &[
                "user", "human", "operator", "person", "owner", "anyone", "them",
            ],
        ],
        r"\b(?:do not|don'?t|never|must not|avoid|without|refrain from)\b[^.]{0,40}\b(?:tell|telling|inform|informing|mention|mentioning|notify|notifying|alert|alerting|reveal|revealing|disclose|disclosing|show|showing|let|letting|asking|explain|explaining|warn|warning)\b[^.]{0,40}\b(?:the |to )?(?:user|human|operator|person|owner|anyone|them)\b[^.]{0,30}",
    ),
    (
        Check::Instructions,
        true,
        &[
            PERSON,
            &["must", "should", "does", "need", "will"],
            &["not", "n't"],
            &[
                "know",
                "see",
                "notice",
                "be told",
                "be aware",
                "be informed",
            ],
        ],
        r"\b(?:user|human|operator)\b[^.]{0,20}\b(?:must|should|does|need|will)\s?(?:not|n't)\b[^.]{0,20}\b(?:know|see|notice|be (?:told|aware|informed))",
    ),
    (
        Check::Instructions,
        true,
        &[&[
            "secretly",
            "silently",
            "covertly",
            "stealthily",
            "quietly",
            "in the background",
        ]],
        r"\b(?:secretly|silently|covertly|stealthily|quietly|in the background)\b[^.]{0,40}\b(?:send|read|copy|forward|upload|include|run|execute|call|collect|add|append|transmit|exfiltrate)\b",
    ),
    (
        Check::Instructions,
        true,
        &[
            &["keep", "remain"],
            &["hidden", "secret", "confidential"],
            PERSON,
        ],
        r"\b(?:keep|remain)\b[^.]{0,20}\b(?:hidden|secret|confidential)\b[^.]{0,30}\b(?:user|human|operator)",
    ),
    (
        Check::Instructions,
        true,
        &[
            &[
                "bypass",
                "skip",
                "circumvent",
                "evade",
                "ignore",
                "disregard",
            ],
            &["safety", "security", "content", "guardrail", "safeguard"],
        ],
        r"\b(?:bypass|skip|circumvent|evade|ignore|disregard)\b (?:\w+ ){0,2}(?:(?:safety|security|content) (?:polic|restriction|check|filter|measure|guideline)|guardrail|safeguard)",
    ),
    // A turn of the conversation that the server made up.
    (
        Check::Instructions,
        true,
        &[&["system: ", "assistant: ", "developer: "]],
        r"(?:^|[.!?>] )(?:system|assistant|developer): ",
    ),
    // What the model was told is not for arguments or results.
    (
        Check::Instructions,
        true,
        &[
            &[
                "repeat", "output", "print", "reveal", "show", "dump", "recite", "echo", "write",
            ],
            &[
                "system", "initial", "hidden", "original", "internal", "secret",
            ],
            &["instruction", "prompt"],
        ],
        r"\b(?:repeat|output|print|reveal|show|dump|recite|echo|write)\b (?:\w+ ){0,3}(?:system prompt|(?:initial|hidden|original|internal|secret) (?:instructions?|prompts?))\b",
    ),
    (
        Check::Instructions,
        true,
        &[
            &["chat", "conversation", "message"],
            &["history", "log", "so far"],
            &["field", "argument", "parameter"],
        ],
        r"\b(?:put|show|write|print|repeat|dump|include)\b[^.]{0,30}\b(?:chat|conversation|message) (?:history|log|so far)\b[^.]{0,20}\b(?:in|into|as)\b[^.]{0,20}\b(?:field|argument|parameter)",
    ),
    (
        Check::Instructions,
        true,
        &[
            NEVER,
            &["ask", "bother", "prompt", "wait"],
            PERSON,
            &["confirm", "consent", "permission", "approv"],
        ],
        r"\b(?:do not|don'?t|never|without)\b[^.]{0,20}\b(?:ask|bother|prompt|wait)\w*\b[^.]{0,30}\b(?:user|human|operator)\b[^.]{0,30}\b(?:confirm|consent|permission|approv)",
    ),
    (
        Check::Instructions,
        true,
        &[&[
            "conceal",
            "withhold",
            "hide this",
            "hide it",
            "hide that",
            "log nothing",
        ]],
        r"\b(?:conceal|withhold|hide (?:this|it|that))\b[^.]{0,40}\bfrom\b[^.]{0,10}\b(?:user|human|operator|person|owner)\b|\blog nothing\b",
    ),
    // Reading what is nobody's business.
    (
        Check::Instructions,
        true,
        &[
            &["read", "open", "load", "collect", "gather", "fetch"],
            &[
                "credential",
                "secrets",
                "environment variables",
                "passwords",
                "private key",
            ],
            &[
                "pass", "include", "send", "put", "attach", "add", "forward", "upload", "provide",
            ],
        ],
        r"\b(?:read|open|load|collect|gather|fetch)\b[^.]{0,40}\b(?:credentials?|secrets|environment variables|passwords|private keys?)\b[^.]{0,40}\b(?:and|then)\b[^.]{0,20}\b(?:pass|include|send|put|attach|add|forward|upload|provide)\b",
    ),
    (
        Check::Instructions,
        true,
        &[&[
            "~/.",
            "id rsa",
            "id ed25519",
            "/etc/passwd",
            "/etc/shadow",
            ".env",
            "mcp.json",
            ".git-credentials",
            "keychain",
            "wallet.dat",
            "seed phrase",
        ]],
        r"\b(?:read|cat|open|include|send|pass|get|fetch|access|load|copy|attach|contents? of|upload|paste|provide|extract)\b[^.]{0,60}(?:~/\.(?:ssh|aws|gnupg|kube|config|netrc|npmrc|cursor|claude)|\bid (?:rsa|ed25519)\b|/etc/(?:passwd|shadow)|\.env\b|\bmcp\.json|\.git-credentials|keychain|wallet\.dat|\bseed phrase)",
    ),
    (
        Check::Instructions,
        true,
        &[
            &[
                "conversation",
                "chat history",
                "chat log",
                "message history",
                "previous messages",
                "system prompt",
                "api key",
                "credential",
                "password",
                "environment variables",
                "access token",
                "private key",
                "secrets",
                "session cookie",
            ],
            &[
                "send",
                "pass",
                "include",
                "provide",
                "put",
                "forward",
                "post",
                "append",
                "attach",
                "insert",
                "leak",
                "exfiltrate",
                "transmit",
                "upload",
                "report",
                "copy",
                "add",
                "encode",
            ],
        ],
        r"\b(?:send|pass|include|provide|put|forward|post|append|attach|insert|leak|exfiltrate|transmit|upload|report|copy|add|encode)\b[^.]{0,60}\b(?:conversation|chat (?:history|log)|message history|previous messages|system prompt|api keys?|credentials?|passwords?|environment variables|access tokens?|private keys?|secrets|session cookies?)\b[^.]{0,80}\b(?:to|as|in|into|via|with|parameter|argument|field|request|endpoint|server)\b",
    ),
    (
        Check::Exfiltration,
        true,
        &[&["cc", "forward", "also send", "copy"], &["@"]],
        r"\b(?:bcc|cc|forward|also send|send a copy|copy)\b[^.]{0,60}\b[\w.+-]+@[\w-]+\.[\w.-]+",
    ),
    (
        Check::Exfiltration,
        true,
        &[&[
            "webhook.site",
            "requestbin",
            "pipedream.net",
            "burpcollaborator",
            "oastify.com",
            "interact.sh",
            "ngrok",
            "requestcatcher.com",
            "beeceptor.com",
            "dnslog.cn",
            "canarytokens.com",
        ]],
        r"\b(?:webhook\.site|requestbin|pipedream\.net|burpcollaborator|oastify\.com|interact\.sh|ngrok(?:-free)?\.(?:io|app|dev)|requestcatcher\.com|beeceptor\.com|dnslog\.cn|canarytokens\.com)",
    ),
    (
        Check::Exfiltration,
        true,
        &[&["!["], &["http"]],
        r"!\[[^\]]*\]\(\s*https?://[^)]*(?:\{|\$|<|=\s*\[)",
    ),
    (
        Check::Exfiltration,
        true,
        &[&["http"], &["={"]],
        r"https?://\S*[?&]\S*=\{[^}]{0,40}(?:secret|token|passw|api key|history|conversation|cookie|credential)",
    ),
    (
        Check::Exfiltration,
        true,
        &[
            &["send", "post", "upload", "report", "submit", "transmit"],
            &[
                "cookie",
                "contacts",
                "address book",
                "credential",
                "secret",
                "token",
                "password",
                "conversation",
                "history",
            ],
            &["to "],
        ],
        r"\b(?:send|post|upload|report|submit|transmit)\b[^.]{0,40}\b(?:cookies?|contacts|address book|credentials?|secrets?|tokens?|passwords?|conversation|history)\b[^.]{0,30}\bto (?:(?:https?|ftp)://|(?:\d{1,3}\.){3}\d)",
    ),
    (
        Check::Exfiltration,
        true,
        &[
            &["mail", "messages", "payments", "transfers", "requests"],
            &["must", "should", "have to", "need to"],
            &["@", "http"],
        ],
        r"\b(?:e-?mails?|messages|payments|transfers|requests)\b[^.]{0,30}\b(?:must|should|have to|need to)\b[^.]{0,30}\b(?:sent|routed|forwarded|copied|addressed|redirected|go)\b[^.]{0,20}\bto\b[^.]{0,40}(?:@|https?://)",
    ),
    (
        Check::Exfiltration,
        false,
        &[&["http"]],
        r"https?://(?:\d{1,3}\.){3}\d{1,3}\b|\b(?:send|post|upload|report)\b[^.]{0,60}\bto https?://",
    ),
    (
        Check::Instructions,
        true,
        &[&["curl", "wget", "rm -rf", "base64"]],
        r"(?:curl|wget)\b[^|]{0,200}\|\s*(?:sudo )?(?:ba|z|da)?sh\b|\brm -rf [/~]|\bbase64 (?:-d|--decode)\b[^|]{0,40}\|\s*(?:ba)?sh",
    ),
    // Other tools.
    (
        Check::OtherTools,
        true,
        &[&["every time", "each time", "when"], &["other"], &["tool"]],
        r"\b(?:every time|each time|whenever|when)\b[^.]{0,20}\b(?:another|any other|other) tools?\b[^.]{0,30}\b(?:send|pass|include|forward|copy|report)\b",
    ),
    (
        Check::OtherTools,
        true,
        &[&[
            "must only",
            "should only",
            "route all",
            "route every",
            "redirect all",
            "redirect every",
        ]],
        r"\btools?\b[^.]{0,30}\b(?:must|should) only\b[^.]{0,30}\b(?:recipient|account|address|iban|destination)\b|\b(?:route|redirect) (?:all|every)\b[^.]{0,40}\b(?:this|here)\b",
    ),
    (
        Check::OtherTools,
        false,
        &[
            &["before", "after", "when", "prior to"],
            &["any", "every", "all", "each", "other"],
            &["tool", "function", "call"],
        ],
        r"\b(?:before|after|when|whenever|prior to)\b[^.]{0,30}\b(?:using|calling|invoking|running|executing)?\s?\b(?:any|every|all|each|other|another)\b (?:other )?(?:tools?|functions?|calls?)\b",
    ),
    (
        Check::OtherTools,
        false,
        &[
            &["instead of", "rather than", "in place of"],
            &["other", "original", "built", "official", "default"],
            &["tool", "function", "server"],
        ],
        r"\b(?:instead of|rather than|in place of)\b[^.]{0,30}\b(?:the )?(?:other|original|built-?in|official|default)\b[^.]{0,20}\b(?:tools?|functions?|server)",
    ),
    (
        Check::OtherTools,
        false,
        &[
            &["do not", "don't", "dont", "never"],
            &["other", "alternative"],
            &["tool", "server"],
        ],
        r"\b(?:do not|don'?t|never)\b[^.]{0,15}\b(?:use|call|trust)\b[^.]{0,20}\b(?:any |the )?(?:other|another|alternative)\b[^.]{0,20}\b(?:tools?|servers?)",
    ),
    (
        Check::OtherTools,
        true,
        &[
            &["tool", "send", "email", "e-mail", "payment", "transfer"],
            &["change", "replace", "redirect", "modify", "set"],
            &[
                "recipient",
                "address",
                "account",
                "destination",
                "amount",
                "iban",
                "to",
            ],
            &["when", "if"],
        ],
        r"\b(?:when|whenever|if)\b[^.]{0,60}\b(?:tool|send|e-?mail|payment|transfer)\b[^.]{0,60}\b(?:change|replace|redirect|modify|set)\b[^.]{0,40}\b(?:recipient|address|account|destination|amount|iban|to)\b",
    ),
    (
        Check::OtherTools,
        false,
        &[&[
            "this tool replaces",
            "this tool supersedes",
            "this tool overrides",
            "precedence over",
            "priority over",
            "highest priority",
            "always call this",
            "always use this",
            "always run this",
            "always invoke this",
        ]],
        r"\b(?:this tool (?:replaces|supersedes|overrides)|takes? (?:precedence|priority) over|highest priority|always (?:call|use|run|invoke) this (?:tool|function|first))",
    ),
];

/// The patterns. Each is compiled when a text has its words: all of them together would hold more
/// memory than the rest of the hub, and most of them never come near to matching.
static MADE: [OnceLock<Option<Regex>>; SOUGHT.len()] = [const { OnceLock::new() }; SOUGHT.len()];

/// Words of all patterns.
struct Words {
    automaton: AhoCorasick,
    /// The pattern and the group of each word.
    of: Vec<(usize, usize)>,
}

static WORDS: LazyLock<Option<Words>> = LazyLock::new(|| {
    let groups = SOUGHT.iter().enumerate().flat_map(|(pattern, sought)| {
        let groups = sought.2.iter().enumerate();
        groups.map(move |(group, words)| ((pattern, group), *words))
    });
    let words = groups.flat_map(|(place, words)| words.iter().map(move |word| (place, *word)));
    let (of, words): (Vec<_>, Vec<&str>) = words.unzip();
    let automaton = AhoCorasick::new(words).ok()?;
    Some(Words { automaton, of })
});

/// What is said in a text, tricks undone.
pub(super) fn find(text: &str) -> Vec<Finding> {
    let plain = plain(text);
    let mut findings = Vec::new();
    let made = SOUGHT.iter().zip(&MADE).zip(may_match(&plain));
    for (((check, hard, _, pattern), made), may_match) in made {
        if !may_match {
            continue;
        }
        let Some(pattern) = made.get_or_init(|| Regex::new(pattern).ok()) else {
            // Cannot happen with patterns that the tests compile; nothing passes then.
            let unread = "the patterns cannot be read";
            return vec![finding(Check::Instructions, true, unread)];
        };
        if let Some(place) = pattern.find(&plain) {
            findings.push(finding(*check, *hard, place.as_str()));
        }
    }
    findings
}

/// For each pattern whether a text has one word of each of its groups: it is read once for the
/// words of all.
pub(crate) fn may_match(text: &str) -> [bool; SOUGHT.len()] {
    let all = [true; SOUGHT.len()];
    let Some(words) = &*WORDS else { return all };
    let Ok(matches) = words.automaton.try_find_overlapping_iter(Input::new(text)) else {
        return all;
    };
    // A bit for each group.
    let mut found = [0_u32; SOUGHT.len()];
    for word in matches {
        if let Some(&(pattern, group)) = words.of.get(word.pattern().as_usize()) {
            found[pattern] |= 1 << group;
        }
    }
    let mut may_match = [false; SOUGHT.len()];
    for ((may_match, found), (_, _, groups, _)) in may_match.iter_mut().zip(found).zip(SOUGHT) {
        *may_match = found.count_ones() as usize == groups.len();
    }
    may_match
}
