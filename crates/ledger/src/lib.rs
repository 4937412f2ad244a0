//! Hash-chained record of every call, and its verifier.
