-- name: session_owner
SELECT owner FROM openai_api_sessions WHERE id = :id;

-- The session with exactly the client's messages.
-- name: session_at
SELECT id FROM openai_api_sessions WHERE owner = :owner AND head = :head AND used > :since
ORDER BY used DESC LIMIT 1;

-- The session and last position of a turn's messages, and whether something followed: a later
-- message, a succeeding session, or a running request.
-- name: turn_place
SELECT m.session_id AS id, MAX(m.seq) AS seq,
       EXISTS (SELECT 1 FROM messages l WHERE l.session_id = m.session_id
               AND l.seq > (SELECT MAX(e.seq) FROM messages e
                            WHERE e.session_id = m.session_id AND e.turn_id = :turn))
       OR EXISTS (SELECT 1 FROM sessions s WHERE s.id = m.session_id AND s.successor IS NOT NULL)
       OR EXISTS (SELECT 1 FROM openai_api_runs r WHERE r.session_id = :session_id
                  AND r.state = 'open') AS older
FROM messages m WHERE m.turn_id = :turn GROUP BY m.session_id;

-- What the agent answered in a client's chats, latest first.
-- name: answers
SELECT m.session_id AS id, m.seq, m.text FROM messages m
JOIN openai_api_sessions s ON s.id = m.session_id
WHERE s.owner = :owner AND m.role = 'assistant' ORDER BY m.created DESC LIMIT 2000;

-- name: bodies
SELECT seq, body FROM messages WHERE session_id = :id ORDER BY seq;

-- name: add_session!
INSERT INTO openai_api_sessions (id, owner, head, used) VALUES (:id, :owner, '', :now)
ON CONFLICT (id) DO NOTHING;

-- name: move_session!
UPDATE openai_api_sessions SET head = :head, used = :now WHERE id = :id;

-- name: run
SELECT * FROM openai_api_runs WHERE id = :id;

-- Whether a message is done, and whether replies to its client are unsent.
-- name: message_end
SELECT i.state = 'done' AS is_done,
       EXISTS (SELECT 1 FROM outbox o WHERE o.channel = 'api' AND o.chat_id = :owner
               AND o.state <> 'sent' AND o.state <> 'failed') AS unsent
FROM inbox i WHERE i.channel = 'api' AND i.message_id = :id;

-- name: run_retried
SELECT * FROM openai_api_runs WHERE owner = :owner AND retry = :retry AND created > :since;

-- A request with this body that is running or ended shortly before.
-- name: run_repeated
SELECT * FROM openai_api_runs
WHERE owner = :owner AND digest = :digest AND (ended IS NULL OR ended > :since)
AND created > :before
ORDER BY created DESC LIMIT 1;

-- name: forget_retry!
UPDATE openai_api_runs SET retry = NULL WHERE owner = :owner AND retry = :retry;

-- name: add_run!
INSERT INTO openai_api_runs
(id, owner, kind, session_id, digest, retry, chain, request, state, log, created, expires)
VALUES (:id, :owner, :kind, :session_id, :digest, :retry, :chain, :request, 'open', '[]', :now,
        :expires);

-- name: end_run!
UPDATE openai_api_runs
SET state = :state, request = :request, log = :log, ended = :now, expires = :expires WHERE id = :id;

-- name: delete_run!
DELETE FROM openai_api_runs WHERE id = :id AND owner = :owner;

-- name: prune_runs!
DELETE FROM openai_api_runs WHERE expires < :now;
