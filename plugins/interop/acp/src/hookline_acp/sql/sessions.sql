-- Reads core's tables of the terminal's conversations, which editors share.
-- A cursor holds the values of the last row.

-- name: conversations
SELECT s.id, s.title, s.updated, s.workspace,
       (SELECT m.text FROM messages m WHERE m.session_id = s.id AND m.role = 'user' AND m.text <> ''
        ORDER BY m.seq LIMIT 1) AS first_words
FROM sessions s
WHERE s.channel = 'terminal' AND s.chat_id = 'default' AND s.kind = 'chat' AND s.turns > 0
  AND (:workspace = '' OR s.workspace = :workspace)
  AND (s.updated < :updated OR (s.updated = :updated AND s.id > :id))
ORDER BY s.updated DESC, s.id LIMIT :most;

-- name: conversation
SELECT id, title, updated, workspace, model FROM sessions
WHERE id = :id AND channel = 'terminal' AND chat_id = 'default' AND kind = 'chat';
