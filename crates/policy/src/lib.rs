//! Pure decisions: who may call what; the only mint of Permitted.
