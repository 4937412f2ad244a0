use std::sync::Arc;

use legation_core::ServerName;
use legation_gate::policy::Target;
use legation_gate::{Endpoint, Item, ListKind, Listing, Resolve, ServerSet as _, Unresolved};

use super::others::{Others, context, entry};
use super::tools::{FakeAudit, FakeHub};
use crate::audit::Audit;
use crate::hub::Hub;
use crate::{Native, Natives, Views};

/// A view `tools` that shows `hub` and not `audit`.
#[derive(Debug)]
pub(super) struct OneView;

impl Views for OneView {
    fn includes(&self, view: &str, server: &str) -> bool {
        view == "tools" && server == "hub"
    }
}

fn natives() -> Natives {
    let listing = Listing {
        version: 7,
        entries: vec![entry("files-read", "Reads a file")],
    };
    let hub = Hub::new(Arc::new(FakeHub::default()));
    let audit = Audit::new(Arc::new(FakeAudit::default()));
    Natives::new(
        vec![Arc::new(hub), Arc::new(audit)],
        Arc::new(Others(Arc::new(listing))),
        Arc::new(OneView),
    )
}

fn server(name: &str) -> Endpoint {
    Endpoint::Server(ServerName::parse(name).unwrap())
}

fn resolve(endpoint: &Endpoint, item: &Item) -> Result<Target, Unresolved> {
    match natives().resolve(&context().caller, endpoint, item) {
        Resolve::Ready(found) => found,
        Resolve::Wait(_) => panic!("nothing to wait for"),
    }
}

#[test]
fn names_lead_to_native_tools_where_they_are_shown() {
    let view = |name: &str| Endpoint::View(name.into());
    let tool = |name: &str| Item::Tool(name.into());
    let resource = |uri: &str| Item::Resource(uri.into());
    for (endpoint, item, found) in [
        (
            Endpoint::All,
            tool("hub-find_tools"),
            Some("hub/find_tools"),
        ),
        (
            Endpoint::All,
            tool("hub/find_tools"),
            Some("hub/find_tools"),
        ),
        (Endpoint::All, tool("audit-query"), Some("audit/query")),
        (Endpoint::All, tool("find_tools"), None),
        (Endpoint::All, tool("hub-nothing"), None),
        (Endpoint::All, tool("hubfind_tools"), None),
        (Endpoint::All, tool("files-read"), None),
        (server("hub"), tool("find_tools"), Some("hub/find_tools")),
        (server("hub"), tool("hub-find_tools"), None),
        (server("hub"), tool("query"), None),
        (server("files"), tool("hub-find_tools"), None),
        (
            view("tools"),
            tool("hub-find_tools"),
            Some("hub/find_tools"),
        ),
        (view("tools"), tool("audit-query"), None),
        (view("other"), tool("hub-find_tools"), None),
        (
            Endpoint::All,
            resource("legation://servers"),
            Some("hub/legation://servers"),
        ),
        (
            server("audit"),
            resource("legation://audit/recent"),
            Some("audit/legation://audit/recent"),
        ),
        (view("tools"), resource("legation://audit/recent"), None),
        (server("audit"), resource("legation://servers"), None),
        (Endpoint::All, Item::Prompt("hub-find_tools".into()), None),
    ] {
        let target = resolve(&endpoint, &item).ok();
        let named = target.map(|target| format!("{}/{}", target.server, target.item));
        assert_eq!(named.as_deref(), found, "{endpoint:?} {item:?}");
    }
}

