-- What a person has allowed without being asked again. `number` is what /grants shows; `fingerprint`
-- is the SHA-256 of tool, arguments and workspace; `session_id` is empty for "Always", otherwise the
-- grant ends with that session; times are Unix seconds.
CREATE TABLE approvals_grants (
    number INTEGER PRIMARY KEY,
    channel TEXT NOT NULL,
    chat_id TEXT NOT NULL,
    person TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    session_id TEXT NOT NULL,
    session_created DOUBLE PRECISION NOT NULL,
    tool TEXT NOT NULL,
    shown TEXT NOT NULL,
    granted DOUBLE PRECISION NOT NULL
);
CREATE UNIQUE INDEX approvals_grants_call
    ON approvals_grants (channel, chat_id, person, fingerprint, session_id, session_created);
