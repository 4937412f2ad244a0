//! What a tool says: a text for models, and facts for programs.

use legation_core::OpContext;
use legation_core::error::chain;
use legation_gate::Outcome;
use legation_wire::json::{Object, Raw};

use super::error::WorkspaceError;

/// What a tool found or did.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) text: String,
    /// Members of the structured result.
    pub(super) facts: Object,
}

// === impl Answer ===

impl Answer {
    /// The result of a call. Clients that show programs' facts and nothing else
    /// find the text among them; the engine reads both and has no use for it
    /// twice.
    pub(super) fn outcome(self, context: &OpContext) -> Outcome {
        let text = Raw::str(&self.text);
        let mut facts = self.facts;
        if context.task.is_none() {
            facts.set("text", text.clone());
        }
        let block = Object::new()
            .with("type", Raw::str("text"))
            .with("text", text)
            .to_raw();
        let result = Object::new()
            .with("content", Raw::array([&block]))
            .with("structuredContent", facts.to_raw());
        Outcome::Complete(result.to_raw())
    }
}

/// The result of a call that did nothing.
pub(super) fn refused(error: &WorkspaceError) -> Outcome {
    crate::failed(&format!("{}. {}", chain(error), error.hint()))
}
