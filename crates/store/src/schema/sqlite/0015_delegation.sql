CREATE TABLE sessions (
    id TEXT PRIMARY KEY,
    hub TEXT NOT NULL,
    workspace TEXT,
    created_ms INTEGER NOT NULL,
    active_ms INTEGER NOT NULL,
    current_ms INTEGER NOT NULL,
    labels TEXT NOT NULL,
    title BLOB NOT NULL
) STRICT;

CREATE INDEX sessions_by_use ON sessions (hub, active_ms);

CREATE TABLE delegated (
    id TEXT PRIMARY KEY,
    hub TEXT NOT NULL,
    session TEXT NOT NULL,
    class TEXT NOT NULL,
    client TEXT NOT NULL,
    seat TEXT NOT NULL,
    workspace TEXT,
    state TEXT NOT NULL,
    hint TEXT,
    place INTEGER NOT NULL,
    created_ms INTEGER NOT NULL,
    changed_ms INTEGER NOT NULL,
    worked_ms INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    labels TEXT NOT NULL,
    spec BLOB NOT NULL,
    outcome BLOB
) STRICT;

CREATE INDEX delegated_by_state ON delegated (hub, state, changed_ms);
CREATE INDEX delegated_by_session ON delegated (session, created_ms);

CREATE TABLE messages (
    seq INTEGER PRIMARY KEY,
    session TEXT NOT NULL,
    task TEXT,
    source TEXT NOT NULL,
    kind TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    labels TEXT NOT NULL,
    body BLOB NOT NULL
) STRICT;

CREATE INDEX messages_by_session ON messages (session, seq);

CREATE TABLE steps (
    task TEXT NOT NULL,
    step INTEGER NOT NULL,
    place INTEGER NOT NULL,
    call_id TEXT NOT NULL,
    state TEXT NOT NULL,
    tool TEXT NOT NULL,
    changes INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    labels TEXT NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (task, step, place)
) STRICT;

CREATE TABLE partials (
    task TEXT PRIMARY KEY,
    step INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    labels TEXT NOT NULL,
    body BLOB NOT NULL
) STRICT;

CREATE TABLE reports (
    id TEXT PRIMARY KEY,
    hub TEXT NOT NULL,
    task TEXT,
    client TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    labels TEXT NOT NULL,
    body BLOB NOT NULL
) STRICT;
