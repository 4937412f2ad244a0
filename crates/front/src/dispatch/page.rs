//! Pages of a list. A cursor names the entry a page ended with, so that a list
//! that changes meanwhile neither skips nor repeats what did not change.

use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use legation_gate::{Entry, Listing};
use legation_wire::codes;
use legation_wire::json::Raw;
use legation_wire::message::ErrorObject;

use crate::parking::digest;

/// Most entries of a page.
const ENTRIES_MAX: usize = 1000;
/// Past this many bytes a page ends; one entry may be longer.
const BYTES_MAX: usize = 1 << 20;
/// Bytes of a cursor: where the entry stood, and its digest.
const PLACE: usize = 4;
const MARK: usize = 12;

/// Which entries, and how to ask for the next.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Page {
    pub(super) range: Range<usize>,
    pub(super) next: Option<String>,
}

/// The page a cursor leads to; the first without one.
///
/// # Errors
/// The cursor is none of the hub's, or its entry is gone.
pub(super) fn page(listing: &Listing, cursor: Option<&Raw>) -> Result<Page, ErrorObject> {
    let start = match cursor {
        None => 0,
        Some(cursor) => start(listing, cursor).ok_or_else(|| {
            ErrorObject::new(
                codes::INVALID_PARAMS,
                "the cursor is not known, or the list has changed there; read the list from the start",
            )
        })?,
    };
    let mut bytes = 0;
    let mut end = start;
    for entry in listing.entries.iter().skip(start).take(ENTRIES_MAX) {
        bytes += entry.raw.as_bytes().len() + 1;
        if bytes > BYTES_MAX && end > start {
            break;
        }
        end += 1;
    }
    let next = (end < listing.entries.len())
        .then(|| end.checked_sub(1))
        .flatten()
        .and_then(|last| Some(cursor_after(last, listing.entries.get(last)?)));
    Ok(Page {
        range: start..end,
        next,
    })
}

fn cursor_after(place: usize, entry: &Entry) -> String {
    let mut bytes = u32::try_from(place)
        .unwrap_or(u32::MAX)
        .to_le_bytes()
        .to_vec();
    bytes.extend_from_slice(&mark(entry));
    URL_SAFE_NO_PAD.encode(bytes)
}

fn start(listing: &Listing, cursor: &Raw) -> Option<usize> {
    let text = cursor.to_str()?;
    let bytes = URL_SAFE_NO_PAD.decode(&*text).ok()?;
    let (place, wanted) = bytes.split_at_checked(PLACE)?;
    let place = u32::from_le_bytes(place.try_into().ok()?) as usize;
    let is_it = |entry: &Entry| mark(entry)[..] == *wanted;
    if listing.entries.get(place).is_some_and(is_it) {
        return Some(place + 1);
    }
    listing
        .entries
        .iter()
        .position(is_it)
        .map(|found| found + 1)
}

fn mark(entry: &Entry) -> [u8; MARK] {
    let digest = digest(&[entry.server.as_str().as_bytes(), entry.item.as_bytes()]);
    let mut mark = [0; MARK];
    mark.copy_from_slice(&digest[..MARK]);
    mark
}

#[cfg(test)]
mod tests {
    use legation_core::ServerName;
    use legation_gate::policy::Origin;

    use super::*;

    fn listing(names: std::ops::Range<usize>, size: usize) -> Listing {
        let entries = names
            .map(|number| Entry {
                server: ServerName::parse("s").expect("a name"),
                item: number.to_string().into(),
                raw: Raw::str(&"x".repeat(size)),
                trusted: true,
                origin: Origin::User,
                read_only_hint: false,
                entity: None,
                native: None,
                fingerprint: None,
            })
            .collect();
        Listing {
            version: 1,
            entries,
        }
    }

    fn ranges(listing: &Listing) -> Vec<(usize, usize)> {
        let mut cursor = None;
        let mut ranges = Vec::new();
        loop {
            let page = page(listing, cursor.as_ref()).expect("a page");
            ranges.push((page.range.start, page.range.end));
            match page.next {
                Some(next) => cursor = Some(Raw::str(&next)),
                None => return ranges,
            }
        }
    }

    #[test]
    fn pages_are_bounded_in_entries_and_bytes_and_cover_the_list() {
        assert_eq!(ranges(&listing(0..0, 1)), vec![(0, 0)]);
        assert_eq!(ranges(&listing(0..1000, 1)), vec![(0, 1000)]);
        assert_eq!(
            ranges(&listing(0..2500, 10)),
            [(0, 1000), (1000, 2000), (2000, 2500)]
        );
        assert_eq!(ranges(&listing(0..3, 600_000)), [(0, 1), (1, 2), (2, 3)]);
        assert_eq!(ranges(&listing(0..2, 3_000_000)), [(0, 1), (1, 2)]);
    }

    #[test]
    fn a_cursor_survives_a_change_elsewhere_and_not_that_of_its_entry() {
        let next = page(&listing(0..1500, 1), None)
            .expect("a page")
            .next
            .expect("more");
        let cursor = Raw::str(&next);
        let shifted = page(&listing(500..1500, 1), Some(&cursor)).expect("a page");
        assert_eq!(
            shifted.range,
            500..1000,
            "behind the entry 999, wherever it stands"
        );
        for (list, bad) in [
            (listing(1000..1500, 1), cursor),
            (listing(0..1500, 1), Raw::str("nonsense")),
            (listing(0..1500, 1), Raw::str("")),
            (listing(0..1500, 1), Raw::int(5)),
        ] {
            assert_eq!(page(&list, Some(&bad)).expect_err("refused").code, -32602);
        }
    }
}
