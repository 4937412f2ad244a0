//! Who a peer on the socket says it is, and whether that is believed.

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use legation_core::hello::{HELLO_VERSION, Hello, HelloEndpoint, HelloLine, Mode, Rejection};
use legation_core::{Caller, Principal, SeatId, ServerName, Via};
use legation_gate::Endpoint;
use legation_wire::json::{Limits, Raw};

use super::reject;
use crate::shared::Shared;

/// Longest seat a peer names itself by, in characters.
const SEAT_MAX: usize = 64;

/// A peer that was let in.
#[derive(Debug)]
pub(super) struct Greeted {
    pub(super) mode: Mode,
    pub(super) caller: Caller,
    pub(super) endpoint: Endpoint,
    /// Whether the client registers a channel.
    pub(super) channel: bool,
    /// Whether the client is carried over from an earlier connection.
    pub(super) again: bool,
}

// === impl Greeted ===

impl Greeted {
    /// The peer on a socket of one server, if it asks for that one or for none.
    pub(super) fn narrowed(mut self, only: Option<ServerName>) -> Result<Self, Rejection> {
        let Some(only) = only else {
            return Ok(self);
        };
        let fits = match &self.endpoint {
            Endpoint::All => true,
            Endpoint::Server(server) => *server == only,
            Endpoint::View(_) => false,
        };
        if self.mode == Mode::Admin || !fits {
            return Err(reject(
                format!("this socket serves {only} and nothing else; nothing was done"),
                "use the hub's own socket, mcp.sock in its data directory",
            ));
        }
        self.endpoint = Endpoint::Server(only);
        Ok(self)
    }
}

/// The peer behind a first line that is a protocol message already: an MCP
/// client that speaks the plain framing of stdio on the socket (2026-07-28,
/// basic/transports/stdio). It is the owner's own, sees every server, and has a
/// seat of this connection's.
pub(super) fn plain(shared: &Shared, line: &[u8]) -> Option<Greeted> {
    let text = Raw::parse(Bytes::copy_from_slice(line), &Limits::CLIENT).ok()?;
    text.get("jsonrpc")?;
    let client = shared.authenticator.local(None)?;
    let seat = SeatId::random().ok()?;
    let principal = Principal {
        client,
        via: Via::Socket,
    };
    Some(Greeted {
        mode: Mode::Mcp,
        caller: Caller {
            principal,
            seat,
            workspace: None,
        },
        endpoint: Endpoint::All,
        channel: false,
        again: false,
    })
}

/// Reads a greeting.
pub(super) fn read(shared: &Shared, line: &[u8]) -> Result<Greeted, Rejection> {
    let line: HelloLine = serde_json::from_slice(line).map_err(|error| {
        reject(
            format!("the first line is no greeting: {error}; nothing was done"),
            "use `legation bridge`, which greets the hub",
        )
    })?;
    if line.legation != HELLO_VERSION {
        return Err(reject(
            format!(
                "greeting version {} is not spoken here, only {HELLO_VERSION}",
                line.legation
            ),
            "use the bridge of the version that runs: `legation doctor` shows both",
        ));
    }
    let hello = line.hello;
    let caller = caller(shared, &hello)?;
    Ok(Greeted {
        mode: hello.mode,
        caller,
        endpoint: endpoint(hello.endpoint)?,
        channel: hello.channel,
        again: hello.again,
    })
}

fn caller(shared: &Shared, hello: &Hello) -> Result<Caller, Rejection> {
    let seat = &hello.seat;
    if seat.is_empty()
        || seat.len() > SEAT_MAX
        || !seat.bytes().all(|byte| byte.is_ascii_alphanumeric())
    {
        return Err(reject(
            format!("a seat is 1 to {SEAT_MAX} letters and digits; nothing was done"),
            "use `legation bridge`, which takes a seat",
        ));
    }
    let client = match (&hello.token, hello.mode) {
        (Some(token), _) => shared.authenticator.bearer(token),
        (None, Mode::Mcp) => shared.authenticator.local(hello.client.as_deref()),
        // The owner's own commands: whoever has the owner's user id.
        (None, Mode::Admin) => shared.authenticator.local(None),
    };
    let client = client.ok_or_else(|| {
        reject(
            "this client has no valid credential; nothing was done",
            "run `legation connect` again for this client",
        )
    })?;
    let via = match hello.mode {
        Mode::Mcp => Via::Socket,
        Mode::Admin => Via::Admin,
    };
    // Seats are the peer's own choice, so they mean something per client only.
    let seat = SeatId::new(format!("{client}:{seat}"));
    let workspace = hello.cwd.as_deref().and_then(workspace);
    Ok(Caller {
        principal: Principal { client, via },
        seat,
        workspace,
    })
}

/// The folder a client works in; none when it does not exist (any more).
fn workspace(cwd: &str) -> Option<Arc<Path>> {
    let path = Path::new(cwd);
    if !path.is_absolute() {
        return None;
    }
    std::fs::canonicalize(path)
        .ok()
        .filter(|path| path.is_dir())
        .map(Into::into)
}

fn endpoint(endpoint: Option<HelloEndpoint>) -> Result<Endpoint, Rejection> {
    match endpoint {
        None => Ok(Endpoint::All),
        Some(HelloEndpoint::View(view)) => Ok(Endpoint::View(view.into())),
        Some(HelloEndpoint::Server(name)) => match ServerName::parse(&name) {
            Ok(name) => Ok(Endpoint::Server(name)),
            Err(error) => Err(reject(
                format!("{error}; nothing was done"),
                "`legation mcp list` shows the servers",
            )),
        },
    }
}
