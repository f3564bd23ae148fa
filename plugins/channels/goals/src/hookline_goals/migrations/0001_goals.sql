-- A goal of the chat (`channel`, `chat_id`) of `user_id`. `kind` is goal, worked on in the chat's
-- session, or background, in a session of its own. `address` is JSON: how its messages are sent.
-- `state` is active, paused, over (a budget is used up), blocked, done or cleared; `reason` why.
-- `round` numbers the turns ever begun, `turns`, `tokens`, `dollars` and `seconds` are what counts
-- against the budget. `idle` are turns in a row that called no tool, `unjudged` those that could not
-- be judged; `denied` is JSON, the calls that were denied. `process` works on it in the background;
-- `told` is 0 while a report waits to be sent.
CREATE TABLE goals_goals (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    channel TEXT NOT NULL,
    chat_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    address TEXT NOT NULL,
    session_id TEXT NOT NULL,
    workspace TEXT NOT NULL,
    goal TEXT NOT NULL,
    state TEXT NOT NULL,
    reason TEXT NOT NULL DEFAULT '',
    round INTEGER NOT NULL DEFAULT 1,
    turns INTEGER NOT NULL DEFAULT 0,
    tokens INTEGER NOT NULL DEFAULT 0,
    dollars DOUBLE PRECISION NOT NULL DEFAULT 0,
    seconds DOUBLE PRECISION NOT NULL DEFAULT 0,
    idle INTEGER NOT NULL DEFAULT 0,
    unjudged INTEGER NOT NULL DEFAULT 0,
    denied TEXT NOT NULL DEFAULT '[]',
    answer TEXT NOT NULL DEFAULT '',
    process TEXT NOT NULL DEFAULT '',
    told INTEGER NOT NULL DEFAULT 1,
    created DOUBLE PRECISION NOT NULL
);
CREATE INDEX goals_chat ON goals_goals (channel, chat_id);
CREATE INDEX goals_open ON goals_goals (state) WHERE state = 'active';
