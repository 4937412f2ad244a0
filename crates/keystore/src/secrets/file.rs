//! The sealed file: a line that says where the key is, then the sealed entries.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io;
use std::path::Path;

use legation_core::Secret;
use serde::{Deserialize, Serialize};
use zeroize::{Zeroize as _, Zeroizing};

use super::SecretsError;

const MAGIC: &str = "legation-secrets 1";

/// Where the key is; sealed with the entries, so that it cannot be exchanged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Header {
    /// In the system's keystore, under this name.
    System { id: String },
    /// In the folder of keys.
    File,
}

pub(super) struct Sealed {
    pub(super) header: Header,
    pub(super) body: Vec<u8>,
}

#[derive(Default)]
pub(super) struct Entries(BTreeMap<String, Secret>);

/// As the entries are written. The texts are wiped by whoever made them.
#[derive(Serialize, Deserialize)]
struct Plain(BTreeMap<String, String>);

/// What the file holds, `None` when there is none.
pub(super) fn read(path: &Path) -> Result<Option<Sealed>, SecretsError> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => {
            let path = path.to_owned();
            return Err(SecretsError::Read { path, source });
        }
    };
    let sealed = parse(&bytes).ok_or_else(|| SecretsError::Damaged {
        path: path.to_owned(),
    })?;
    Ok(Some(sealed))
}

fn parse(bytes: &[u8]) -> Option<Sealed> {
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    let (line, body) = (bytes.get(..end)?, bytes.get(end + 1..)?);
    let place = std::str::from_utf8(line).ok()?.strip_prefix(MAGIC)?;
    let header = match place.strip_prefix(' ')?.split_once(' ') {
        None if place == " file" => Header::File,
        Some(("system", id)) if !id.is_empty() => Header::System { id: id.to_owned() },
        _ => return None,
    };
    let body = body.to_vec();
    Some(Sealed { header, body })
}

// === impl Header ===

impl fmt::Display for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System { id } => write!(f, "{MAGIC} system {id}"),
            Self::File => write!(f, "{MAGIC} file"),
        }
    }
}

// === impl Entries ===

impl Entries {
    pub(super) fn parse(plain: &[u8]) -> Option<Self> {
        let plain: Plain = serde_json::from_slice(plain).ok()?;
        let entries = plain.0.into_iter();
        Some(Self(
            entries
                .map(|(name, text)| (name, Secret::new(text)))
                .collect(),
        ))
    }

    pub(super) fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let entries = self.0.iter();
        let mut plain = Plain(
            entries
                .map(|(name, secret)| (name.clone(), secret.reveal().to_owned()))
                .collect(),
        );
        let size: usize = plain.0.iter().map(|(n, t)| n.len() + t.len() + 8).sum();
        // Room for all of it beforehand: a buffer that grows leaves copies.
        let mut bytes = Zeroizing::new(Vec::with_capacity(size * 2 + 64));
        serde_json::to_writer(&mut *bytes, &plain).expect("a map of texts is JSON");
        plain.0.values_mut().for_each(|text| text.zeroize());
        bytes
    }

    pub(super) fn get(&self, name: &str) -> Option<&Secret> {
        self.0.get(name)
    }

    pub(super) fn put(&mut self, name: &str, secret: Secret) {
        self.0.insert(name.to_owned(), secret);
    }

    pub(super) fn remove(&mut self, name: &str) -> bool {
        self.0.remove(name).is_some()
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}
