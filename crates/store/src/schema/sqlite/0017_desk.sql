CREATE TABLE desk (
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    entity TEXT NOT NULL,
    account TEXT NOT NULL,
    state TEXT NOT NULL,
    unique_key TEXT,
    at_ms INTEGER NOT NULL,
    until_ms INTEGER NOT NULL,
    changed_ms INTEGER NOT NULL,
    version INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (kind, id)
) STRICT;

CREATE UNIQUE INDEX desk_by_key ON desk (kind, unique_key);

CREATE INDEX desk_by_entity ON desk (kind, entity, at_ms);

CREATE INDEX desk_by_change ON desk (changed_ms);

CREATE TABLE desk_log (
    seq INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    entity TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    body BLOB NOT NULL
) STRICT;

CREATE INDEX desk_log_by_row ON desk_log (kind, id, seq);
