-- Files that people sent by the page (side in), and those of replies to them (side out).

CREATE TABLE web_ui_files (
    id TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    session_id TEXT,
    turn_id TEXT,
    side TEXT NOT NULL,
    name TEXT NOT NULL,
    mime TEXT NOT NULL,
    size BIGINT NOT NULL,
    caption TEXT NOT NULL,
    kind TEXT NOT NULL,
    duration DOUBLE PRECISION NOT NULL,
    path TEXT NOT NULL,
    created DOUBLE PRECISION NOT NULL
);
CREATE INDEX web_ui_files_session ON web_ui_files (session_id);
CREATE INDEX web_ui_files_path ON web_ui_files (path);
