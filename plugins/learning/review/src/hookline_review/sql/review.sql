-- name: counts
SELECT counts FROM review_counts WHERE session_id = :session_id;

-- name: set_counts!
INSERT INTO review_counts (session_id, counts, at) VALUES (:session_id, :counts, :at)
ON CONFLICT (session_id) DO UPDATE SET counts = excluded.counts, at = excluded.at;

-- name: delete_old_counts!
DELETE FROM review_counts WHERE at < :before;

-- name: pending
SELECT * FROM review_pending ORDER BY due;

-- name: pending_of
SELECT * FROM review_pending WHERE session_id = :session_id;

-- name: put!
INSERT INTO review_pending (session_id, channel, chat_id, created, model, reviewers, trace, due)
VALUES (:session_id, :channel, :chat_id, :created, :model, :reviewers, :trace, :now)
ON CONFLICT (session_id) DO UPDATE SET
  model = excluded.model, reviewers = excluded.reviewers, trace = excluded.trace, due = excluded.due;

-- name: renew!
UPDATE review_pending SET claimed = 0, tries = 0 WHERE session_id = :session_id AND owner = '';

-- name: claim!
UPDATE review_pending SET claimed = :now, owner = :owner, tries = tries + 1
WHERE session_id = :session_id AND due = :due AND claimed = :claimed AND owner = :left_by;

-- name: release!
UPDATE review_pending SET claimed = 0, owner = '', tries = tries - 1
WHERE session_id = :session_id AND owner = :owner;

-- name: done!
DELETE FROM review_pending WHERE session_id = :session_id AND due = :due;

-- name: again!
UPDATE review_pending SET claimed = 0, owner = '', tries = 0
WHERE session_id = :session_id AND owner = :owner;

-- name: failed!
UPDATE review_pending SET owner = '' WHERE session_id = :session_id AND owner = :owner;
