CREATE TABLE labels (
    holder TEXT NOT NULL,
    entity TEXT NOT NULL,
    PRIMARY KEY (holder, entity)
) STRICT;
