CREATE TABLE pins (
    server TEXT NOT NULL,
    kind TEXT NOT NULL,
    item TEXT NOT NULL,
    hash BLOB NOT NULL,
    definition BLOB NOT NULL,
    state TEXT NOT NULL,
    findings BLOB NOT NULL,
    first_seen_ms INTEGER NOT NULL,
    changed_ms INTEGER,
    decided_ms INTEGER,
    decided_by TEXT,
    PRIMARY KEY (server, kind, item)
) STRICT;
