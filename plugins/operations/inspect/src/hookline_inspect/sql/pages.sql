-- Queries of the pages on core's tables. A null `owner` and an empty `kind` or `pattern` mean all; a
-- pattern is for LIKE, escaped with a backslash. A person's chat has the id `owner`.

-- name: page_sessions
SELECT s.id, s.title, s.channel, s.chat_id AS chat, s.kind, s.parent_id, s.created, s.updated,
       s.turns,
       (SELECT m.text FROM messages m WHERE m.session_id = s.id AND m.role = 'user' AND m.text <> ''
        ORDER BY m.seq LIMIT 1) AS first_words,
       (SELECT SUM(u.input + u.output) FROM usage u WHERE u.session_id = s.id) AS tokens
FROM sessions s
WHERE (:kind = '' OR s.kind = :kind)
  AND (:owner IS NULL OR (s.channel = :channel AND s.chat_id = :owner))
  AND (:pattern = '' OR s.title LIKE :pattern ESCAPE '\')
ORDER BY s.updated DESC, s.created DESC, s.id LIMIT :limit OFFSET :start;

-- name: page_session
SELECT s.id, s.title, s.channel, s.chat_id AS chat, s.kind, s.parent_id, s.model, s.created,
       s.updated, s.turns,
       (SELECT m.text FROM messages m WHERE m.session_id = s.id AND m.role = 'user' AND m.text <> ''
        ORDER BY m.seq LIMIT 1) AS first_words
FROM sessions s WHERE s.id = :id;

-- name: page_children
SELECT s.id, s.title, s.kind, s.updated, s.turns, NULL AS first_words FROM sessions s
WHERE s.parent_id = :id ORDER BY s.created DESC LIMIT :limit;

-- name: page_messages
SELECT seq, turn_id AS turn, body, created FROM messages WHERE session_id = :id
ORDER BY seq LIMIT :limit OFFSET :start;

-- name: page_search
SELECT m.session_id, m.seq, m.role, m.text, m.created, s.title, s.channel, s.chat_id,
       (SELECT f.text FROM messages f WHERE f.session_id = s.id AND f.role = 'user' AND f.text <> ''
        ORDER BY f.seq LIMIT 1) AS first_words
FROM messages m JOIN sessions s ON s.id = m.session_id
WHERE m.text LIKE :pattern ESCAPE '\'
  AND (:owner IS NULL OR (s.channel = :channel AND s.chat_id = :owner))
ORDER BY m.created DESC, m.seq DESC LIMIT :limit;

-- name: page_calls
SELECT created, model, purpose, input, cache_read, cache_write, output, broken FROM usage
WHERE session_id = :id ORDER BY created DESC LIMIT :limit OFFSET :start;
