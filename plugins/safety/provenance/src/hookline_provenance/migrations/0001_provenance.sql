-- Calls that wait for the operator's word. `call` is JSON of name and arguments; `state` is open,
-- accepted, rejected or failed; times are Unix seconds.
CREATE TABLE provenance_proposals (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    what TEXT NOT NULL,
    origin TEXT NOT NULL,
    session_id TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    call TEXT NOT NULL,
    state TEXT NOT NULL,
    created DOUBLE PRECISION NOT NULL,
    expires DOUBLE PRECISION NOT NULL
);
CREATE INDEX provenance_proposals_open ON provenance_proposals (state, created);

-- When calls of sessions that had read from outside ran: a file whose status changed (stat's ctime)
-- in between was written by one of them. `origins` is JSON, pairs of kind and source.
CREATE TABLE provenance_writes (
    session_id TEXT NOT NULL,
    started DOUBLE PRECISION NOT NULL,
    ended DOUBLE PRECISION NOT NULL,
    origins TEXT NOT NULL
);
CREATE INDEX provenance_writes_ended ON provenance_writes (ended);

-- Hosts, persons and tools that a person trusts as much as the workspace.
CREATE TABLE provenance_trust (
    what TEXT PRIMARY KEY,
    by_whom TEXT NOT NULL,
    added DOUBLE PRECISION NOT NULL
);
