//! The members of each kind of record, in their fixed order.

use std::ops::Range;

use legation_core::{ClientId, EntityId, ServerName};

use crate::line::Line;
use crate::record::{ChatUse, Detail, Intent, ModelUse, Note, OutcomeRecord, Refused, Status};
use crate::said;

/// Longest item (a tool's name, a resource's URI) kept in a record, in bytes.
pub(crate) const ITEM_MAX: usize = 1024;
/// Longest rule, definition, reason or topic kept in a record, in bytes.
const WORD_MAX: usize = 256;
/// Longest note kept in a record, in bytes.
const NOTE_MAX: usize = 4096;
/// Longest client, server or entity name kept; ids are checked elsewhere, this
/// only keeps a record small whatever happens there.
pub(crate) const ID_MAX: usize = 256;
/// Most labels kept in a record.
const LABELS_MAX: usize = 64;

/// Where in an intent's members those are that its outcome repeats.
#[derive(Debug, Clone)]
pub(crate) struct Spans {
    call: Range<usize>,
    subject: Range<usize>,
}

/// What an outcome repeats of its intent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Repeated<'a> {
    /// The member `call`.
    pub(crate) call: &'a [u8],
    /// The members of [`Subject`], and who acts.
    pub(crate) subject: &'a [u8],
    /// The intent's place in the chain.
    pub(crate) intent: i64,
}

/// The members that a record and the outcome of the same call have in common.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub(crate) client: &'a str,
    pub(crate) via: &'a str,
    pub(crate) server: Option<&'a str>,
    pub(crate) verb: &'a str,
    pub(crate) item: &'a str,
}

// === impl Subject ===

impl Subject<'_> {
    pub(crate) fn write(&self, line: &mut Line) {
        line.text("client", self.client, ID_MAX)
            .text("via", self.via, WORD_MAX);
        if let Some(server) = self.server {
            line.text("server", server, ID_MAX);
        }
        line.text("verb", self.verb, WORD_MAX)
            .text("item", self.item, ITEM_MAX);
    }
}

// === impl Spans ===

impl Spans {
    /// What the outcome repeats, out of the intent's members and place.
    pub(crate) fn of<'a>(&self, members: &'a [u8], intent: i64) -> Repeated<'a> {
        Repeated {
            call: &members[self.call.clone()],
            subject: &members[self.subject.clone()],
            intent,
        }
    }
}

// === impl Detail ===

impl Detail<'_> {
    fn write(&self, line: &mut Line) {
        if !self.labels.is_empty() {
            let labels = self.labels.iter().take(LABELS_MAX).map(EntityId::as_str);
            line.texts("labels", labels, ID_MAX);
        }
        let words = [
            ("rung", self.rung),
            ("grant", self.grant),
            ("approval", self.approval),
            ("proposal", self.proposal),
            ("provider_used", self.provider),
            ("on_behalf_of", self.on_behalf_of.map(ClientId::as_str)),
            ("reason_code", self.reason_code),
            ("event", self.event),
            ("governance_result", self.governance_result),
            ("tool_name", self.tool_name),
        ];
        for (name, word) in words {
            if let Some(word) = word {
                line.text(name, word, WORD_MAX);
            }
        }
        if let Some(confidence) = self.confidence.filter(|said| said.is_finite()) {
            line.millis("confidence", thousandths(confidence));
        }
        if let Some(version) = self.policy {
            line.version("policy", version);
        }
        if let Some(entities) = self.entities {
            let entities = entities.iter().take(LABELS_MAX).map(EntityId::as_str);
            line.texts("entities", entities, ID_MAX);
        }
        if !self.traits.is_empty() {
            line.texts("traits", self.traits.iter().copied(), WORD_MAX);
        }
        if let Some(model) = &self.model {
            model.write(line);
        }
        if let Some(chat) = &self.chat {
            chat.write(line);
        }
    }
}

// === impl ModelUse ===

impl ModelUse<'_> {
    fn write(&self, line: &mut Line) {
        let words = [
            ("job_id", self.job),
            ("source", self.source),
            ("conversation", self.conversation),
        ];
        for (name, word) in words {
            if let Some(word) = word {
                line.text(name, word, WORD_MAX);
            }
        }
        let counts = [
            ("input_tokens", self.input_tokens),
            ("output_tokens", self.output_tokens),
            ("cost_micro_usd", self.cost_micro_usd),
        ];
        for (name, count) in counts {
            if let Some(count) = count {
                line.int(name, i64::try_from(count).unwrap_or(i64::MAX));
            }
        }
    }
}

