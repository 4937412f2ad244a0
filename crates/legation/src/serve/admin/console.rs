//! `console.…`: how the owner comes to the pages.

use legation_api::console::LinkAnswer;
use legation_console::login::LINK_MS;
use legation_core::Wall;
use legation_wire::message::ErrorObject;

use super::{failed, failed_with};
use crate::serve::hub::Inner;

/// A link that lets one browser in, once.
pub(crate) fn link(hub: &Inner) -> Result<LinkAnswer, ErrorObject> {
    let Some(address) = hub.listen else {
        let hint = "start the hub with `listen` set, and see that nobody else has the address";
        let message = "the hub answers no HTTP, so there is no console";
        return Err(failed(message, Some(hint.to_owned())));
    };
    let now = hub.clock.wall();
    let word = hub.pages.link(now).map_err(|error| failed_with(&error))?;
    Ok(LinkAnswer {
        url: format!("http://{address}/login/{word}"),
        expires: Wall(now.0 + LINK_MS).to_string(),
    })
}
