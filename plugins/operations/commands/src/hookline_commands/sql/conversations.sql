-- Conversations, read from core's tables.

-- name: chat_sessions
SELECT s.id, s.title, s.turns, s.updated,
       (SELECT m.text FROM messages m WHERE m.session_id = s.id AND m.role = 'user' AND m.text <> ''
        ORDER BY m.seq LIMIT 1) AS first_words
FROM sessions s
WHERE s.channel = :channel AND s.chat_id = :chat_id AND s.kind = 'chat'
  AND substr(s.id, 1, :chars) = :prefix
ORDER BY s.updated DESC, s.created DESC LIMIT :limit;

-- name: last_turn
SELECT turn_id FROM messages WHERE session_id = :id ORDER BY seq DESC LIMIT 1;

-- name: models
SELECT s.model, MAX(CASE WHEN s.id = :id THEN 1 ELSE 0 END) AS here
FROM sessions s WHERE s.kind = 'chat' AND s.model <> ''
GROUP BY s.model ORDER BY here DESC, MAX(s.updated) DESC LIMIT :limit;

-- name: turns_said
SELECT m.text FROM messages m
WHERE m.session_id = :id AND m.seq IN (
    SELECT MIN(t.seq) FROM messages t WHERE t.session_id = :id GROUP BY t.turn_id)
ORDER BY m.seq DESC LIMIT :limit;
