CREATE TABLE desk (
    kind TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    entity TEXT COLLATE "C" NOT NULL,
    account TEXT COLLATE "C" NOT NULL,
    state TEXT COLLATE "C" NOT NULL,
    unique_key TEXT COLLATE "C",
    at_ms BIGINT NOT NULL,
    until_ms BIGINT NOT NULL,
    changed_ms BIGINT NOT NULL,
    version BIGINT NOT NULL,
    body BYTEA NOT NULL,
    PRIMARY KEY (kind, id)
);

CREATE UNIQUE INDEX desk_by_key ON desk (kind, unique_key);

CREATE INDEX desk_by_entity ON desk (kind, entity, at_ms);

CREATE INDEX desk_by_change ON desk (changed_ms);

CREATE TABLE desk_log (
    seq BIGINT PRIMARY KEY,
    kind TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    entity TEXT COLLATE "C" NOT NULL,
    at_ms BIGINT NOT NULL,
    body BYTEA NOT NULL
);

CREATE INDEX desk_log_by_row ON desk_log (kind, id, seq);
