-- Messages of people and the agent without a vector of this model, newest first.
-- name: messages_without
SELECT m.rowid AS doc, m.session_id, m.seq, m.text, s.channel, s.chat_id
FROM messages m JOIN sessions s ON s.id = m.session_id
WHERE m.rowid < :below AND m.rowid > :above AND m.text <> '' AND m.role IN ('user', 'assistant')
  AND s.kind = 'chat' AND NOT EXISTS (
      SELECT 1 FROM semantic_vectors v
      WHERE v.session_id = m.session_id AND v.seq = m.seq AND v.model = :model)
ORDER BY m.rowid DESC LIMIT :most;

-- name: last_message
SELECT MAX(rowid) AS doc FROM messages;

-- Vectors of deleted messages are deleted by their foreign key.
-- name: messages_left
SELECT COUNT(*) AS texts FROM messages m JOIN sessions s ON s.id = m.session_id
WHERE m.text <> '' AND m.role IN ('user', 'assistant') AND s.kind = 'chat' AND NOT EXISTS (
    SELECT 1 FROM semantic_vectors v
    WHERE v.session_id = m.session_id AND v.seq = m.seq AND v.model = :model);
