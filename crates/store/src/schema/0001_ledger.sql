CREATE TABLE ledger (
    position INTEGER PRIMARY KEY,
    entity TEXT NOT NULL,
    seq INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    prev BLOB NOT NULL,
    hash BLOB NOT NULL,
    bytes BLOB NOT NULL
) STRICT;

CREATE UNIQUE INDEX ledger_by_entity ON ledger (entity, seq);

CREATE TABLE ledger_mark (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    position INTEGER NOT NULL
) STRICT;
