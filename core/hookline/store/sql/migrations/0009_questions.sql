-- Questions to people. A turn that waits for an answer is parked: it has no owner and does not
-- continue while one of its questions is open. steering is what people added with /steer
-- meanwhile, as JSON. message is the id of the message that answered a question. A row of
-- question_chats is closed once the chat has learned that the question is.

CREATE TABLE questions (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    session_id TEXT NOT NULL,
    channel TEXT NOT NULL,
    chat_id TEXT NOT NULL,
    asker TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    call_key TEXT NOT NULL,
    body TEXT NOT NULL,
    created DOUBLE PRECISION NOT NULL,
    expires DOUBLE PRECISION,
    state TEXT NOT NULL DEFAULT 'open',
    choice TEXT NOT NULL DEFAULT '',
    words TEXT NOT NULL DEFAULT '',
    answered_by TEXT NOT NULL DEFAULT '',
    message TEXT NOT NULL DEFAULT '',
    closed DOUBLE PRECISION
);
CREATE INDEX questions_open ON questions (created) WHERE state = 'open';
CREATE INDEX questions_turn ON questions (turn_id, call_key);
CREATE INDEX questions_session ON questions (session_id);
CREATE INDEX questions_message ON questions (message) WHERE message <> '';

CREATE TABLE question_chats (
    question_id TEXT NOT NULL,
    channel TEXT NOT NULL,
    chat_id TEXT NOT NULL,
    person TEXT NOT NULL,
    reply_id TEXT NOT NULL,
    closed INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (question_id, channel, chat_id)
);

ALTER TABLE turns ADD COLUMN parked INTEGER NOT NULL DEFAULT 0;
ALTER TABLE turns ADD COLUMN steering TEXT;
