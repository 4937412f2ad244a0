CREATE TABLE checkpoints (
    origin TEXT COLLATE "C" NOT NULL,
    size BIGINT NOT NULL,
    at_ms BIGINT NOT NULL,
    root BYTEA NOT NULL,
    note BYTEA NOT NULL,
    PRIMARY KEY (origin, size)
);
