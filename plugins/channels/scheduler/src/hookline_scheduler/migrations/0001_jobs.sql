-- Times are Unix seconds. A job belongs to the chat (`channel`, `chat_id`) of `user_id`; `workspace`
-- is the folder of a job of the terminal, empty for others. `kind` is cron, every or once;
-- `expression` the cron expression or the seconds between two runs, `anchor` where an interval
-- began, or the one time. `due` is when it runs next, `last_due` what it was due for last, `asked`
-- 1 if a person wants it now, `run_id` its run under way, `told` 1 once its failure was told.
CREATE TABLE scheduler_jobs (
    id TEXT PRIMARY KEY,
    channel TEXT NOT NULL,
    chat_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    workspace TEXT NOT NULL,
    kind TEXT NOT NULL,
    expression TEXT NOT NULL,
    anchor DOUBLE PRECISION NOT NULL,
    zone TEXT NOT NULL,
    prompt TEXT NOT NULL,
    state TEXT NOT NULL,
    due DOUBLE PRECISION,
    last_due DOUBLE PRECISION,
    asked INTEGER NOT NULL DEFAULT 0,
    run_id TEXT NOT NULL DEFAULT '',
    told INTEGER NOT NULL DEFAULT 0,
    created DOUBLE PRECISION NOT NULL
);
CREATE INDEX scheduler_jobs_chat ON scheduler_jobs (channel, chat_id);

-- `process` has claimed the run; `state` is claimed, running or ended, `outcome` then ok, silent,
-- failed or interrupted. `text` is what the chat is to read, `handed` 1 once that was passed on.
CREATE TABLE scheduler_runs (
    id TEXT PRIMARY KEY,
    job_id TEXT NOT NULL,
    channel TEXT NOT NULL,
    chat_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    process TEXT NOT NULL,
    state TEXT NOT NULL,
    due DOUBLE PRECISION NOT NULL,
    asked INTEGER NOT NULL,
    started DOUBLE PRECISION NOT NULL,
    ended DOUBLE PRECISION,
    outcome TEXT NOT NULL DEFAULT '',
    reason TEXT NOT NULL DEFAULT '',
    text TEXT NOT NULL DEFAULT '',
    handed INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX scheduler_runs_job ON scheduler_runs (job_id, started);
CREATE INDEX scheduler_runs_open ON scheduler_runs (state) WHERE state <> 'ended';
CREATE INDEX scheduler_runs_waiting ON scheduler_runs (handed) WHERE handed = 0;
