-- Where the time of a cell's tasks went, if it ran with the profiler: read only when somebody asks for it.

CREATE TABLE profile (
    cell   INTEGER PRIMARY KEY REFERENCES cell (id) ON DELETE CASCADE,
    record BLOB NOT NULL                 -- crates/record/src/profiles.rs, compressed (zstd)
) STRICT;
