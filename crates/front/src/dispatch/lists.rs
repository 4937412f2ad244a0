//! The lists.

use legation_gate::ListKind;
use legation_wire::json::{Object, Raw};

use super::{Inquiry, page, refused};
use crate::parking::Body;
use crate::speaker::Speaker;

/// How long a modern client may go on with a list; listeners hear of changes
/// at once.
const LIST_TTL_MS: i64 = 5_000;

/// One page of a list.
pub(super) fn list(inquiry: &Inquiry, kind: ListKind) -> Body {
    let listing = inquiry
        .shared
        .gate
        .listing(&inquiry.context, &inquiry.endpoint, kind)
        .map_err(|refusal| refused(&refusal))?;
    let client = &inquiry.context.caller.principal.client;
    let discovery = &inquiry.shared.settings.discovery;
    let listing = discovery.shorten(client, &inquiry.endpoint, kind, listing);
    let cursor = inquiry
        .request
        .params
        .as_ref()
        .and_then(|params| params.get("cursor"));
    let page = page::page(&listing, cursor.as_ref())?;
    let entries = listing.entries.get(page.range.clone()).unwrap_or_default();
    let mut result = Object::new();
    if let Speaker::Modern(_) = &inquiry.speaker {
        result.set("resultType", Raw::from_static(r#""complete""#));
        result.set("ttlMs", Raw::int(LIST_TTL_MS));
        result.set("cacheScope", Raw::from_static(r#""private""#));
    }
    result.set(
        kind.member(),
        Raw::array(entries.iter().map(|entry| &entry.raw)),
    );
    if let Some(next) = page.next {
        result.set("nextCursor", Raw::str(&next));
    }
    Ok(result.to_raw())
}
