-- Samples are rows: a new metric is a new id in a row, never a new column or table.
-- Seeds are text: they use all 64 bits, SQLite's integers are signed. Times are milliseconds since 1970, UTC.

CREATE TABLE run (
    number         INTEGER PRIMARY KEY,
    id             TEXT NOT NULL UNIQUE,
    started        INTEGER NOT NULL,
    ended          INTEGER,
    status         TEXT NOT NULL CHECK (status IN ('running', 'done', 'interrupted', 'failed')),
    command_line   TEXT NOT NULL,
    suite          TEXT NOT NULL,
    lab            TEXT NOT NULL,
    machine        TEXT NOT NULL,
    kernel         TEXT NOT NULL,
    scale          REAL NOT NULL,
    seed           TEXT NOT NULL,
    repeats        INTEGER NOT NULL,
    configurations TEXT NOT NULL,            -- JSON: names in the user's order
    planned        INTEGER NOT NULL,         -- cells in the plan
    program        TEXT NOT NULL,            -- version of the program
    process        TEXT NOT NULL,            -- JSON: which process works on it, to tell a dead one
    environment    TEXT NOT NULL,            -- JSON
    plan           TEXT NOT NULL             -- JSON
) STRICT;

CREATE TABLE cell (
    id            INTEGER PRIMARY KEY,
    run           INTEGER NOT NULL REFERENCES run (number) ON DELETE CASCADE,
    position      INTEGER NOT NULL,          -- in the plan, from 0
    repeat        INTEGER NOT NULL,
    configuration TEXT NOT NULL,
    seed          TEXT NOT NULL,
    disk          TEXT NOT NULL,
    disk_size     INTEGER NOT NULL,
    started       INTEGER NOT NULL,
    ended         INTEGER NOT NULL,
    outcome       TEXT NOT NULL CHECK (outcome IN ('ok', 'skipped', 'failed')),
    reason        TEXT,
    detail        TEXT,
    environment   TEXT NOT NULL,             -- JSON
    corpus        TEXT,                      -- JSON
    log           TEXT NOT NULL,             -- the last of what the lab's console said; last, for it is long
    UNIQUE (run, position)
) STRICT;

CREATE TABLE task_outcome (
    cell     INTEGER NOT NULL REFERENCES cell (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    task     TEXT NOT NULL,
    outcome  TEXT NOT NULL CHECK (outcome IN ('ok', 'skipped', 'failed')),
    reason   TEXT,
    detail   TEXT,
    PRIMARY KEY (cell, position)
) STRICT, WITHOUT ROWID;

-- The key keeps a cell's samples together and in the order they were taken: a run is read without sorting.
CREATE TABLE sample (
    cell      INTEGER NOT NULL REFERENCES cell (id) ON DELETE CASCADE,
    position  INTEGER NOT NULL,
    task      TEXT NOT NULL,
    iteration INTEGER NOT NULL,
    metric    TEXT NOT NULL,
    value     REAL NOT NULL CHECK (abs(value) <= 1.7976931348623157e308),
    PRIMARY KEY (cell, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE note (
    cell     INTEGER NOT NULL REFERENCES cell (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    text     TEXT NOT NULL,
    PRIMARY KEY (cell, position)
) STRICT, WITHOUT ROWID;
