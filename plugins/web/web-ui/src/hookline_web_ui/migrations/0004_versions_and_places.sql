-- The sessions that are versions of one chat. root is the first of them; another was copied from base
-- up to the message fork_seq, which it has in another form (edited) or with another answer.

CREATE TABLE web_ui_versions (
    id TEXT PRIMARY KEY,
    root TEXT NOT NULL,
    base TEXT,
    fork_seq BIGINT,
    edited INTEGER NOT NULL,
    created DOUBLE PRECISION NOT NULL
);
CREATE INDEX web_ui_versions_root ON web_ui_versions (root);

-- Where a chat is in the list: pinned on top, in a folder, or in the archive. id is the first version.

CREATE TABLE web_ui_places (
    id TEXT PRIMARY KEY,
    pinned INTEGER NOT NULL,
    folder TEXT NOT NULL,
    archived INTEGER NOT NULL
);
