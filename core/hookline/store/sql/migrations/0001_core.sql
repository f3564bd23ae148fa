-- Sessions, what was said in them, and the journal, inbox and outbox that let a turn survive.
-- Times are Unix seconds. JSON is text.

CREATE TABLE sessions (
    id TEXT PRIMARY KEY,
    channel TEXT NOT NULL,
    chat_id TEXT NOT NULL,
    kind TEXT NOT NULL DEFAULT 'chat',
    parent_id TEXT,
    title TEXT,
    model TEXT NOT NULL,
    system TEXT NOT NULL,
    tools TEXT NOT NULL,
    workspace TEXT NOT NULL,
    parts TEXT NOT NULL,
    summary TEXT,
    question TEXT,
    turns INTEGER NOT NULL DEFAULT 0,
    created DOUBLE PRECISION NOT NULL,
    updated DOUBLE PRECISION NOT NULL,
    ended DOUBLE PRECISION,
    successor TEXT
);
CREATE INDEX sessions_chat ON sessions (channel, chat_id, updated);
CREATE INDEX sessions_updated ON sessions (updated);

CREATE TABLE inbox (
    id TEXT PRIMARY KEY,
    channel TEXT NOT NULL,
    message_id TEXT NOT NULL,
    chat_id TEXT NOT NULL,
    body TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'new',
    session_id TEXT,
    received DOUBLE PRECISION NOT NULL,
    UNIQUE (channel, message_id)
);
CREATE INDEX inbox_open ON inbox (state) WHERE state <> 'done';
CREATE INDEX inbox_received ON inbox (received);

CREATE TABLE turns (
    id TEXT PRIMARY KEY,
    session_id TEXT NOT NULL,
    inbox_id TEXT,
    number INTEGER NOT NULL,
    state TEXT NOT NULL DEFAULT 'running',
    stop TEXT NOT NULL DEFAULT '',
    iterations INTEGER NOT NULL DEFAULT 0,
    error TEXT,
    started DOUBLE PRECISION NOT NULL,
    ended DOUBLE PRECISION
);
CREATE INDEX turns_session ON turns (session_id, number);
CREATE INDEX turns_open ON turns (session_id) WHERE state = 'running';

CREATE TABLE messages (
    session_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    turn_id TEXT NOT NULL,
    role TEXT NOT NULL,
    body TEXT NOT NULL,
    text TEXT NOT NULL,
    created DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (session_id, seq)
);

CREATE TABLE sidecars (
    session_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (session_id, seq)
);

CREATE TABLE steps (
    turn_id TEXT NOT NULL,
    call_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    name TEXT NOT NULL,
    arguments TEXT NOT NULL,
    read_only INTEGER NOT NULL,
    state TEXT NOT NULL,
    ok INTEGER,
    result TEXT,
    seconds DOUBLE PRECISION,
    started DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (turn_id, call_id)
);

CREATE TABLE outbox (
    id TEXT PRIMARY KEY,
    session_id TEXT NOT NULL,
    turn_id TEXT,
    channel TEXT NOT NULL,
    chat_id TEXT NOT NULL,
    body TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'pending',
    attempts INTEGER NOT NULL DEFAULT 0,
    due DOUBLE PRECISION NOT NULL,
    delivered_id TEXT,
    created DOUBLE PRECISION NOT NULL
);
CREATE INDEX outbox_open ON outbox (channel, state, due) WHERE state <> 'sent';

CREATE TABLE usage (
    session_id TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    model TEXT NOT NULL,
    purpose TEXT NOT NULL,
    input INTEGER NOT NULL,
    cache_read INTEGER NOT NULL,
    cache_write INTEGER NOT NULL,
    output INTEGER NOT NULL,
    reasoning INTEGER NOT NULL,
    created DOUBLE PRECISION NOT NULL
);
CREATE INDEX usage_session ON usage (session_id);
CREATE INDEX usage_created ON usage (created);
