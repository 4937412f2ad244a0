//! Clients and their credentials.
//!
//! Only SHA-256 hashes are kept: a token has 256 random bits, so a slow hash
//! would protect nothing more and cost every request. The owner's own token
//! is the exception, one line in a file, because people and scripts read it
//! there.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use legation_core::home::{HomeError, write_private};
use legation_core::id::hex;
use legation_core::{ClientId, Home, Secret, Wall};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use subtle::{Choice, ConditionallySelectable as _, ConstantTimeEq as _};
use thiserror::Error;

use crate::file::{self, ReadError, Turn};
use crate::json::{self, JsonError};

/// What every token begins with, so that scanners for leaked secrets and
/// people know what they found.
pub const TOKEN_PREFIX: &str = "lgn_";

/// The id under which the owner's own token is known.
pub const OWNER: &str = "owner";
/// The client that delegated tasks are, beside the one each was handed in by. Nobody has a credential
/// of it.
pub const DELEGATE: &str = "delegate";

/// The client that a program of the same user is when it shows no credential on the socket.
pub const LOCAL: &str = "local";

/// Names that nobody gets a credential under, and that none is believed under.
const RESERVED: [&str; 3] = [OWNER, DELEGATE, LOCAL];

/// One client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    /// What rules and records call it.
    pub id: ClientId,
    /// What people call it.
    pub name: String,
    /// Which program it is, such as `claude` or `vscode`.
    pub kind: String,
    /// When its credential was minted, RFC 3339.
    pub created: String,
    /// When its credential was revoked, RFC 3339.
    pub revoked: Option<String>,
}

/// A new client and the only copy of its token.
#[derive(Debug)]
pub struct Minted {
    /// The client.
    pub client: Client,
    /// Its token; it cannot be had again.
    pub token: Secret,
}

/// Who shows which token: a snapshot of `clients.json` and `token`.
#[derive(Clone)]
pub struct Credentials {
    known: Vec<(ClientId, [u8; 32])>,
}

