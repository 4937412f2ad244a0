CREATE TABLE tasks (
    handle TEXT PRIMARY KEY,
    client TEXT NOT NULL,
    server TEXT NOT NULL,
    seat TEXT NOT NULL,
    upstream TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    ttl_ms INTEGER,
    state BLOB NOT NULL
) STRICT;

CREATE INDEX tasks_by_client ON tasks (client, created_ms);
