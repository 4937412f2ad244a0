CREATE TABLE tasks (
    handle TEXT COLLATE "C" PRIMARY KEY,
    client TEXT COLLATE "C" NOT NULL,
    server TEXT COLLATE "C" NOT NULL,
    seat TEXT COLLATE "C" NOT NULL,
    upstream TEXT COLLATE "C" NOT NULL,
    created_ms BIGINT NOT NULL,
    ttl_ms BIGINT,
    state BYTEA NOT NULL
);

CREATE INDEX tasks_by_client ON tasks (client, created_ms);
