-- Reviews that are due and not done. `reviewers` and `trace` are JSON lists of texts; `claimed` is when
-- a process took it up (Unix seconds), so that another may after a while; 0 = nobody has.
CREATE TABLE review_pending (
  session_id TEXT PRIMARY KEY,
  channel TEXT NOT NULL,
  chat_id TEXT NOT NULL,
  created DOUBLE PRECISION NOT NULL,
  model TEXT NOT NULL,
  reviewers TEXT NOT NULL,
  trace TEXT NOT NULL,
  due DOUBLE PRECISION NOT NULL,
  tries INTEGER NOT NULL DEFAULT 0,
  claimed DOUBLE PRECISION NOT NULL DEFAULT 0
);
