CREATE TABLE checkpoints (
    origin TEXT NOT NULL,
    size INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    root BLOB NOT NULL,
    note BLOB NOT NULL,
    PRIMARY KEY (origin, size)
) STRICT;
