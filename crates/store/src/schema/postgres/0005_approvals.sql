CREATE TABLE approvals (
    id TEXT COLLATE "C" PRIMARY KEY,
    state TEXT COLLATE "C" NOT NULL,
    client TEXT COLLATE "C" NOT NULL,
    seat TEXT COLLATE "C" NOT NULL,
    server TEXT COLLATE "C" NOT NULL,
    item TEXT COLLATE "C" NOT NULL,
    verb TEXT COLLATE "C" NOT NULL,
    entity TEXT COLLATE "C" NOT NULL,
    definition BYTEA,
    args_digest BYTEA NOT NULL,
    policy_version BIGINT NOT NULL,
    created_ms BIGINT NOT NULL,
    expires_ms BIGINT NOT NULL,
    decided_ms BIGINT,
    decided_by TEXT COLLATE "C",
    detail BYTEA NOT NULL
);

CREATE INDEX approvals_by_state ON approvals (state, created_ms);
