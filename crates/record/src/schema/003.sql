-- What tasks asked of the device under test, one row a task and time: read only when somebody asks for it.

CREATE TABLE device (
    cell      INTEGER NOT NULL REFERENCES cell (id) ON DELETE CASCADE,
    position  INTEGER NOT NULL,
    task      TEXT NOT NULL,
    iteration INTEGER NOT NULL,
    record    BLOB NOT NULL,             -- JSON, compressed (zlib)
    PRIMARY KEY (cell, position)
) STRICT, WITHOUT ROWID;
