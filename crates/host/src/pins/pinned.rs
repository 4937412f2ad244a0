//! What a server's definitions are, but for those that are simply approved.

use legation_core::QuickMap;
use legation_gate::ListKind;
use legation_gate::policy::PinState;

use super::{INSTRUCTIONS, SKILL, TOOL, Thing};

/// What a set of definitions has that is not simply approved.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Pinned {
    tools: QuickMap<Box<str>, PinState>,
    prompts: QuickMap<Box<str>, PinState>,
    templates: QuickMap<Box<str>, PinState>,
    skills: QuickMap<Box<str>, PinState>,
    instructions: PinState,
}

impl Pinned {
    /// What is known of one definition.
    pub(crate) fn state(&self, kind: ListKind, name: &str) -> PinState {
        let found = self.of(kind).and_then(|of| of.get(name));
        found.copied().unwrap_or_default()
    }

    /// Whether a definition is set aside.
    pub(crate) fn hides(&self, kind: ListKind, name: &str) -> bool {
        matches!(
            self.state(kind, name),
            PinState::Changed | PinState::Quarantined
        )
    }

    /// Whether the instructions may be passed on: they are read by models
    /// before anybody could be asked.
    pub(crate) fn shows_instructions(&self) -> bool {
        self.instructions == PinState::Approved
    }

    /// Whether a list reads the same under both.
    pub(crate) fn same(&self, other: &Self, kind: ListKind) -> bool {
        self.of(kind) == other.of(kind)
    }

    /// How many definitions wait for somebody to look at them.
    pub(crate) fn waiting(&self) -> usize {
        let lists = [&self.tools, &self.prompts, &self.templates, &self.skills];
        let instructions = usize::from(self.instructions != PinState::Approved);
        lists.iter().map(|of| of.len()).sum::<usize>() + instructions
    }

    fn of(&self, kind: ListKind) -> Option<&QuickMap<Box<str>, PinState>> {
        match kind {
            ListKind::Tools => Some(&self.tools),
            ListKind::Prompts => Some(&self.prompts),
            ListKind::Templates => Some(&self.templates),
            ListKind::Skills => Some(&self.skills),
            ListKind::Resources => None,
        }
    }

    pub(super) fn put(&mut self, (kind, name): &Thing, state: PinState) {
        if *kind == INSTRUCTIONS {
            self.instructions = state;
            return;
        }
        if state == PinState::Approved {
            return;
        }
        let of = match *kind {
            TOOL => &mut self.tools,
            "prompt" => &mut self.prompts,
            SKILL => &mut self.skills,
            _ => &mut self.templates,
        };
        of.insert(name.clone(), state);
    }
}
