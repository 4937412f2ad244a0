CREATE TABLE ledger_entities (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    last_seq INTEGER NOT NULL DEFAULT 0,
    last_position INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE ledger (
    position INTEGER PRIMARY KEY,
    entity INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    prev BLOB NOT NULL,
    hash BLOB NOT NULL,
    bytes BLOB NOT NULL
) STRICT;

CREATE TABLE ledger_mark (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    position INTEGER NOT NULL
) STRICT;
