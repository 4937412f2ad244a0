//! Finding records.
//!
//! There is no index: it would be a second page to write at every commit, for
//! questions that are asked a few times a day. A member of a record is looked
//! for as the bytes it is written as; inside a text the same bytes cannot
//! stand, because quotation marks are escaped there, so nothing is parsed.

use legation_core::EntityId;
use legation_store::{LedgerRow, Reader};
use memchr::memmem::Finder;

use crate::error::LedgerError;
use crate::line;
use crate::read::Entry;
use crate::stored::Record;

/// Which records are wanted. What is `None` does not matter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Recorded at this time or later, in milliseconds since 1970.
    pub from_ms: Option<i64>,
    /// Recorded before this time.
    pub until_ms: Option<i64>,
    /// In this entity's chain.
    pub entity: Option<String>,
    /// At this place in its chain.
    pub seq: Option<i64>,
    /// `intent`, `outcome`, `refused` or `note`.
    pub kind: Option<String>,
    /// About this call.
    pub call: Option<String>,
    /// By this client.
    pub client: Option<String>,
    /// To this server.
    pub server: Option<String>,
    /// Under this agent's identity.
    pub agent_id: Option<String>,
    /// With this attribution: see [`legation_core::Attribution`].
    pub attribution: Option<String>,
    /// Of this tool, resource or prompt, by its own name.
    pub item: Option<String>,
    /// Decided by this rule.
    pub rule: Option<String>,
    /// That ended so: see [`Status`](crate::Status). A call that was refused
    /// before it began has ended as `refused`.
    pub status: Option<String>,
    /// Refused for this reason.
    pub reason_code: Option<String>,
    /// About this: the topic of a note.
    pub topic: Option<String>,
}

/// How much is looked at and returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Most records returned.
    pub limit: usize,
    /// Most records looked at; the rest is taken up from [`Page::next`].
    pub scan: usize,
}

/// Records that were found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The records, in the order they were asked for.
    pub entries: Vec<Entry>,
    /// From where to look on; `None` when everything was looked at.
    pub next: Option<i64>,
}

/// Records that name approvals, proposals or grants.
#[derive(Debug, Clone, PartialEq)]
pub struct Named {
    /// The records, in no order.
    pub records: Vec<Record>,
    /// Whether all since the time asked for were looked at.
    pub whole: bool,
    /// Since when they were, in milliseconds since 1970.
    pub from_ms: i64,
}

/// A filter made ready for many rows.
struct Search {
    from_ms: i64,
    until_ms: i64,
    entity: Option<EntityId>,
    seq: Option<i64>,
    members: Vec<Finder<'static>>,
    /// One of these, if there are any.
    status: Vec<Finder<'static>>,
}

/// Rows read at a time.
pub(crate) const CHUNK: usize = 1_024;

/// The wanted records before a position, newest first.
pub(crate) fn backward(
    reader: &Reader,
    filter: &Filter,
    before: Option<i64>,
    bounds: Bounds,
) -> Result<Page, LedgerError> {
    let search = Search::new(filter);
    let last = reader.ledger_last(1).map_err(LedgerError::read)?;
    let end = last.first().map_or(0, |row| row.position);
    let mut high = before.map_or(end, |before| before.saturating_sub(1).min(end));
    let (mut entries, mut seen) = (Vec::new(), 0);
    while high > 0 && seen < bounds.scan {
        let low = high
            .saturating_sub(i64::try_from(CHUNK).unwrap_or(i64::MAX))
            .max(0);
        let rows = reader.ledger_after(low, CHUNK).map_err(LedgerError::read)?;
        let looked_at = rows.iter().filter(|row| row.position <= high);
        let newest_ms = looked_at.map(|row| row.at_ms).max();
        for row in rows.into_iter().rev().filter(|row| row.position <= high) {
            seen += 1;
            if search.wants(&row) {
                let position = row.position;
                entries.push(Entry::from_row(row));
                if entries.len() >= bounds.limit {
                    let next = Some(position).filter(|position| *position > 1);
                    return Ok(Page { entries, next });
                }
            }
        }
        high = low;
        // Records stand in the order of their times. A clock that was set back between two of them
        // must not end it early, so all of a chunk have to be older.
        if newest_ms.is_some_and(|newest_ms| newest_ms < search.from_ms) {
            high = 0;
        }
    }
    let next = (high > 0).then_some(high + 1);
    Ok(Page { entries, next })
}

/// The wanted records after a position, oldest first.
pub(crate) fn forward(
    reader: &Reader,
    filter: &Filter,
    after: i64,
    bounds: Bounds,
) -> Result<Page, LedgerError> {
    let search = Search::new(filter);
    let (mut entries, mut seen, mut position) = (Vec::new(), 0, after);
    while seen < bounds.scan {
        let rows = reader
            .ledger_after(position, CHUNK)
            .map_err(LedgerError::read)?;
        if rows.is_empty() {
            return Ok(Page {
                entries,
                next: None,
            });
        }
        for row in rows {
            seen += 1;
            position = row.position;
            if search.wants(&row) {
                entries.push(Entry::from_row(row));
                if entries.len() >= bounds.limit {
                    break;
                }
            }
        }
        if entries.len() >= bounds.limit {
            break;
        }
    }
    Ok(Page {
        entries,
        next: Some(position),
    })
}

