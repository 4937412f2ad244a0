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
CREATE TABLE definitions (
    key TEXT PRIMARY KEY,
    blob BLOB NOT NULL,
    updated_at_ms INTEGER NOT NULL
) STRICT;
CREATE TABLE tasks (
    handle TEXT PRIMARY KEY,
    client TEXT NOT NULL,
    server TEXT NOT NULL,
    seat TEXT NOT NULL,
    upstream TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    ttl_ms INTEGER,
    state BLOB NOT NULL
) STRICT;

CREATE INDEX tasks_by_client ON tasks (client, created_ms);
