-- Reads core's tables of sessions. A cursor holds the values of the last row.

-- name: sessions
SELECT id, title, channel, chat_id, created, updated, turns FROM sessions
WHERE kind = 'chat' AND (updated < :updated OR (updated = :updated AND id > :id))
ORDER BY updated DESC, id LIMIT :most;

-- name: session
SELECT id, title, channel, chat_id FROM sessions WHERE id = :id;

-- name: messages
SELECT seq, role, body, text, created FROM messages
WHERE session_id = :id AND seq >= :seq ORDER BY seq LIMIT :most;

-- Polled often: the CROSS JOIN keeps SQLite from reading every message.
-- name: events
SELECT m.session_id, m.seq, m.role, m.body, m.text, m.created, s.channel, s.chat_id
FROM sessions s CROSS JOIN messages m
WHERE m.session_id = s.id AND s.updated >= :since - 3600 AND s.kind = 'chat' AND m.created <= :until
  AND (m.created > :since OR (m.created = :since AND (m.session_id > :id
       OR (m.session_id = :id AND m.seq > :seq))))
ORDER BY m.created, m.session_id, m.seq LIMIT :most;
