CREATE TABLE ledger_places (
    position INTEGER PRIMARY KEY,
    ends_at INTEGER NOT NULL
) STRICT;
