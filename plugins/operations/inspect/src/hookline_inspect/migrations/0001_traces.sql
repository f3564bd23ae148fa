-- One row for each traced turn; `started` is Unix time in seconds, `bytes` the size of `tree` (JSON).
CREATE TABLE inspect_traces (
    turn_id TEXT PRIMARY KEY,
    session_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    started DOUBLE PRECISION NOT NULL,
    bytes INTEGER NOT NULL,
    tree TEXT NOT NULL
);
CREATE INDEX inspect_traces_session ON inspect_traces (session_id, started);
