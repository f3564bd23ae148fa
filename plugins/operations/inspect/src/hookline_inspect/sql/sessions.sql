-- What core keeps of sessions, read from its tables.

-- name: sessions
SELECT s.id, s.title, s.channel, s.chat_id AS chat, s.created, s.updated, s.turns,
       (SELECT m.text FROM messages m WHERE m.session_id = s.id AND m.role = 'user' AND m.text <> ''
        ORDER BY m.seq LIMIT 1) AS first_words
FROM sessions s ORDER BY s.updated DESC, s.created DESC LIMIT :limit;

-- name: chat_sessions
SELECT s.id, s.title, s.turns,
       (SELECT m.text FROM messages m WHERE m.session_id = s.id AND m.role = 'user' AND m.text <> ''
        ORDER BY m.seq LIMIT 1) AS first_words
FROM sessions s
WHERE s.channel = :channel AND s.chat_id = :chat_id AND s.kind = 'chat'
ORDER BY s.updated DESC, s.created DESC LIMIT :limit;

-- First the session with this id, then those whose ids begin with it.
-- name: sessions_called
SELECT s.id, s.title, s.channel, s.chat_id AS chat, s.updated,
       (SELECT m.text FROM messages m WHERE m.session_id = s.id AND m.role = 'user' AND m.text <> ''
        ORDER BY m.seq LIMIT 1) AS first_words
FROM sessions s WHERE substr(s.id, 1, :chars) = :prefix
ORDER BY CASE WHEN s.id = :prefix THEN 0 ELSE 1 END, s.updated DESC LIMIT :limit;

-- name: messages
SELECT seq, turn_id AS turn, body, created FROM messages WHERE session_id = :id ORDER BY seq;

-- name: failed_turns
SELECT id, error FROM turns WHERE session_id = :id AND error IS NOT NULL AND error <> '';

-- name: turn_ids
SELECT turn_id FROM messages WHERE session_id = :id GROUP BY turn_id ORDER BY MIN(seq);

-- The pattern is for LIKE, escaped with a backslash.
-- name: search
SELECT m.session_id, m.seq, m.role, m.text, m.created, s.title, s.channel, s.chat_id
FROM messages m JOIN sessions s ON s.id = m.session_id
WHERE m.text LIKE :pattern ESCAPE '\'
ORDER BY m.created DESC LIMIT :limit;

-- name: session
SELECT s.id, s.title, s.chat_id AS chat, s.kind, s.updated,
       (SELECT m.text FROM messages m WHERE m.session_id = s.id AND m.role = 'user' AND m.text <> ''
        ORDER BY m.seq LIMIT 1) AS first_words
FROM sessions s WHERE s.id = :id;

-- Turns that have not ended: what is called in them, whether they wait for an answer, since when.
-- name: live_turns
SELECT s.id, s.title, s.channel, s.chat_id AS chat, s.kind, s.workspace AS folder, t.owner,
       t.started,
       (SELECT m.text FROM messages m WHERE m.session_id = s.id AND m.role = 'user' AND m.text <> ''
        ORDER BY m.seq LIMIT 1) AS first_words,
       (SELECT p.name FROM steps p WHERE p.turn_id = t.id AND p.state = 'started'
        ORDER BY p.seq DESC LIMIT 1) AS tool,
       (SELECT MIN(q.created) FROM questions q
        WHERE q.waiting_turn = t.id AND q.state = 'open') AS asked,
       (SELECT q.body FROM questions q
        WHERE q.waiting_turn = t.id AND q.state = 'open' ORDER BY q.created LIMIT 1) AS question
FROM turns t JOIN sessions s ON s.id = t.session_id
WHERE t.state = 'running' ORDER BY t.started;
