CREATE TABLE standup_notes (
    channel TEXT NOT NULL,
    chat_id TEXT NOT NULL,
    author TEXT NOT NULL,
    day TEXT NOT NULL, -- the local day, such as 2026-11-22
    noted DOUBLE PRECISION NOT NULL, -- Unix time in seconds
    text TEXT NOT NULL,
    blocker TEXT NOT NULL -- empty if nothing is in the way
);

CREATE INDEX standup_notes_by_day ON standup_notes (channel, chat_id, day);
