//! What the files say of each other.

use super::Governance;
use super::load::{Reader, ToolName};

/// Runs every check.
pub(super) fn run(_governance: &mut Governance, _reader: &mut Reader<'_>, _tools: &[ToolName<'_>]) {
}
