//! Files, layers, provenance, trust and the environment.
