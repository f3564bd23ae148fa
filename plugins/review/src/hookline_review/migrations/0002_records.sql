-- `counts` is what a session's reviewers have not looked at yet, as JSON; `at` is when the session was
-- last talked in (Unix seconds). `owner` is the process that works on a review; '' = none.
CREATE TABLE review_counts (
  session_id TEXT PRIMARY KEY,
  counts TEXT NOT NULL,
  at DOUBLE PRECISION NOT NULL
);
ALTER TABLE review_pending ADD COLUMN owner TEXT NOT NULL DEFAULT '';
