CREATE TABLE labels (
    holder TEXT COLLATE "C" NOT NULL,
    entity TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (holder, entity)
);
