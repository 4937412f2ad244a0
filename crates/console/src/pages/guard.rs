//! Whether a request comes from the hub's own pages. The front has compared `Host`
//! and `Origin` with the hub's own addresses; what is told apart here is who made
//! the browser send it.

use http::HeaderMap;
use http::header::{self, HeaderName};

use crate::web::Request;

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");

/// Why a request is refused, if it is.
pub(crate) fn check(request: &Request, is_get: bool) -> Option<&'static str> {
    let headers = &request.headers;
    let site = one(headers, &FETCH_SITE);
    if is_get {
        // A link somewhere else may lead here; a page elsewhere may load nothing from here.
        let is_page = one(headers, &FETCH_MODE) == Some("navigate");
        let from_elsewhere = matches!(site, Some("cross-site" | "same-site"));
        return (from_elsewhere && !is_page)
            .then_some("Another site's page asked for this. It was not answered.");
    }
    let refused = Some("Another site's page sent this. Nothing was changed.");
    match site {
        Some("same-origin") | None => {}
        Some(_) => return refused,
    }
    let (Some(origin), Some(host)) = (one(headers, &header::ORIGIN), one(headers, &header::HOST))
    else {
        return Some("The browser did not say which page sent this. Nothing was changed.");
    };
    let own = origin.split_once("://").map(|(_, own)| own);
    match own.is_some_and(|own| own.eq_ignore_ascii_case(host)) {
        true => None,
        false => refused,
    }
}

/// Whether a script asked, as far as the browser says, and nobody reads the answer as a page.
pub(crate) fn is_script(headers: &HeaderMap) -> bool {
    one(headers, &FETCH_MODE).is_some_and(|mode| mode != "navigate")
}

/// The one value of a header.
fn one<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => value.to_str().ok(),
        _ => None,
    }
}
