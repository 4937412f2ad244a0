//! Hash maps on the way of every call.

use std::collections::HashMap;

/// A map whose keys are hashed in a few nanoseconds. The standard one takes many times that for
/// the sake of keys chosen by an enemy who can measure; this one is for names and ids that come
/// from configurations, from servers the owner chose and from the hub itself. Its seed too is
/// random in every process.
pub type QuickMap<K, V> = HashMap<K, V, QuickState>;

/// How a [`QuickMap`] hashes.
pub type QuickState = foldhash::quality::RandomState;
