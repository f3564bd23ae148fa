-- A row as it was written by `node`, where it has the number `n`; `at` is in microseconds of Unix
-- time. `body` is encrypted with the key `kid`, which vouches for the other columns too; `seq` and
-- `sha` are the row's place in the chain, null until it is sealed.
CREATE TABLE audit_rows (
    node TEXT NOT NULL,
    n INTEGER NOT NULL,
    at INTEGER NOT NULL,
    channel TEXT NOT NULL,
    session TEXT NOT NULL,
    turn TEXT NOT NULL,
    kind TEXT NOT NULL,
    verdict TEXT NOT NULL,
    kid TEXT NOT NULL,
    body TEXT NOT NULL,
    seq INTEGER,
    sha TEXT,
    PRIMARY KEY (node, n)
);
CREATE UNIQUE INDEX audit_rows_seq ON audit_rows (seq);
CREATE INDEX audit_rows_at ON audit_rows (at);

-- The key of a chat, wrapped; `chat` is a pseudonym that only the home's key can make.
CREATE TABLE audit_keys (
    kid TEXT PRIMARY KEY,
    chat TEXT NOT NULL,
    wrapped TEXT NOT NULL
);
CREATE INDEX audit_keys_chat ON audit_keys (chat);

-- `identity` (the public key), `anchor` (where the chain begins), `checkpoint` (the newest one) as
-- JSON, and `lease` (which node seals, and until when).
CREATE TABLE audit_state (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL,
    until DOUBLE PRECISION NOT NULL DEFAULT 0
);
