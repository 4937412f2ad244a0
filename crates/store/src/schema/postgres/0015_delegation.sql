CREATE TABLE sessions (
    id TEXT COLLATE "C" PRIMARY KEY,
    hub TEXT COLLATE "C" NOT NULL,
    workspace TEXT COLLATE "C",
    created_ms BIGINT NOT NULL,
    active_ms BIGINT NOT NULL,
    current_ms BIGINT NOT NULL,
    labels TEXT COLLATE "C" NOT NULL,
    title BYTEA NOT NULL
);

CREATE INDEX sessions_by_use ON sessions (hub, active_ms);

CREATE TABLE delegated (
    id TEXT COLLATE "C" PRIMARY KEY,
    hub TEXT COLLATE "C" NOT NULL,
    session TEXT COLLATE "C" NOT NULL,
    class TEXT COLLATE "C" NOT NULL,
    client TEXT COLLATE "C" NOT NULL,
    seat TEXT COLLATE "C" NOT NULL,
    workspace TEXT COLLATE "C",
    state TEXT COLLATE "C" NOT NULL,
    hint TEXT COLLATE "C",
    place BIGINT NOT NULL,
    created_ms BIGINT NOT NULL,
    changed_ms BIGINT NOT NULL,
    worked_ms BIGINT NOT NULL,
    attempts BIGINT NOT NULL,
    labels TEXT COLLATE "C" NOT NULL,
    spec BYTEA NOT NULL,
    outcome BYTEA
);

CREATE INDEX delegated_by_state ON delegated (hub, state, changed_ms);
CREATE INDEX delegated_by_session ON delegated (session, created_ms);

CREATE TABLE messages (
    seq BIGINT PRIMARY KEY,
    session TEXT COLLATE "C" NOT NULL,
    task TEXT COLLATE "C",
    source TEXT COLLATE "C" NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    created_ms BIGINT NOT NULL,
    labels TEXT COLLATE "C" NOT NULL,
    body BYTEA NOT NULL
);

CREATE INDEX messages_by_session ON messages (session, seq);

CREATE TABLE steps (
    task TEXT COLLATE "C" NOT NULL,
    step BIGINT NOT NULL,
    place BIGINT NOT NULL,
    call_id TEXT COLLATE "C" NOT NULL,
    state TEXT COLLATE "C" NOT NULL,
    tool TEXT COLLATE "C" NOT NULL,
    changes BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    at_ms BIGINT NOT NULL,
    labels TEXT COLLATE "C" NOT NULL,
    body BYTEA NOT NULL,
    PRIMARY KEY (task, step, place)
);

CREATE TABLE partials (
    task TEXT COLLATE "C" PRIMARY KEY,
    step BIGINT NOT NULL,
    at_ms BIGINT NOT NULL,
    labels TEXT COLLATE "C" NOT NULL,
    body BYTEA NOT NULL
);

CREATE TABLE reports (
    id TEXT COLLATE "C" PRIMARY KEY,
    hub TEXT COLLATE "C" NOT NULL,
    task TEXT COLLATE "C",
    client TEXT COLLATE "C" NOT NULL,
    created_ms BIGINT NOT NULL,
    labels TEXT COLLATE "C" NOT NULL,
    body BYTEA NOT NULL
);
