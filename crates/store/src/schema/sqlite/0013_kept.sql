CREATE TABLE kept (
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    changed_ms INTEGER NOT NULL,
    expires_ms INTEGER NOT NULL,
    PRIMARY KEY (kind, name)
) STRICT;

CREATE INDEX kept_by_expiry ON kept (expires_ms);
