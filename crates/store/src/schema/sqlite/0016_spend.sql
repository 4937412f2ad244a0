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
