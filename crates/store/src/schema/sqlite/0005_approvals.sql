CREATE TABLE approvals (
    id TEXT PRIMARY KEY,
    state TEXT NOT NULL,
    client TEXT NOT NULL,
    seat TEXT NOT NULL,
    server TEXT NOT NULL,
    item TEXT NOT NULL,
    verb TEXT NOT NULL,
    entity TEXT NOT NULL,
    definition BLOB,
    args_digest BLOB NOT NULL,
    policy_version INTEGER NOT NULL,
    created_ms INTEGER NOT NULL,
    expires_ms INTEGER NOT NULL,
    decided_ms INTEGER,
    decided_by TEXT,
    detail BLOB NOT NULL
) STRICT;

CREATE INDEX approvals_by_state ON approvals (state, created_ms);
