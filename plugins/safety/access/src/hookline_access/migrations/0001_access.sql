-- Who may write. `role` is `admin`, `user` or `blocked`; `code` is the pairing code that let the
-- person in, `message_id` the message that made the first admin: the same one, delivered again
-- after a crash, gets the same answer. `by_whom` is CHANNEL:USER, `terminal` or `claim`. Times are
-- Unix seconds.
CREATE TABLE access_people (
    channel TEXT NOT NULL,
    user_id TEXT NOT NULL,
    role TEXT NOT NULL,
    code TEXT NOT NULL,
    message_id TEXT NOT NULL,
    by_whom TEXT NOT NULL,
    since DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (channel, user_id)
);

-- Unknown people who have written: the newest pairing code of each and the message that got it.
-- `given` counts the codes since `began`, `unanswered` the messages that got no answer.
CREATE TABLE access_requests (
    channel TEXT NOT NULL,
    user_id TEXT NOT NULL,
    chat_id TEXT NOT NULL,
    message_id TEXT NOT NULL,
    code TEXT NOT NULL UNIQUE,
    opened DOUBLE PRECISION NOT NULL,
    expires DOUBLE PRECISION NOT NULL,
    began DOUBLE PRECISION NOT NULL,
    given INTEGER NOT NULL,
    unanswered INTEGER NOT NULL,
    PRIMARY KEY (channel, user_id)
);

-- Claim codes that make the first admin, as SHA-256; `wrong` counts what was sent in their place.
CREATE TABLE access_claims (
    digest TEXT PRIMARY KEY,
    expires DOUBLE PRECISION NOT NULL,
    wrong INTEGER NOT NULL
);

-- Chats in which an admin has written. `user_id` is the only person who ever did; empty once there
-- was a second one. `seen` is when the admin wrote last, to the hour.
CREATE TABLE access_chats (
    channel TEXT NOT NULL,
    chat_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    seen DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (channel, chat_id)
);

-- What was asked for and decided, the newest 1,000.
CREATE TABLE access_log (
    number INTEGER PRIMARY KEY,
    at DOUBLE PRECISION NOT NULL,
    person TEXT NOT NULL,
    what TEXT NOT NULL
);
