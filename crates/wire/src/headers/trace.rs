//! Of which trace a request is a part (W3C Trace Context), in its head and in its `_meta`.
//!
//! The specification has it in `_meta` (2026-07-28, base protocol, "`_meta`"), whatever carries the
//! request; what stands between HTTP servers reads headers. So over HTTP the two say the same: what a
//! client says in its head is taken into the parameters, and what they say at the end goes out in both.
//! `baggage` is left where it is: it is somebody's own words, and a header is logged on the way.

use http::header::HeaderName;
use legation_core::observe;

use crate::http1::Fields;
use crate::json::{Object, Raw};
use crate::meta;

/// Which trace, and which part of it asks (section 3.2).
pub const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
/// What others on the way keep of it (section 3.3).
pub const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");

/// How much of a state is passed on (section 3.3.1.1 asks for so much at least).
const STATE_MAX: usize = 512;

/// Takes what a request's head says into its parameters, unless they say it themselves. Whether they
/// were changed.
pub fn take_in(params: &mut Object, head: &impl Fields) -> bool {
    // One that is doubled or wrong says nothing, and then neither does the state (section 4.3).
    let Ok(Some(said)) = head.sole(&TRACEPARENT) else {
        return false;
    };
    if !observe::is_traceparent(said) || meta::get(params, TRACEPARENT.as_str()).is_some() {
        return false;
    }
    let state = state(head);
    meta::edit(params, |meta| {
        meta.set(TRACEPARENT.as_str(), Raw::str(said));
        match state {
            Some(state) => meta.set(TRACESTATE.as_str(), Raw::str(&state)),
            // One without its parent is of another trace.
            None => drop(meta.remove(TRACESTATE.as_str())),
        }
    });
    true
}

/// The state in a head, whose lines are one list (section 3.3.1).
fn state(head: &impl Fields) -> Option<String> {
    let mut whole = Some(String::new());
    head.each(&TRACESTATE, |value| {
        let value = std::str::from_utf8(value).ok();
        whole = whole.take().zip(value).map(|(mut whole, value)| {
            if !whole.is_empty() {
                whole.push(',');
            }
            whole.push_str(value.trim());
            whole
        });
    });
    whole.filter(|state| is_state(state))
}

/// Writes as header lines, each with its end, what a request's parameters say. What is wrong there
/// stays there.
pub fn write(out: &mut Vec<u8>, params: &Object) {
    let Some(stated) = params.get(meta::META) else {
        return;
    };
    let text = |name: &HeaderName| stated.get(name.as_str());
    let parent = text(&TRACEPARENT);
    let parent = parent.as_ref().and_then(Raw::to_str);
    let Some(parent) = parent.filter(|parent| observe::is_traceparent(parent)) else {
        return;
    };
    super::line(out, &TRACEPARENT, &parent);
    let state = text(&TRACESTATE);
    let state = state.as_ref().and_then(Raw::to_str);
    if let Some(state) = state.filter(|state| is_state(state)) {
        super::line(out, &TRACESTATE, &state);
    }
}

fn is_state(state: &str) -> bool {
    (1..=STATE_MAX).contains(&state.len()) && state.bytes().all(|byte| matches!(byte, 0x20..=0x7e))
}
