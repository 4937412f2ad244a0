//! What the queries for changes share: their links, and how long those hold.

use super::error::Failure;
use super::{Call, odata};
use crate::state::fault::FaultKind;

/// The token of the link that a client came with, and whether that link ended a round; `None` at the beginning.
pub(super) fn link<'c>(call: &'c Call<'_>) -> Option<(&'c str, bool)> {
    let ended = call.option("deltatoken").map(|token| (token, true));
    let link = ended.or_else(|| call.option("skiptoken").map(|token| (token, false)));
    link.filter(|(token, _)| !token.is_empty())
}

/// Fails where somebody has said that the links of this request are to be too old.
pub(super) fn hold(call: &mut Call<'_>) -> Result<(), Failure> {
    let what = format!("{} {}", call.ask.method, call.ask.path);
    let is_gone = |kind: &FaultKind| *kind == FaultKind::Gone;
    match call.world.meet(&what, is_gone) {
        Some(_) => Err(too_old(call)),
        None => Ok(()),
    }
}

/// The link is too old: everything has to be read anew, from the address that is given.
pub(super) fn too_old(call: &Call<'_>) -> Failure {
    let mut failure = Failure::new(
        410,
        "syncStateNotFound",
        "The sync state generation is not found; resynchronize from the beginning.",
    );
    let begin = odata::link(
        call.ask,
        &[("$deltatoken", "")],
        &["skiptoken", "deltatoken"],
    );
    failure.headers.push(("location", begin));
    failure
}

/// The token is none of ours.
pub(super) fn malformed() -> Failure {
    Failure::new(
        400,
        "ErrorInvalidUrlQuery",
        "The token of the link is malformed.",
    )
}

/// How many changes a page has: what the client prefers, at most `max`.
pub(super) fn page_size(call: &Call<'_>, usual: usize, max: usize) -> usize {
    let values = call.ask.headers.get_all("prefer").iter();
    values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split([',', ';']))
        .find_map(|part| part.trim().strip_prefix("odata.maxpagesize=")?.parse().ok())
        .unwrap_or(usual)
        .clamp(1, max)
}