// === impl ChatUse ===

impl ChatUse<'_> {
    fn write(&self, line: &mut Line) {
        line.text("intent", self.intent, WORD_MAX)
            .text("user_github_login", self.login, WORD_MAX);
        if let Some(thread) = self.thread {
            line.text("copilot_thread_id", thread, WORD_MAX);
        }
    }
}

/// A share of one in thousandths, which is as much as anybody means by it.
fn thousandths(share: f64) -> u64 {
    let wanted = share.clamp(0.0, 1.0) * 1_000.0;
    (0..=1_000_u32)
        .find(|count| f64::from(*count) + 0.5 >= wanted)
        .map_or(0, u64::from)
}

// === impl Intent ===

impl Intent<'_> {
    /// The members, and where those are that the outcome repeats. `identity` is
    /// who acts, as members; `args` the commitment to the arguments.
    pub(crate) fn members(
        &self,
        kind: &'static str,
        identity: &[u8],
        args: Option<&[u8; 32]>,
    ) -> (Line, Spans) {
        let mut line = Line::with_capacity(512);
        line.word("kind", kind);
        let call = line.len() + 1;
        line.call("call", self.call);
        let (call, start) = (call..line.len(), line.len() + 1);
        let subject = Subject {
            client: self.client.as_str(),
            via: self.via.as_str(),
            server: self.server.map(ServerName::as_str),
            verb: self.verb.as_str(),
            item: self.item,
        };
        let length = said::say(&mut line, self, identity, |line| {
            subject.write(line);
            line.members(identity);
            let length = line.len() - start;
            if let Some(definition) = self.definition {
                line.digest("definition", definition);
            }
            line.text("rule", self.rule, WORD_MAX);
            self.detail.write(line);
            length
        });
        let subject = start..start + length;
        if let Some(args) = args {
            line.digest("args", args);
        }
        (line, Spans { call, subject })
    }
}

// === impl Refused ===

impl Refused<'_> {
    pub(crate) fn members(&self, identity: &[u8], args: Option<&[u8; 32]>) -> Vec<u8> {
        let (mut line, _) = self.intent.members("refused", identity, args);
        if let Some(code) = self.code {
            line.int("code", code);
        }
        line.text("reason", self.reason, WORD_MAX);
        line.into_members()
    }
}

// === impl OutcomeRecord ===

impl OutcomeRecord<'_> {
    /// An outcome of which nothing but its status is known.
    #[must_use]
    pub fn bare(status: Status) -> Self {
        Self {
            status,
            code: None,
            result: None,
            detail: Detail::default(),
        }
    }

    /// `execution_us` is absent where the call outlived the hub; `commitment`
    /// is to the result.
    pub(crate) fn members(
        &self,
        intent: &Repeated<'_>,
        execution_us: Option<u64>,
        commitment: Option<&[u8; 32]>,
    ) -> Vec<u8> {
        let mut line = Line::with_capacity(intent.subject.len() + 256);
        line.word("kind", "outcome")
            .members(intent.call)
            .int("intent", intent.intent)
            .members(intent.subject)
            .word("status", self.status.as_str());
        if let Some(code) = self.code {
            line.int("code", code);
        }
        if let Some(micros) = execution_us {
            line.millis("execution_time_ms", micros);
        }
        self.detail.write(&mut line);
        if let Some(result) = self.result {
            line.int(
                "result_bytes",
                i64::try_from(result.len()).unwrap_or(i64::MAX),
            );
        }
        if let Some(commitment) = commitment {
            line.digest("result", commitment);
        }
        line.into_members()
    }
}

// === impl Note ===

impl<'a> Note<'a> {
    /// A note without anything that is not asked for here.
    #[must_use]
    pub fn new(entity: &'a EntityId, topic: &'a str, text: &'a str) -> Self {
        Self {
            entity,
            client: None,
            topic,
            text,
            detail: Detail::default(),
        }
    }

    pub(crate) fn members(&self, identity: &[u8]) -> Vec<u8> {
        let mut line = Line::with_capacity(self.text.len() + 192);
        line.word("kind", "note");
        if let Some(client) = self.client {
            line.text("client", client.as_str(), ID_MAX);
        }
        line.members(identity);
        line.text("topic", self.topic, WORD_MAX)
            .text("text", self.text, NOTE_MAX);
        self.detail.write(&mut line);
        line.into_members()
    }
}
