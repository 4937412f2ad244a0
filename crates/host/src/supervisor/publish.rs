//! Making what a server offers known, and telling of what changed.

use std::sync::{Arc, PoisonError};

use legation_gate::{HubEvent, ListKind};

use super::audience;
use crate::common::Common;
use crate::definitions::Definitions;
use crate::instance::Instance;
use crate::published::Published;
use crate::server::Server;

/// Makes definitions of an instance into what its clients see. `before` is what
/// they saw until now.
pub(super) fn publish(
    common: &Common,
    server: &Server,
    instance: &Instance,
    definitions: Definitions,
    before: Option<&Published>,
) -> Arc<Published> {
    let pinned = common.pins.judge(server, &definitions);
    let published = {
        let mut names = common.names.write().unwrap_or_else(PoisonError::into_inner);
        Arc::new(Published::new(
            server,
            definitions,
            pinned,
            before,
            &mut names,
        ))
    };
    let known = server.known.load_full();
    // A seat's instance may offer what only its client can use, and a folder's
    // what only its folder has; they stand for the others only as long as
    // nothing better is known.
    if known.is_none() || instance.key == server.first_key() {
        let same = known.as_deref().is_some_and(|known| {
            known.pinned == published.pinned
                && known.definitions.about == published.definitions.about
                && known
                    .definitions
                    .differences(&published.definitions)
                    .is_empty()
        });
        if !same {
            server.remember(common, &published);
        }
    }
    common.keep_names();
    published
}

/// Tells of the lists that read differently now.
pub(super) fn tell(
    common: &Common,
    server: &Server,
    instance: &Instance,
    before: Option<&Published>,
    published: &Published,
) {
    for kind in ListKind::ALL {
        let changed = match before {
            Some(before) => before.shelf(kind).version != published.shelf(kind).version,
            None => !published.definitions.list(kind).items().is_empty(),
        };
        if changed {
            common.tell(HubEvent::ListChanged {
                server: server.spec.name.clone(),
                kind,
                audience: audience(server, instance),
            });
        }
    }
}

/// Notes what was wrong with a server's lists.
pub(super) fn warn(server: &Server, warnings: &[String]) {
    for warning in warnings {
        server.log.warn(warning);
        let name = &server.spec.name;
        tracing::warn!(server = %name, warning, "a server's list is not as it should be; see `legation mcp show {name}`");
    }
}
