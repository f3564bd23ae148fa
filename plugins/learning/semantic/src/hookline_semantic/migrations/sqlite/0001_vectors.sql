-- One vector for each entry: of a plugin's corpus, or of one of core's messages, whose row takes
-- its vector along when it is deleted. `digest` is the hash of the text, `model` who made the
-- vector; an empty vector is that of a text that the guards refused. Nothing of a text is kept.
CREATE TABLE semantic_vectors (
    id INTEGER PRIMARY KEY,
    corpus TEXT NOT NULL,
    key TEXT NOT NULL,
    scope TEXT NOT NULL,
    digest TEXT NOT NULL,
    model TEXT NOT NULL,
    vector BLOB NOT NULL,
    session_id TEXT,
    seq INTEGER,
    FOREIGN KEY (session_id, seq) REFERENCES messages (session_id, seq) ON DELETE CASCADE
);
CREATE UNIQUE INDEX semantic_vectors_place ON semantic_vectors (corpus, key);
CREATE INDEX semantic_vectors_message ON semantic_vectors (session_id, seq);
CREATE INDEX semantic_vectors_text ON semantic_vectors (digest, model);

-- How many were removed, so that a process sees that what it holds in memory is out of date.
CREATE TABLE semantic_removed (number INTEGER NOT NULL);
INSERT INTO semantic_removed (number) VALUES (0);
CREATE TRIGGER semantic_vectors_gone AFTER DELETE ON semantic_vectors BEGIN
    UPDATE semantic_removed SET number = number + 1;
END;
