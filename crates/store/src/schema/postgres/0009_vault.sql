CREATE TABLE vault (
    entity TEXT COLLATE "C" NOT NULL,
    conversation TEXT COLLATE "C" NOT NULL,
    token TEXT COLLATE "C" NOT NULL,
    sealed BYTEA NOT NULL,
    created_ms BIGINT NOT NULL,
    expires_ms BIGINT NOT NULL,
    PRIMARY KEY (entity, token)
);

CREATE INDEX vault_by_conversation ON vault (conversation, entity, created_ms);

CREATE INDEX vault_by_expiry ON vault (expires_ms);