/// The records since a time that use something up or speak of it: intents that
/// name an approval or proposal, and notes that name one of these or a grant.
pub(crate) fn naming(reader: &Reader, since_ms: i64, scan: usize) -> Result<Named, LedgerError> {
    let starts = |name: &str| Finder::new(&format!("\"{name}\":\"")).into_owned();
    let (approval, proposal, grant) = (starts("approval"), starts("proposal"), starts("grant"));
    let (intent, note) = (member("kind", "intent"), member("kind", "note"));
    let names = |bytes: &[u8]| {
        let used = approval.find(bytes).is_some() || proposal.find(bytes).is_some();
        if note.find(bytes).is_some() {
            return used || grant.find(bytes).is_some();
        }
        used && intent.find(bytes).is_some()
    };
    let last = reader.ledger_last(1).map_err(LedgerError::read)?;
    let mut high = last.first().map_or(0, |row| row.position);
    let mut named = Named {
        records: Vec::new(),
        whole: true,
        from_ms: since_ms,
    };
    let mut seen = 0;
    while high > 0 {
        let low = high
            .saturating_sub(i64::try_from(CHUNK).unwrap_or(i64::MAX))
            .max(0);
        let rows = reader.ledger_after(low, CHUNK).map_err(LedgerError::read)?;
        let (mut newest_ms, mut oldest_ms) = (i64::MIN, i64::MAX);
        for row in rows.iter().filter(|row| row.position <= high) {
            seen += 1;
            newest_ms = newest_ms.max(row.at_ms);
            oldest_ms = oldest_ms.min(row.at_ms);
            if names(&row.bytes)
                && let Ok(record) = serde_json::from_slice(&row.bytes)
            {
                named.records.push(record);
            }
        }
        // A clock that was set back between two records must not end it early.
        if newest_ms < since_ms {
            break;
        }
        high = low;
        if high > 0 && seen >= scan {
            named.whole = false;
            named.from_ms = oldest_ms;
            break;
        }
    }
    Ok(named)
}

/// Everything about one call, oldest first.
pub(crate) fn call(reader: &Reader, call: &str) -> Result<Vec<Entry>, LedgerError> {
    let filter = Filter {
        call: Some(call.to_owned()),
        ..Filter::default()
    };
    let mut found = Vec::new();
    let mut before = None;
    let one = Bounds {
        limit: 1,
        scan: usize::MAX,
    };
    loop {
        let mut page = backward(reader, &filter, before, one)?;
        let Some(entry) = page.entries.pop() else {
            break;
        };
        // Nothing of a call is older than this.
        let first =
            entry.text.contains(r#""kind":"intent""#) || entry.text.contains(r#""kind":"refused""#);
        found.push(entry);
        if first || page.next.is_none() {
            break;
        }
        before = page.next;
    }
    found.reverse();
    Ok(found)
}

// === impl Search ===

impl Search {
    fn new(filter: &Filter) -> Self {
        let members = [
            ("kind", &filter.kind),
            ("call", &filter.call),
            ("client", &filter.client),
            ("server", &filter.server),
            ("agent_id", &filter.agent_id),
            ("attribution", &filter.attribution),
            ("item", &filter.item),
            ("rule", &filter.rule),
            ("reason_code", &filter.reason_code),
            ("topic", &filter.topic),
        ];
        let status = match filter.status.as_deref() {
            Some("refused") => vec![member("status", "refused"), member("kind", "refused")],
            Some(status) => vec![member("status", status)],
            None => Vec::new(),
        };
        let wanted = |(name, value): (&str, &Option<String>)| Some(member(name, value.as_ref()?));
        Self {
            from_ms: filter.from_ms.unwrap_or(i64::MIN),
            until_ms: filter.until_ms.unwrap_or(i64::MAX),
            entity: filter.entity.as_deref().map(EntityId::new),
            seq: filter.seq,
            members: members.into_iter().filter_map(wanted).collect(),
            status,
        }
    }

    fn wants(&self, row: &LedgerRow) -> bool {
        (self.from_ms..self.until_ms).contains(&row.at_ms)
            && self
                .entity
                .as_ref()
                .is_none_or(|entity| row.entity == *entity)
            && self.seq.is_none_or(|seq| row.seq == seq)
            && self
                .members
                .iter()
                .all(|member| member.find(&row.bytes).is_some())
            && (self.status.is_empty()
                || self
                    .status
                    .iter()
                    .any(|status| status.find(&row.bytes).is_some()))
    }
}

/// What a member looks like in a record.
fn member(name: &str, value: &str) -> Finder<'static> {
    let mut member = format!("\"{name}\":").into_bytes();
    line::string(&mut member, value);
    Finder::new(&member).into_owned()
}
