-- Facts belong to the chat they were learnt in. Times are Unix seconds; `turn_id` is the turn of
-- `session_id` from which a fact was learnt. `memory_log` is what was learnt, changed and forgotten,
-- a call a row: `changes` is a JSON list, `undoes` the number of the row that this one took back.
-- `memory_numbers` holds the last number given, so that none is given twice.
CREATE TABLE memory_facts (
    id INTEGER PRIMARY KEY,
    channel TEXT NOT NULL,
    chat_id TEXT NOT NULL,
    content TEXT NOT NULL,
    category TEXT NOT NULL,
    confidence DOUBLE PRECISION NOT NULL,
    session_id TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    created DOUBLE PRECISION NOT NULL,
    expires_at DOUBLE PRECISION
);
CREATE INDEX memory_facts_chat ON memory_facts (channel, chat_id, created);
CREATE INDEX memory_facts_expiry ON memory_facts (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE memory_log (
    number INTEGER PRIMARY KEY,
    at DOUBLE PRECISION NOT NULL,
    channel TEXT NOT NULL,
    chat_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    origin TEXT NOT NULL,
    changes TEXT NOT NULL,
    undoes INTEGER
);
CREATE INDEX memory_log_undoes ON memory_log (undoes) WHERE undoes IS NOT NULL;

CREATE TABLE memory_numbers (
    name TEXT PRIMARY KEY,
    last INTEGER NOT NULL
);
INSERT INTO memory_numbers (name, last) VALUES ('fact', 0);
INSERT INTO memory_numbers (name, last) VALUES ('log', 0);
