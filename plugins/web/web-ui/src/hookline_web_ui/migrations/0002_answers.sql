-- Approvals that are over, for a reload: what was asked where the chat itself does not show it, and who chose what.

CREATE TABLE web_ui_answers (
    id TEXT PRIMARY KEY,
    session_id TEXT NOT NULL,
    asked TEXT NOT NULL,
    choice TEXT NOT NULL,
    person TEXT NOT NULL,
    created DOUBLE PRECISION NOT NULL
);
CREATE INDEX web_ui_answers_session ON web_ui_answers (session_id);
