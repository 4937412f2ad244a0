//! What rules may speak of: every tool that was ever pinned.

use std::collections::HashMap;

use legation_config::ServerSpec;
use legation_core::ServerName;
use legation_core::error::chain;
use legation_gate::policy::KnownTool;
use legation_store::PinRow;
use legation_wire::json::Raw;

use super::{Pins, STORED, TOOL};

// === impl Pins ===

impl Pins {
    /// The pinned tools, those of servers that are away or gone included, and
    /// each configured server once without a tool: nothing may be pinned of it
    /// yet.
    pub(crate) fn tools(&self, specs: &[ServerSpec]) -> Vec<KnownTool> {
        let configured = specs
            .iter()
            .map(|spec| KnownTool::server_only(spec.name.clone(), spec.trusted));
        let mut tools: Vec<KnownTool> = configured.collect();
        let rows = match self.store.pin_list(None) {
            Ok(rows) => rows,
            Err(error) => {
                tracing::error!(error = %chain(&error), "the pinned definitions cannot be read; rules about single tools are not checked");
                return tools;
            }
        };
        let owners: HashMap<Box<str>, &ServerSpec> =
            specs.iter().map(|spec| (spec.label(), spec)).collect();
        let of_tools = rows.into_iter().filter(|row| row.kind == TOOL);
        tools.extend(of_tools.filter_map(|row| known(row, &owners)));
        tools
    }
}

fn known(row: PinRow, owners: &HashMap<Box<str>, &ServerSpec>) -> Option<KnownTool> {
    let of = match owners.get(row.server.as_str()) {
        Some(spec) => KnownTool::server_only(spec.name.clone(), spec.trusted),
        None => {
            let folder = row.server.rsplit_once("@/");
            let name = folder.map_or(row.server.as_str(), |(name, _)| name);
            KnownTool::server_only(ServerName::parse(name).ok()?, false)
        }
    };
    let definition = Raw::parse(row.definition.into(), &STORED).ok();
    let schema = definition.and_then(|definition| definition.get("inputSchema"));
    Some(KnownTool {
        item: Some(row.item.into()),
        schema: schema.map(|schema| schema.as_text().into()),
        ..of
    })
}
