CREATE TABLE ledger_entities (
    number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name TEXT COLLATE "C" NOT NULL UNIQUE,
    last_seq BIGINT NOT NULL DEFAULT 0,
    last_position BIGINT NOT NULL DEFAULT 0,
    last_hash BYTEA NOT NULL DEFAULT decode(repeat('00', 32), 'hex')
) WITH (fillfactor = 50);

CREATE TABLE ledger (
    position BIGINT PRIMARY KEY,
    entity BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    at_ms BIGINT NOT NULL,
    prev BYTEA NOT NULL,
    hash BYTEA NOT NULL,
    bytes BYTEA NOT NULL
);

CREATE TABLE ledger_mark (
    single BIGINT PRIMARY KEY CHECK (single = 1),
    position BIGINT NOT NULL
);
