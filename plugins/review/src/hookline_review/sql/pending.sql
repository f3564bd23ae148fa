-- name: put!
INSERT INTO review_pending (session_id, channel, chat_id, created, model, reviewers, trace, due)
VALUES (:session_id, :channel, :chat_id, :created, :model, :reviewers, :trace, :now)
ON CONFLICT (session_id) DO UPDATE SET
  model = excluded.model, reviewers = excluded.reviewers, trace = excluded.trace, due = excluded.due;

-- name: open
SELECT session_id, channel, chat_id, created, model, reviewers, trace, tries FROM review_pending
WHERE claimed <= :stale ORDER BY due;

-- name: claim!
UPDATE review_pending SET claimed = :now, tries = tries + 1
WHERE session_id = :session_id AND claimed <= :stale;

-- name: release!
UPDATE review_pending SET claimed = 0, tries = tries - 1 WHERE session_id = :session_id;

-- name: done!
DELETE FROM review_pending WHERE session_id = :session_id;
