CREATE TABLE spend (
    day BIGINT NOT NULL,
    provider TEXT COLLATE "C" NOT NULL,
    model TEXT COLLATE "C" NOT NULL,
    job TEXT COLLATE "C" NOT NULL,
    entities TEXT COLLATE "C" NOT NULL,
    requests BIGINT NOT NULL,
    uncounted BIGINT NOT NULL,
    input BIGINT NOT NULL,
    output BIGINT NOT NULL,
    cost_micro BIGINT NOT NULL,
    saved_micro BIGINT NOT NULL,
    PRIMARY KEY (day, provider, model, job, entities)
);
