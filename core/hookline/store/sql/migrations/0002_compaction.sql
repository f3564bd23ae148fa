-- Parts of a history that were replaced (compaction), in the order of their making: what replaces
-- the messages first to last. The messages themselves stay. And what the cache did, and which
-- plugins failed.

CREATE TABLE rewrites (
    session_id TEXT NOT NULL,
    number INTEGER NOT NULL,
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    turn_id TEXT NOT NULL,
    bodies TEXT NOT NULL,
    created DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (session_id, number)
);

CREATE TABLE plugin_errors (
    plugin TEXT NOT NULL,
    hook TEXT NOT NULL,
    reason TEXT NOT NULL,
    created DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (plugin, hook, reason)
);

ALTER TABLE sessions ADD COLUMN warm_until DOUBLE PRECISION NOT NULL DEFAULT 0;
ALTER TABLE usage ADD COLUMN cache_write_1h INTEGER NOT NULL DEFAULT 0;
ALTER TABLE usage ADD COLUMN input_cost DOUBLE PRECISION NOT NULL DEFAULT 0;
ALTER TABLE usage ADD COLUMN broken TEXT;
