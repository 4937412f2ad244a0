CREATE TABLE ledger_entities (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    last_seq INTEGER NOT NULL DEFAULT 0,
    last_position INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE ledger (
    position INTEGER PRIMARY KEY,
    entity INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    prev BLOB NOT NULL,
    hash BLOB NOT NULL,
    bytes BLOB NOT NULL
) STRICT;

CREATE TABLE ledger_mark (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    position INTEGER NOT NULL
) STRICT;
CREATE TABLE definitions (
    key TEXT PRIMARY KEY,
    blob BLOB NOT NULL,
    updated_at_ms INTEGER NOT NULL
) STRICT;
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
CREATE TABLE counters (
    name TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT;
CREATE TABLE approvals (
    id TEXT PRIMARY KEY,
    state TEXT NOT NULL,
    client TEXT NOT NULL,
    seat TEXT NOT NULL,
    server TEXT NOT NULL,
    item TEXT NOT NULL,
    verb TEXT NOT NULL,
    entity TEXT NOT NULL,
    definition BLOB,
    args_digest BLOB NOT NULL,
    policy_version INTEGER NOT NULL,
    created_ms INTEGER NOT NULL,
    expires_ms INTEGER NOT NULL,
    decided_ms INTEGER,
    decided_by TEXT,
    detail BLOB NOT NULL
) STRICT;

CREATE INDEX approvals_by_state ON approvals (state, created_ms);
CREATE TABLE grants (
    id TEXT PRIMARY KEY,
    client TEXT NOT NULL,
    server TEXT NOT NULL,
    item TEXT NOT NULL,
    verb TEXT NOT NULL,
    entity TEXT NOT NULL,
    definition BLOB,
    args_digest BLOB,
    rung TEXT NOT NULL,
    policy_version INTEGER,
    scope TEXT NOT NULL,
    seat TEXT,
    workspace TEXT,
    created_ms INTEGER NOT NULL,
    expires_ms INTEGER,
    uses_left INTEGER CHECK (uses_left >= 0),
    approval TEXT,
    approver TEXT NOT NULL,
    mac BLOB NOT NULL
, on_behalf_of TEXT) STRICT;
CREATE TABLE proposals (
    id TEXT PRIMARY KEY,
    state TEXT NOT NULL,
    client TEXT NOT NULL,
    entity TEXT NOT NULL,
    digest BLOB NOT NULL,
    created_ms INTEGER NOT NULL,
    expires_ms INTEGER NOT NULL,
    certified_by TEXT,
    certified_ms INTEGER,
    idempotency_key TEXT NOT NULL UNIQUE,
    plan BLOB NOT NULL
) STRICT;

CREATE INDEX proposals_by_state ON proposals (state, created_ms);
CREATE TABLE pins (
    server TEXT NOT NULL,
    kind TEXT NOT NULL,
    item TEXT NOT NULL,
    hash BLOB NOT NULL,
    definition BLOB NOT NULL,
    state TEXT NOT NULL,
    findings BLOB NOT NULL,
    first_seen_ms INTEGER NOT NULL,
    changed_ms INTEGER,
    decided_ms INTEGER,
    decided_by TEXT,
    PRIMARY KEY (server, kind, item)
) STRICT;
CREATE TABLE vault (
    entity TEXT NOT NULL,
    conversation TEXT NOT NULL,
    token TEXT NOT NULL,
    sealed BLOB NOT NULL,
    created_ms INTEGER NOT NULL,
    expires_ms INTEGER NOT NULL,
    PRIMARY KEY (entity, token)
) STRICT;

CREATE INDEX vault_by_conversation ON vault (conversation, entity, created_ms);

CREATE INDEX vault_by_expiry ON vault (expires_ms);
CREATE TABLE labels (
    holder TEXT NOT NULL,
    entity TEXT NOT NULL,
    PRIMARY KEY (holder, entity)
) STRICT;
CREATE TABLE checkpoints (
    origin TEXT NOT NULL,
    size INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    root BLOB NOT NULL,
    note BLOB NOT NULL,
    PRIMARY KEY (origin, size)
) STRICT;
CREATE TABLE leases (
    name TEXT PRIMARY KEY,
    holder TEXT NOT NULL,
    token INTEGER NOT NULL,
    until_ms INTEGER NOT NULL
) STRICT;
CREATE TABLE kept (
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    changed_ms INTEGER NOT NULL,
    expires_ms INTEGER NOT NULL,
    PRIMARY KEY (kind, name)
) STRICT;

CREATE INDEX kept_by_expiry ON kept (expires_ms);
CREATE TABLE sessions (
    id TEXT PRIMARY KEY,
    hub TEXT NOT NULL,
    workspace TEXT,
    created_ms INTEGER NOT NULL,
    active_ms INTEGER NOT NULL,
    current_ms INTEGER NOT NULL,
    labels TEXT NOT NULL,
    title BLOB NOT NULL
, client TEXT) STRICT;

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
, owner TEXT) STRICT;

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
CREATE TABLE spend (
    day INTEGER NOT NULL,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    job TEXT NOT NULL,
    entities TEXT NOT NULL,
    requests INTEGER NOT NULL,
    uncounted INTEGER NOT NULL,
    input INTEGER NOT NULL,
    output INTEGER NOT NULL,
    cost_micro INTEGER NOT NULL,
    saved_micro INTEGER NOT NULL,
    PRIMARY KEY (day, provider, model, job, entities)
) STRICT;
CREATE TABLE desk (
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    entity TEXT NOT NULL,
    account TEXT NOT NULL,
    state TEXT NOT NULL,
    unique_key TEXT,
    at_ms INTEGER NOT NULL,
    until_ms INTEGER NOT NULL,
    changed_ms INTEGER NOT NULL,
    version INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (kind, id)
) STRICT;

CREATE UNIQUE INDEX desk_by_key ON desk (kind, unique_key);

CREATE INDEX desk_by_entity ON desk (kind, entity, at_ms);

CREATE INDEX desk_by_change ON desk (changed_ms);

CREATE TABLE desk_log (
    seq INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    entity TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    body BLOB NOT NULL
) STRICT;

CREATE INDEX desk_log_by_row ON desk_log (kind, id, seq);
CREATE TABLE ledger_places (
    position INTEGER PRIMARY KEY,
    ends_at INTEGER NOT NULL
) STRICT;
