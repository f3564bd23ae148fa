-- What each chat's USER.md was and is: the newest row of a chat is what the plugin last wrote or
-- found. `version` counts within a chat, `id` over all; neither is given twice. `by_hand` is a JSON
-- list of the lines that a person wrote. Times are Unix seconds.
CREATE TABLE user_model_versions (
    id INTEGER PRIMARY KEY,
    channel TEXT NOT NULL,
    chat_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    text TEXT NOT NULL,
    by_hand TEXT NOT NULL,
    origin TEXT NOT NULL,
    session_id TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    created DOUBLE PRECISION NOT NULL
);
CREATE UNIQUE INDEX user_model_versions_chat ON user_model_versions (channel, chat_id, version);

CREATE TABLE user_model_numbers (
    name TEXT PRIMARY KEY,
    last INTEGER NOT NULL
);
INSERT INTO user_model_numbers (name, last) VALUES ('version', 0);
