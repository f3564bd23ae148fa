-- What core keeps of sessions, read from its tables.

-- name: sessions
SELECT id, title, channel, chat_id AS chat, created, updated, turns FROM sessions
ORDER BY updated DESC, created DESC LIMIT :limit;

-- name: chat_sessions
SELECT id, title, turns FROM sessions
WHERE channel = :channel AND chat_id = :chat_id AND kind = 'chat'
ORDER BY updated DESC, created DESC LIMIT :limit;

-- name: session
SELECT id, title FROM sessions WHERE id = :id;

-- name: messages
SELECT seq, turn_id AS turn, body, created FROM messages WHERE session_id = :id ORDER BY seq;

-- name: turn_ids
SELECT turn_id FROM messages WHERE session_id = :id GROUP BY turn_id ORDER BY MIN(seq);

-- The pattern is one of LIKE, masked with a backslash.
-- name: search
SELECT m.session_id, m.seq, m.role, m.text, m.created, s.title, s.channel, s.chat_id
FROM messages m JOIN sessions s ON s.id = m.session_id
WHERE m.text LIKE :pattern ESCAPE '\'
ORDER BY m.created DESC LIMIT :limit;
