CREATE TABLE proposals (
    id TEXT PRIMARY KEY,
    state TEXT NOT NULL,
    client TEXT NOT NULL,
    entity TEXT NOT NULL,
    digest BLOB NOT NULL,
    created_ms INTEGER NOT NULL,
    expires_ms INTEGER NOT NULL,
    certified_by TEXT,
    certified_ms INTEGER,
    idempotency_key TEXT NOT NULL UNIQUE,
    plan BLOB NOT NULL
) STRICT;

CREATE INDEX proposals_by_state ON proposals (state, created_ms);
