-- name: put_answer!
INSERT INTO web_ui_answers (id, session_id, asked, choice, person, created)
VALUES (:id, :session_id, :asked, :choice, :person, :created)
ON CONFLICT (id) DO NOTHING;

-- The answers in a conversation: a session and its successors.
-- name: answers
SELECT * FROM web_ui_answers
WHERE (session_id = :named OR session_id LIKE :following) AND created >= :since
ORDER BY created DESC, id LIMIT :limit;

-- name: forget_answers!
DELETE FROM web_ui_answers WHERE session_id = :session_id;

-- name: prune_answers!
DELETE FROM web_ui_answers WHERE created < :before;
