//! One route of the admin API, and how a request finds it.

use std::fmt;

use http::Method;
use serde_json::Value;

/// What a request may do to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    /// It reads. HEAD is the same without the body.
    Get,
    /// It may change something.
    Post,
    /// It takes something away.
    Delete,
}

/// One route: the router and the document are both made of these.
#[derive(Debug)]
pub(super) struct Route {
    pub(super) verb: Verb,
    /// Its path, with parameters in braces.
    pub(super) path: &'static str,
    /// What programs call it by.
    pub(super) id: &'static str,
    /// Which part of the hub it belongs to.
    pub(super) tag: &'static str,
    /// What it does, in a sentence.
    pub(super) summary: &'static str,
    pub(super) act: Act,
}

/// What answers a request.
#[derive(Debug)]
pub(super) enum Act {
    /// A method of the administration.
    Admin(Admin),
    /// A tool of the hub's own server of this name, through the gate.
    Tool(&'static str),
    /// Any tool of any server, through the gate.
    AnyTool,
    /// What happens, as it happens.
    Events,
    /// The description of all this.
    Document,
    /// The session API over JSON-RPC.
    Rpc,
}

/// A method of the administration, as it is reached over HTTP.
pub(super) struct Admin {
    pub(super) method: &'static str,
    /// JSON Schema of the request and the answer, whole.
    pub(super) request: fn() -> Value,
    pub(super) answer: fn() -> Value,
    /// Numbers that are bounded here.
    pub(super) numbers: &'static [Number],
    pub(super) pages: Option<Pages>,
    /// Whether it calls a tool through the gate, where it may wait for a person.
    pub(super) is_call: bool,
}

/// A number of a request with its bounds, and what it is when it is not given.
#[derive(Debug, Clone, Copy)]
pub(super) struct Number {
    pub(super) member: &'static str,
    pub(super) least: u64,
    pub(super) most: u64,
    pub(super) default: u64,
}

/// How a long answer is read in pages.
#[derive(Debug, Clone, Copy)]
pub(super) enum Pages {
    /// The method itself answers `limit` items of `list` before a place; the last item of a
    /// page has the next one's place under `place`, or the first where the oldest comes first.
    Before {
        list: &'static str,
        place: &'static str,
        is_oldest_first: bool,
    },
    /// The method answers everything; a page is cut out of `list`, whose items are told
    /// apart by `keys` together.
    Cut {
        list: &'static str,
        keys: &'static [&'static str],
    },
}

/// Where a path leads.
#[derive(Debug)]
pub(super) enum Found<'a> {
    /// Here, with these parameters.
    Route(&'a Route, Vec<(&'static str, String)>),
    /// There is something, but not for this method.
    Others(String),
    /// Nowhere.
    Nothing,
}

// === impl Verb ===

impl Verb {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Post => "post",
            Self::Delete => "delete",
        }
    }

    /// Whether nothing is changed by it.
    pub(super) fn reads(self) -> bool {
        self == Self::Get
    }

    fn of(method: &Method) -> Option<Self> {
        match *method {
            Method::GET | Method::HEAD => Some(Self::Get),
            Method::POST => Some(Self::Post),
            Method::DELETE => Some(Self::Delete),
            _ => None,
        }
    }

    fn allowed(self) -> &'static str {
        match self {
            Self::Get => "GET, HEAD",
            Self::Post => "POST",
            Self::Delete => "DELETE",
        }
    }
}

// === impl Route ===

impl Route {
    /// The names of its path's parameters.
    pub(super) fn parameters(&self) -> impl Iterator<Item = &'static str> {
        self.path.split('/').filter_map(parameter)
    }

    /// Reads the parameters out of a path; `None` where it is another.
    fn read(&self, path: &str) -> Option<Vec<(&'static str, String)>> {
        let mut parameters = Vec::new();
        let mut given = path.split('/');
        for own in self.path.split('/') {
            let given = given.next()?;
            match parameter(own) {
                None if own == given => {}
                None => return None,
                Some(name) => {
                    let value = super::input::decoded(given, false)?;
                    parameters.push((name, Some(value).filter(|value| !value.is_empty())?));
                }
            }
        }
        given.next().is_none().then_some(parameters)
    }
}

fn parameter(segment: &'static str) -> Option<&'static str> {
    segment.strip_prefix('{')?.strip_suffix('}')
}

impl fmt::Debug for Admin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Admin").field(&self.method).finish()
    }
}

/// Finds what answers a request. A path that is written out comes before one with
/// parameters, whatever the method.
pub(super) fn find<'a>(routes: &'a [Route], method: &Method, path: &str) -> Found<'a> {
    let matching = routes
        .iter()
        .filter_map(|route| Some((route, route.read(path)?)));
    let mut matching: Vec<_> = matching.collect();
    let Some(least) = matching.iter().map(|(_, given)| given.len()).min() else {
        return Found::Nothing;
    };
    matching.retain(|(_, given)| given.len() == least);
    let verb = Verb::of(method);
    let allowed: Vec<&str> = matching
        .iter()
        .map(|(route, _)| route.verb.allowed())
        .collect();
    let allowed = allowed.join(", ");
    match matching
        .into_iter()
        .find(|(route, _)| Some(route.verb) == verb)
    {
        Some((route, given)) => Found::Route(route, given),
        None => Found::Others(allowed),
    }
}