#[test]
fn lists_hold_the_natives_after_the_others_and_stay_the_same() {
    let natives = natives();
    let caller = context().caller;
    let names = |listing: &Listing| -> Vec<String> {
        let name = |entry: &legation_gate::Entry| {
            entry
                .raw
                .get("name")
                .unwrap()
                .to_str()
                .unwrap()
                .into_owned()
        };
        listing.entries.iter().map(name).collect()
    };
    let all = natives
        .listing(&caller, &Endpoint::All, ListKind::Tools)
        .unwrap();
    assert_eq!(names(&all)[..2], ["files-read", "hub-servers"]);
    assert_eq!(all.entries.len(), 1 + 4 + 3);
    let again = natives
        .listing(&caller, &Endpoint::All, ListKind::Tools)
        .unwrap();
    assert!(Arc::ptr_eq(&all, &again));
    assert_ne!(all.version, 7);
    let view = Endpoint::View("tools".into());
    let view = natives.listing(&caller, &view, ListKind::Tools).unwrap();
    assert_eq!(view.entries.len(), 1 + 4);
    let own = natives
        .listing(&caller, &server("audit"), ListKind::Tools)
        .unwrap();
    assert_eq!(names(&own), ["log", "query", "verify"]);
    let prompts = natives
        .listing(&caller, &server("audit"), ListKind::Prompts)
        .unwrap();
    assert!(prompts.entries.is_empty());
    // A list without natives is the others' own.
    let prompts = natives
        .listing(&caller, &Endpoint::All, ListKind::Prompts)
        .unwrap();
    assert_eq!(prompts.version, 7);
}

#[test]
fn definitions_are_whole_and_distinct() {
    let natives = natives();
    let listing = natives
        .listing(&context().caller, &Endpoint::All, ListKind::Tools)
        .unwrap();
    for entry in listing.entries.iter().skip(1) {
        let definition: serde_json::Value = entry.raw.deserialize().unwrap();
        assert_eq!(definition["inputSchema"]["type"], "object", "{definition}");
        assert_eq!(
            definition["annotations"]["readOnlyHint"],
            entry.read_only_hint
        );
        let item = Item::Tool(definition["name"].as_str().unwrap().into());
        let target = resolve(&Endpoint::All, &item).unwrap();
        assert!(target.definition.is_some() && *target.item == *entry.item);
    }
}

#[test]
fn what_natives_say_stands_after_the_others() {
    let natives = natives();
    let all = natives.describe(&context().caller, &Endpoint::All).unwrap();
    let text = all.instructions.unwrap();
    assert!(text.starts_with("theirs\n\n[hub] find_tools"), "{text}");
    assert!(all.capabilities.tools && all.capabilities.resources);
    let own = natives
        .describe(&context().caller, &server("audit"))
        .unwrap();
    assert!(own.instructions.is_none() && own.capabilities.tools);
}

#[test]
fn the_table_of_native_tools_is_of_the_tools_themselves() {
    let hub = Hub::new(Arc::new(FakeHub::default()));
    let audit = Audit::new(Arc::new(FakeAudit::default()));
    let servers: [&dyn Native; 2] = [&hub, &audit];
    for native in servers {
        let mut own: Vec<(&str, bool)> = native
            .tools()
            .iter()
            .map(|tool| (tool.name, tool.facts.changes))
            .collect();
        let mut known: Vec<(&str, bool)> = legation_gate::policy::governance::native_tools()
            .filter(|known| known.server == native.name())
            .map(|known| (known.tool, known.native_change))
            .collect();
        let told = crate::known_tools();
        let told: Vec<_> = told
            .iter()
            .filter(|known| known.server.as_str() == native.name())
            .map(|known| (known.item.as_deref(), known.schema.as_deref(), known.native))
            .collect();
        let tools = native.tools().iter();
        let tools: Vec<_> = tools
            .map(|tool| (Some(tool.name), Some(tool.input), Some(tool.facts)))
            .collect();
        assert_eq!(told, tools);
        own.sort_unstable();
        known.sort_unstable();
        assert_eq!(own, known, "{}", native.name());
        for tool in native.tools() {
            // What `call_tool` does is decided as the call it stands for.
            let relays = native.name() == "hub" && tool.name == "call_tool";
            assert_eq!(tool.facts.changes, !tool.reads && !relays, "{}", tool.name);
        }
    }
}

#[test]
fn a_target_says_what_is_known_of_a_native_tool() {
    for (item, changes) in [
        ("audit/log", true),
        ("audit/query", false),
        ("hub/call_tool", false),
    ] {
        let target = resolve(&Endpoint::All, &Item::Tool(item.into())).unwrap();
        assert_eq!(target.native.map(|native| native.changes), Some(changes));
        let listed = natives()
            .listing(&context().caller, &Endpoint::All, ListKind::Tools)
            .unwrap();
        let entry = listed
            .entries
            .iter()
            .find(|entry| format!("{}/{}", entry.server, entry.item) == item)
            .unwrap();
        assert_eq!(entry.native, target.native);
    }
}
