-- The index of core's table `messages`. A deleted message or session takes its rows here along
-- (foreign keys), so that dropping the plugin's tables leaves nothing behind.

-- A row for each message that has been looked at, searchable or not; `doc` is the message's rowid,
-- so that what is new and what is still to do follows from the largest and the smallest one.
-- `chat` is a hash of channel and chat id, `created` Unix time in seconds.
CREATE TABLE session_search_messages (
    doc BIGINT PRIMARY KEY,
    session_id TEXT NOT NULL,
    seq BIGINT NOT NULL,
    chat BIGINT NOT NULL,
    created DOUBLE PRECISION NOT NULL,
    FOREIGN KEY (session_id, seq) REFERENCES messages (session_id, seq) ON DELETE CASCADE
);
CREATE UNIQUE INDEX session_search_messages_place ON session_search_messages (session_id, seq);

-- The words are those that tokens.py separates: signs and CJK characters stand alone.
CREATE TABLE session_search_texts (
    doc BIGINT PRIMARY KEY REFERENCES session_search_messages (doc) ON DELETE CASCADE,
    words TSVECTOR NOT NULL
);
CREATE INDEX session_search_texts_words ON session_search_texts USING gin (words);
