-- Clients. `digest` is the SHA-256 of the key in hexadecimal; a name has one key. Times are Unix
-- seconds.
CREATE TABLE openai_api_keys (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    digest TEXT NOT NULL UNIQUE,
    hint TEXT NOT NULL,
    created DOUBLE PRECISION NOT NULL
);

-- Whose a session is. `head` is the SHA-256 chain of its messages as the client has them.
CREATE TABLE openai_api_sessions (
    id TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    head TEXT NOT NULL,
    used DOUBLE PRECISION NOT NULL
);
CREATE INDEX openai_api_sessions_head ON openai_api_sessions (owner, head);

-- Requests. `id` is the id of the message, `request` what the answer repeats of the request, `log`
-- the answer as it came, as JSON; `retry` is the SHA-256 of the Idempotency-Key, null without one.
CREATE TABLE openai_api_runs (
    id TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    kind TEXT NOT NULL,
    session_id TEXT NOT NULL,
    digest TEXT NOT NULL,
    retry TEXT,
    chain TEXT NOT NULL,
    request TEXT NOT NULL,
    state TEXT NOT NULL,
    log TEXT NOT NULL,
    created DOUBLE PRECISION NOT NULL,
    ended DOUBLE PRECISION,
    expires DOUBLE PRECISION NOT NULL
);
CREATE UNIQUE INDEX openai_api_runs_retry ON openai_api_runs (owner, retry);
CREATE INDEX openai_api_runs_digest ON openai_api_runs (owner, digest);
CREATE INDEX openai_api_runs_expires ON openai_api_runs (expires);
