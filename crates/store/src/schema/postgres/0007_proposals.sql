CREATE TABLE proposals (
    id TEXT COLLATE "C" PRIMARY KEY,
    state TEXT COLLATE "C" NOT NULL,
    client TEXT COLLATE "C" NOT NULL,
    entity TEXT COLLATE "C" NOT NULL,
    digest BYTEA NOT NULL,
    created_ms BIGINT NOT NULL,
    expires_ms BIGINT NOT NULL,
    certified_by TEXT COLLATE "C",
    certified_ms BIGINT,
    idempotency_key TEXT COLLATE "C" NOT NULL UNIQUE,
    plan BYTEA NOT NULL
);

CREATE INDEX proposals_by_state ON proposals (state, created_ms);
