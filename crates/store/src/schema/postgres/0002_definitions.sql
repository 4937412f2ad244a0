CREATE TABLE definitions (
    key TEXT COLLATE "C" PRIMARY KEY,
    blob BYTEA NOT NULL,
    updated_at_ms BIGINT NOT NULL
);
