-- When each job was begun last; `name` is plugin/job, `begun` is Unix time in seconds.
CREATE TABLE jobs_runs (
  name TEXT PRIMARY KEY,
  begun REAL NOT NULL
);
