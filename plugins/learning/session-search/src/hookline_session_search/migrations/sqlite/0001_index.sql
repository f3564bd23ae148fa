-- The index of core's table `messages`. It holds no trigger on core's tables: a deleted message or
-- session takes its row here along (foreign keys), and what follows hangs on these rows, so that
-- dropping the plugin's tables leaves nothing behind.

-- A row for each message that has been looked at, searchable or not; `doc` is the message's rowid,
-- so that what is new and what is still to do follows from the largest and the smallest one.
-- `chat` is a hash of channel and chat id, `created` Unix time in seconds.
CREATE TABLE session_search_messages (
    doc INTEGER PRIMARY KEY,
    session_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    chat INTEGER NOT NULL,
    created DOUBLE PRECISION NOT NULL,
    FOREIGN KEY (session_id, seq) REFERENCES messages (session_id, seq) ON DELETE CASCADE
);
CREATE UNIQUE INDEX session_search_messages_place ON session_search_messages (session_id, seq);

-- Sessions of which something is indexed.
CREATE TABLE session_search_sessions (
    id TEXT PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE
);

-- Deleted sessions whose words may still lie in segments of the full-text index.
CREATE TABLE session_search_deleted (id TEXT PRIMARY KEY);

-- The text is prepared in tokens.py: signs and CJK characters stand alone between blanks, and each
-- is a token because of `categories`.
CREATE VIRTUAL TABLE session_search_texts USING fts5(
    text, tokenize = "unicode61 remove_diacritics 2 categories 'L* N* Co P* S* M*'"
);

CREATE TRIGGER session_search_messages_gone AFTER DELETE ON session_search_messages BEGIN
    DELETE FROM session_search_texts WHERE rowid = old.doc;
END;

-- FTS5 only marks words as deleted. Merging drops them: of an index up to some 4 MB at once, the
-- rest is done in the background.
CREATE TRIGGER session_search_sessions_gone AFTER DELETE ON session_search_sessions BEGIN
    INSERT OR IGNORE INTO session_search_deleted (id) VALUES (old.id);
    INSERT INTO session_search_texts (session_search_texts, rank) VALUES ('merge', -1000);
END;
