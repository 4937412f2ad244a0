CREATE TABLE pins (
    server TEXT COLLATE "C" NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    item TEXT COLLATE "C" NOT NULL,
    hash BYTEA NOT NULL,
    definition BYTEA NOT NULL,
    state TEXT COLLATE "C" NOT NULL,
    findings BYTEA NOT NULL,
    first_seen_ms BIGINT NOT NULL,
    changed_ms BIGINT,
    decided_ms BIGINT,
    decided_by TEXT COLLATE "C",
    PRIMARY KEY (server, kind, item)
);
