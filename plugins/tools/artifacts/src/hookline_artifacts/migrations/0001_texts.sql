-- Whole results. `chars` counts code points, `expires` is Unix time in seconds.
CREATE TABLE artifacts_texts (
    id TEXT PRIMARY KEY,
    channel TEXT NOT NULL,
    chat_id TEXT NOT NULL,
    chars BIGINT NOT NULL,
    expires DOUBLE PRECISION NOT NULL
);
CREATE INDEX artifacts_texts_by_expiry ON artifacts_texts (expires);
-- A text in parts, so that a slice does not read all of it. `body` is a JSON string, because a
-- database need not be able to hold a NUL; `place` is the code point at which it starts.
CREATE TABLE artifacts_parts (
    artifact_id TEXT NOT NULL,
    place BIGINT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (artifact_id, place)
);
