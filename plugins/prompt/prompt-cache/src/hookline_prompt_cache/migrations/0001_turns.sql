CREATE TABLE prompt_cache_turns (
    turn_id TEXT PRIMARY KEY,
    session_id TEXT NOT NULL,
    started DOUBLE PRECISION NOT NULL,
    ended DOUBLE PRECISION NOT NULL,
    requests BIGINT NOT NULL DEFAULT 0,
    input BIGINT NOT NULL DEFAULT 0,
    cache_read BIGINT NOT NULL DEFAULT 0,
    cache_write BIGINT NOT NULL DEFAULT 0,
    fresh BIGINT NOT NULL DEFAULT 0,
    input_cost DOUBLE PRECISION NOT NULL DEFAULT 0,
    broken TEXT NOT NULL DEFAULT '[]'
);
CREATE INDEX prompt_cache_turns_by_session ON prompt_cache_turns (session_id, started);
CREATE INDEX prompt_cache_turns_by_age ON prompt_cache_turns (started);
