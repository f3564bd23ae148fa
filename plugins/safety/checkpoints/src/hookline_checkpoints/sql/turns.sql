-- The turns of a session, read from core's tables.

-- name: turns
SELECT turn_id FROM messages WHERE session_id = :id GROUP BY turn_id ORDER BY MIN(seq);

-- name: chat_of
SELECT channel, chat_id FROM sessions WHERE id = :id;
