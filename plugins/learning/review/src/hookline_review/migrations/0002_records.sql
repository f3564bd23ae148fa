-- `counts` is what has not been reviewed yet, as JSON; `at` is the time of the session's last turn
-- (Unix seconds). `owner` is the process that runs a review; '' = none.
CREATE TABLE review_counts (
  session_id TEXT PRIMARY KEY,
  counts TEXT NOT NULL,
  at DOUBLE PRECISION NOT NULL
);
ALTER TABLE review_pending ADD COLUMN owner TEXT NOT NULL DEFAULT '';
