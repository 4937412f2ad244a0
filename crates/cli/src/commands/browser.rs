//! A link, opened with the person's browser.

use legation_core::home::write_private;
use legation_core::process::{OnceSpec, find_program, run_to_end};

use crate::Context;

/// How long the desktop may take to say that it opens a link.
const OPENING: std::time::Duration = std::time::Duration::from_secs(5);
/// Bytes of what it says that are kept.
const SAID_MAX: usize = 1_024;

/// Opens a link where the desktop can and somebody looks on. The link is printed, so nothing
/// fails here. Who lists processes sees the arguments of the program that opens it, so that
/// one is given a file of this name, which leads to the link and which only its owner can read.
pub(crate) fn open(context: &Context, file: &str, url: &str) {
    if !context.output.is_watched() || !has_desktop(context) {
        return;
    }
    let name = if cfg!(target_os = "macos") {
        "open"
    } else {
        "xdg-open"
    };
    let Ok(program) = find_program(name.as_ref(), context.environment.get_os("PATH"), None) else {
        return;
    };
    let page = context.home.root().join(file);
    let environment = context.environment.inherited_by_children();
    let spec = OnceSpec {
        program: program.into(),
        args: vec![page.clone().into()],
        env: environment
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect(),
        cwd: None,
        timeout: OPENING,
        keep: SAID_MAX,
    };
    let is_open = leading_to(url).is_some_and(|text| write_private(&page, text.as_bytes()).is_ok())
        && run_to_end(&spec).is_ok();
    if !is_open {
        context
            .output
            .say("no browser could be opened; open the link yourself");
    }
}

/// Whether somebody sits before a desktop: without one, programs that open links start
/// browsers in the terminal.
fn has_desktop(context: &Context) -> bool {
    let set = |name| context.environment.get_os(name).is_some();
    cfg!(target_os = "macos") || set("DISPLAY") || set("WAYLAND_DISPLAY")
}

/// A page that leads to a link. Where to sign in is said by somebody else's server, so the link
/// is nothing but one of the web and cannot leave its attribute.
fn leading_to(url: &str) -> Option<String> {
    let is_web = ["https://", "http://"]
        .iter()
        .any(|scheme| url.starts_with(scheme));
    if !is_web || url.contains(|one: char| one.is_control() || one.is_whitespace()) {
        return None;
    }
    let url = url
        .replace('&', "&amp;")
        .replace('"', "&quot;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    Some(format!(
        "<!doctype html><meta charset=\"utf-8\"><title>Legation</title>\
         <meta name=\"referrer\" content=\"no-referrer\">\
         <meta http-equiv=\"refresh\" content=\"0;url={url}\"><a href=\"{url}\">Go on</a>\n"
    ))
}

#[cfg(test)]
mod tests;
