-- Files whose mark a person lifted, each for the content that it had then: `state` is its SHA-256 in
-- hex, or, for one that is not known by its content, `changed` and its `st_ctime` in nanoseconds.
-- `by_whom` is who did it, `cleared` is in Unix seconds.
CREATE TABLE provenance_cleared (
    path TEXT NOT NULL,
    state TEXT NOT NULL,
    by_whom TEXT NOT NULL,
    cleared DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (path, state)
);
