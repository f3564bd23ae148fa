-- name: request_of
SELECT * FROM access_requests WHERE channel = :channel AND user_id = :user_id;

-- name: request_by
SELECT r.*, COALESCE(p.role, '') AS role FROM access_requests r
LEFT JOIN access_people p ON (p.channel = r.channel OR r.channel LIKE p.channel || ':%')
    AND p.user_id = r.user_id
WHERE r.code = :code AND r.expires > :now;

-- Requests that can be granted, the oldest first.
-- name: open_requests
SELECT r.channel, r.user_id, r.chat_id, r.code, r.opened, r.expires, r.unanswered
FROM access_requests r
LEFT JOIN access_people p ON (p.channel = r.channel OR r.channel LIKE p.channel || ':%')
    AND p.user_id = r.user_id
WHERE r.expires > :now AND COALESCE(p.role, '') <> 'blocked'
ORDER BY r.opened, r.code;

-- name: how_many
SELECT COUNT(*) AS known, COALESCE(SUM(CASE WHEN expires > :now THEN 1 ELSE 0 END), 0) AS open
FROM access_requests WHERE channel = :channel;

-- name: drop_expired!
DELETE FROM access_requests WHERE channel = :channel AND expires <= :now;

-- name: code_taken
SELECT 1 AS taken FROM access_requests WHERE code = :code;

-- name: put_request!
INSERT INTO access_requests (channel, user_id, chat_id, message_id, code, opened, expires, began,
                             given, unanswered)
VALUES (:channel, :user_id, :chat_id, :message_id, :code, :now, :expires, :began, :given, 0)
ON CONFLICT (channel, user_id) DO UPDATE SET
    chat_id = excluded.chat_id, message_id = excluded.message_id, code = excluded.code,
    opened = excluded.opened, expires = excluded.expires, began = excluded.began,
    given = excluded.given, unanswered = 0;

-- name: count_unanswered!
UPDATE access_requests SET unanswered = unanswered + 1
WHERE channel = :channel AND user_id = :user_id;

-- On the channel and on all others of its kind.
-- name: drop_request!
DELETE FROM access_requests
WHERE (channel = :channel OR channel LIKE :channel || ':%') AND user_id = :user_id;

-- name: prune_requests!
DELETE FROM access_requests WHERE began < :before AND expires < :now;
