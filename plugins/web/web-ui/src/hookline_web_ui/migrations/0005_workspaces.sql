-- The folder that an operator chose for a chat. id is the first version of the chat.

CREATE TABLE web_ui_workspaces (
    id TEXT PRIMARY KEY,
    folder TEXT NOT NULL
);
