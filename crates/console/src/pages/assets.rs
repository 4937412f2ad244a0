//! What pages load beside themselves. All of it is in the program, and nothing
//! is asked of any other place.

use std::sync::LazyLock;

use bytes::Bytes;
use legation_core::id::hex;
use sha2::{Digest as _, Sha256};

/// A file in the program.
#[derive(Debug)]
pub(crate) struct Asset {
    /// Its path: with a digest in it, so that browsers keep it and still see a change.
    pub(crate) path: String,
    pub(crate) kind: &'static str,
    pub(crate) body: Bytes,
}

pub(crate) static STYLE: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new(
        "console.css",
        "text/css; charset=utf-8",
        include_str!("../assets/console.css"),
    )
});

pub(crate) static SCRIPT: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new(
        "console.js",
        "text/javascript; charset=utf-8",
        include_str!("../assets/console.js"),
    )
});

pub(crate) static ICON: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new(
        "icon.svg",
        "image/svg+xml",
        include_str!("../assets/icon.svg"),
    )
});

/// The file at a path.
pub(crate) fn find(path: &str) -> Option<&'static Asset> {
    [&STYLE, &SCRIPT, &ICON]
        .into_iter()
        .map(|asset| &**asset)
        .find(|asset| asset.path == path)
}

// === impl Asset ===

impl Asset {
    fn new(name: &str, kind: &'static str, text: &'static str) -> Self {
        let digest = hex(&Sha256::digest(text.as_bytes())[..8]);
        Self {
            path: format!("/assets/{digest}/{name}"),
            kind,
            body: Bytes::from_static(text.as_bytes()),
        }
    }
}