/// Credentials that could not be read or changed.
#[derive(Debug, Error)]
pub enum ClientsError {
    /// A file cannot be read.
    #[error("the credentials of clients cannot be read")]
    Read(#[source] ReadError),
    /// A file is not what this program writes.
    #[error("{file} cannot be used, nothing was changed")]
    Malformed {
        /// The file.
        file: String,
        /// Why.
        #[source]
        source: JsonError,
    },
    /// The owner's token is too short to be one.
    #[error("{file} does not hold a token of at least {MIN_TOKEN_LEN} characters")]
    WeakToken {
        /// The file.
        file: String,
    },
    /// A file cannot be written.
    #[error("the credentials of clients were not changed")]
    Write(#[source] HomeError),
    /// The system has no randomness to give.
    #[error("the system gave no random bytes, no token was made")]
    Random(#[source] getrandom::Error),
    /// Text that cannot be the id of a client.
    #[error("{id:?} cannot be the id of a client, nothing was changed")]
    BadId {
        /// The text.
        id: String,
    },
    /// No client has this id.
    #[error("there is no client {id}, nothing was changed")]
    Unknown {
        /// The id.
        id: ClientId,
    },
}

/// A token an owner wrote by hand has to be at least this long.
const MIN_TOKEN_LEN: usize = 32;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WireClients {
    version: u32,
    clients: Vec<WireClient>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WireClient {
    id: String,
    name: String,
    kind: String,
    token_sha256: String,
    created: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    revoked: Option<String>,
}

/// Makes a credential for a client. A client that is there already gets a new
/// one, and the old one stops working: a token that nobody can show again is
/// of use only to a thief.
///
/// # Errors
///
/// [`ClientsError`]; then no credential was made.
pub fn mint(
    home: &Home,
    id: &str,
    name: &str,
    kind: &str,
    now: Wall,
) -> Result<Minted, ClientsError> {
    check_id(id)?;
    let token = new_token()?;
    let _turn = Turn::take(home).map_err(ClientsError::Read)?;
    let mut wire = read(home)?;
    wire.clients.retain(|client| client.id != id);
    let client = WireClient {
        id: id.to_owned(),
        name: name.to_owned(),
        kind: kind.to_owned(),
        token_sha256: hex(&hash(token.reveal())),
        created: now.to_string(),
        revoked: None,
    };
    let minted = Minted {
        client: Client::from_wire(&client),
        token,
    };
    wire.clients.push(client);
    write(home, &wire)?;
    Ok(minted)
}

/// Ends a client's credential; it stays listed.
///
/// # Errors
///
/// [`ClientsError`]; then the credential still works.
pub fn revoke(home: &Home, id: &ClientId, now: Wall) -> Result<Client, ClientsError> {
    let _turn = Turn::take(home).map_err(ClientsError::Read)?;
    let mut wire = read(home)?;
    let Some(client) = wire
        .clients
        .iter_mut()
        .find(|client| client.id == id.as_str())
    else {
        return Err(ClientsError::Unknown { id: id.clone() });
    };
    client.revoked.get_or_insert_with(|| now.to_string());
    let revoked = Client::from_wire(client);
    write(home, &wire)?;
    Ok(revoked)
}

/// Every client, revoked ones included, oldest first.
///
/// # Errors
///
/// [`ClientsError`] when the file cannot be used.
pub fn list(home: &Home) -> Result<Vec<Client>, ClientsError> {
    Ok(read(home)?.clients.iter().map(Client::from_wire).collect())
}

/// The owner's own token, made when there is none.
///
/// # Errors
///
/// [`ClientsError`]; an empty or short file is refused rather than replaced,
/// because something else may rely on it.
pub fn owner_token(home: &Home) -> Result<Secret, ClientsError> {
    if let Some(token) = read_owner_token(home)? {
        return Ok(token);
    }
    let _turn = Turn::take(home).map_err(ClientsError::Read)?;
    if let Some(token) = read_owner_token(home)? {
        return Ok(token);
    }
    let token = new_token()?;
    let line = Secret::new(format!("{}\n", token.reveal()));
    write_private(&home.token(), line.reveal().as_bytes()).map_err(ClientsError::Write)?;
    Ok(token)
}

fn read_owner_token(home: &Home) -> Result<Option<Secret>, ClientsError> {
    let Some(text) = file::read(&home.token()).map_err(ClientsError::Read)? else {
        return Ok(None);
    };
    let text = Secret::new(text);
    let token = text.reveal().trim();
    if token.len() < MIN_TOKEN_LEN || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(ClientsError::WeakToken {
            file: home.token().display().to_string(),
        });
    }
    Ok(Some(Secret::new(token)))
}

fn new_token() -> Result<Secret, ClientsError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(ClientsError::Random)?;
    Ok(Secret::new(format!(
        "{TOKEN_PREFIX}{}",
        URL_SAFE_NO_PAD.encode(bytes)
    )))
}

fn hash(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

/// Whether this can be the id of a client of the owner's. Ids stand in rules, records and
/// commands.
pub(crate) fn is_id(id: &str) -> bool {
    (1..=64).contains(&id.len())
        && !RESERVED.contains(&id)
        && id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

fn check_id(id: &str) -> Result<(), ClientsError> {
    if is_id(id) {
        Ok(())
    } else {
        Err(ClientsError::BadId {
            id: id.chars().take(80).collect(),
        })
    }
}

fn read(home: &Home) -> Result<WireClients, ClientsError> {
    let path = home.clients();
    let Some(text) = file::read(&path).map_err(ClientsError::Read)? else {
        return Ok(WireClients {
            version: 1,
            clients: Vec::new(),
        });
    };
    let malformed = |source| ClientsError::Malformed {
        file: path.display().to_string(),
        source,
    };
    let refused = |message: String| {
        malformed(JsonError {
            line: 1,
            column: 1,
            message,
        })
    };
    json::parse(&text).map_err(malformed)?;
    let wire: WireClients =
        serde_json::from_str(json::without_mark(&text)).map_err(|error| malformed(error.into()))?;
    if wire.version != 1 {
        return Err(refused(format!("version {} is not known", wire.version)));
    }
    for client in &wire.clients {
        if client.hash().is_none() || check_id(&client.id).is_err() {
            let id = client.id.escape_debug();
            return Err(refused(format!(
                "client {id} has an id or a token_sha256 that cannot be one"
            )));
        }
    }
    Ok(wire)
}

fn write(home: &Home, wire: &WireClients) -> Result<(), ClientsError> {
    let mut text = serde_json::to_string_pretty(wire).expect("lists of texts always serialise");
    text.push('\n');
    write_private(&home.clients(), text.as_bytes()).map_err(ClientsError::Write)
}

// === impl Client ===

impl Client {
    fn from_wire(wire: &WireClient) -> Self {
        Self {
            id: ClientId::new(wire.id.as_str()),
            name: wire.name.clone(),
            kind: wire.kind.clone(),
            created: wire.created.clone(),
            revoked: wire.revoked.clone(),
        }
    }
}

// === impl WireClient ===

impl WireClient {
    fn hash(&self) -> Option<[u8; 32]> {
        let text = self.token_sha256.as_bytes();
        if text.len() != 64 || !text.iter().all(u8::is_ascii_hexdigit) {
            return None;
        }
        let mut bytes = [0; 32];
        for (byte, digits) in bytes.iter_mut().zip(self.token_sha256.as_bytes().chunks(2)) {
            let digits = std::str::from_utf8(digits).ok()?;
            *byte = u8::from_str_radix(digits, 16).ok()?;
        }
        Some(bytes)
    }
}

// === impl Credentials ===

impl Credentials {
    /// Reads both files, making the owner's token when there is none.
    ///
    /// # Errors
    ///
    /// [`ClientsError`]; then nobody can be authenticated, and nobody may be
    /// let in.
    pub fn load(home: &Home) -> Result<Self, ClientsError> {
        let owner = owner_token(home)?;
        let mut known = vec![(ClientId::new(OWNER), hash(owner.reveal()))];
        for client in read(home)?.clients {
            if RESERVED.contains(&client.id.as_str()) {
                // Minted by an earlier version, or written by hand.
                tracing::warn!(
                    client = client.id,
                    "a credential under a name of the hub's own is not accepted"
                );
                continue;
            }
            if let (None, Some(hash)) = (&client.revoked, client.hash()) {
                known.push((ClientId::new(client.id), hash));
            }
        }
        Ok(Self { known })
    }

    /// Whose token this is. Every known hash is looked at whichever matches,
    /// so that the time taken says nothing about any of them.
    pub fn verify(&self, token: &str) -> Option<&ClientId> {
        let shown = hash(token);
        let mut found = u64::MAX;
        for (index, (_, known)) in (0u64..).zip(&self.known) {
            found.conditional_assign(&index, same(known, &shown));
        }
        let index = usize::try_from(found).ok()?;
        self.known.get(index).map(|(id, _)| id)
    }

    /// Whose credentials work.
    pub fn clients(&self) -> impl Iterator<Item = &ClientId> {
        self.known.iter().map(|(id, _)| id)
    }
}

/// Whether two hashes are the same, in time that does not depend on where they differ. Word by
/// word: every request asks.
fn same(one: &[u8; 32], other: &[u8; 32]) -> Choice {
    let (one, _) = one.as_chunks::<8>();
    let (other, _) = other.as_chunks::<8>();
    let pairs = one.iter().zip(other);
    let differ = pairs.fold(0, |differ, (one, other)| {
        differ | (u64::from_ne_bytes(*one) ^ u64::from_ne_bytes(*other))
    });
    differ.ct_eq(&0)
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.clients()).finish()
    }
}

// === impl ClientsError ===

impl ClientsError {
    /// What to do next.
    pub fn hint(&self) -> String {
        match self {
            Self::Read(error) => format!("Check that you may read {}.", error.path.display()),
            Self::Malformed { file, .. } => format!(
                "Restore {file}, or remove it and run `legation connect` for each client again."
            ),
            Self::WeakToken { file } => {
                format!("Remove {file}; the next start writes a new token.")
            }
            Self::Write(error) => format!("Check that you may write {}.", error.path.display()),
            Self::Random(_) => "Try again.".to_owned(),
            Self::BadId { .. } => format!(
                "Use 1 to 64 letters, digits, dots, dashes and underscores; `{OWNER}`, `{DELEGATE}` and `{LOCAL}` are taken."
            ),
            Self::Unknown { .. } => "`legation connect` names the clients.".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests;
