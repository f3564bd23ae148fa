-- The terminal's conversations, read from core's tables.

-- name: conversations
SELECT s.id, s.title, s.turns, s.updated, s.workspace,
       (SELECT m.text FROM messages m WHERE m.session_id = s.id AND m.role = 'user' AND m.text <> ''
        ORDER BY m.seq LIMIT 1) AS first_words
FROM sessions s
WHERE s.channel = 'terminal' AND s.chat_id = :chat_id AND s.kind = 'chat' AND s.turns > 0
ORDER BY s.updated DESC, s.created DESC LIMIT :limit;

-- The unanswered question that the last turn ended with, as JSON.
-- name: open_question
SELECT question FROM sessions WHERE id = :id;

-- Turns that a killed process left behind; those that wait for an answer ask again.
-- name: unfinished_turns
SELECT id FROM turns WHERE session_id = :session_id AND state = 'running' AND parked = 0;
