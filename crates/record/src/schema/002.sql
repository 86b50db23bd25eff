-- What programs printed and the engine found, as it is: read only when somebody asks for it.

CREATE TABLE output (
    cell      INTEGER NOT NULL REFERENCES cell (id) ON DELETE CASCADE,
    position  INTEGER NOT NULL,
    task      TEXT NOT NULL,
    iteration INTEGER NOT NULL,
    kind      TEXT NOT NULL,             -- stdout, stderr, or result: the engine's document, JSON
    text      TEXT NOT NULL,
    PRIMARY KEY (cell, position)
) STRICT, WITHOUT ROWID;
