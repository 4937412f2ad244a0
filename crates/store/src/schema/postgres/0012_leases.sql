CREATE TABLE leases (
    name TEXT COLLATE "C" PRIMARY KEY,
    holder TEXT COLLATE "C" NOT NULL,
    token BIGINT NOT NULL,
    until_ms BIGINT NOT NULL
);
