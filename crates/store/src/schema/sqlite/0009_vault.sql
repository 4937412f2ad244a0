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
