//! The hub's SQLite store: ledger rows, remembered definitions, tasks.
