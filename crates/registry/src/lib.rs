//! Servers that others publish: registries that list them (MCP registry API v0.1, documents of
//! `server.json`), and bundles that hold them (MCPB).
//!
//! Everything that is read here is somebody else's word. So nothing of it can refer to what only the
//! owner may name: a `$` that a registry or a bundle wrote stands for itself, and only what the owner
//! answered becomes a reference. What would run is made in one place ([`Way::recipe`]) and shown before
//! it is; a document that cannot be pinned, checked or kept from showing a secret is refused, not bent.
//! To fetch and run in one step, as the programs for packages do, was rejected: the owner could agree
//! to nothing.

pub mod bundle;
mod error;
mod input;
mod packages;
mod registry;
mod server;
mod shelf;
mod text;
mod way;
mod wire;

pub use legation_net::proxy::Proxies;

pub use bundle::{BadBundle, Bundle};
pub use error::RegistryError;
pub use input::{Answers, BadAnswer, Input};
pub use registry::{Found, Registry, SEARCH_MAX, fetch_bundle, is_sha256};
pub use server::{BundleAt, Offer, Server};
pub use shelf::Shelf;
pub use way::{Kind, Recipe, Way};

#[cfg(test)]
mod tests;
