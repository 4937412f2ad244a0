CREATE TABLE definitions (
    key TEXT PRIMARY KEY,
    blob BLOB NOT NULL,
    updated_at_ms INTEGER NOT NULL
) STRICT;
