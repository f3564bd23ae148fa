-- Sessions, read from the tables of core.

-- name: session
SELECT s.id, s.channel, s.chat_id, s.kind, s.title, s.model, s.created, s.updated, s.turns, s.ended,
       s.successor, s.question, s.workspace, v.root,
       p.pinned, p.folder, p.archived,
       (SELECT MAX(1 + t.parked) FROM turns t WHERE t.session_id = s.id AND t.state = 'running')
       AS open_turn,
       (SELECT m.text FROM messages m WHERE m.session_id = s.id AND m.role = 'user' AND m.text <> ''
        ORDER BY m.seq LIMIT 1) AS first_words,
       (SELECT f.name FROM web_ui_files f WHERE f.session_id = s.id AND f.side = 'in'
        ORDER BY f.created LIMIT 1) AS first_file
FROM sessions s LEFT JOIN web_ui_versions v ON v.id = s.id
LEFT JOIN web_ui_places p ON p.id = COALESCE(v.root, s.id) WHERE s.id = :id;

-- The sessions of the chat :mine of this channel, or all; of the versions of a chat the one used last.
-- name: sessions
SELECT s.id, s.channel, s.chat_id, s.kind, s.title, s.model, s.created, s.updated, s.turns, s.ended,
       s.successor, s.question, s.workspace, v.root,
       p.pinned, p.folder, p.archived,
       (SELECT MAX(1 + t.parked) FROM turns t WHERE t.session_id = s.id AND t.state = 'running')
       AS open_turn,
       (SELECT m.text FROM messages m WHERE m.session_id = s.id AND m.role = 'user' AND m.text <> ''
        ORDER BY m.seq LIMIT 1) AS first_words,
       (SELECT f.name FROM web_ui_files f WHERE f.session_id = s.id AND f.side = 'in'
        ORDER BY f.created LIMIT 1) AS first_file
FROM sessions s LEFT JOIN web_ui_versions v ON v.id = s.id
LEFT JOIN web_ui_places p ON p.id = COALESCE(v.root, s.id)
WHERE (:mine IS NULL OR (s.channel = 'web' AND s.chat_id = :mine))
  AND (:channel IS NULL OR s.channel = :channel) AND (:kind IS NULL OR s.kind = :kind)
  AND (:before IS NULL OR s.updated < :before)
  AND (:archived IS NULL OR COALESCE(p.archived, 0) = :archived)
  AND (:placed IS NULL OR p.pinned = 1 OR p.folder <> '')
  AND NOT EXISTS (SELECT 1 FROM web_ui_versions o JOIN sessions t ON t.id = o.id
                  WHERE o.root = v.root AND t.updated > s.updated)
ORDER BY s.updated DESC, s.created DESC LIMIT :limit;

-- The sessions of a person whose last turn ended with a question, the oldest question first.
-- name: asked
SELECT s.id, s.channel, s.chat_id, s.question, s.updated, v.root,
       (SELECT t.id FROM turns t WHERE t.session_id = s.id ORDER BY t.number DESC LIMIT 1) AS turn
FROM sessions s LEFT JOIN web_ui_versions v ON v.id = s.id
LEFT JOIN web_ui_places p ON p.id = COALESCE(v.root, s.id)
WHERE s.channel = 'web' AND s.chat_id = :mine AND s.kind = 'chat' AND s.ended IS NULL
  AND s.question IS NOT NULL AND COALESCE(p.archived, 0) = 0
  AND NOT EXISTS (SELECT 1 FROM web_ui_versions o JOIN sessions t ON t.id = o.id
                  WHERE o.root = v.root AND t.updated > s.updated)
ORDER BY s.updated DESC LIMIT :limit;

-- The pattern is for LIKE, escaped with a backslash.
-- name: found
SELECT s.id, s.channel, s.chat_id, s.kind, s.title, s.model, s.created, s.updated, s.turns, s.ended,
       s.successor, s.question, s.workspace, v.root,
       p.pinned, p.folder, p.archived,
       (SELECT MAX(1 + t.parked) FROM turns t WHERE t.session_id = s.id AND t.state = 'running')
       AS open_turn,
       (SELECT m.text FROM messages m WHERE m.session_id = s.id AND m.role = 'user' AND m.text <> ''
        ORDER BY m.seq LIMIT 1) AS first_words,
       (SELECT f.name FROM web_ui_files f WHERE f.session_id = s.id AND f.side = 'in'
        ORDER BY f.created LIMIT 1) AS first_file,
       (SELECT m.text FROM messages m WHERE m.session_id = s.id AND m.text LIKE :pattern ESCAPE '\'
        ORDER BY m.seq DESC LIMIT 1) AS found,
       (SELECT MAX(m.seq) FROM messages m WHERE m.session_id = s.id AND m.text LIKE :pattern ESCAPE '\')
       AS found_seq
FROM sessions s LEFT JOIN web_ui_versions v ON v.id = s.id
LEFT JOIN web_ui_places p ON p.id = COALESCE(v.root, s.id)
WHERE (:mine IS NULL OR (s.channel = 'web' AND s.chat_id = :mine))
  AND (:channel IS NULL OR s.channel = :channel) AND (:kind IS NULL OR s.kind = :kind)
  AND (:before IS NULL OR s.updated < :before)
  AND (s.title LIKE :pattern ESCAPE '\'
       OR EXISTS (SELECT 1 FROM messages m
                  WHERE m.session_id = s.id AND m.text LIKE :pattern ESCAPE '\'))
ORDER BY s.updated DESC, s.created DESC LIMIT :limit;

-- name: active
SELECT id FROM sessions
WHERE channel = :channel AND chat_id = :chat_id AND kind = 'chat' AND ended IS NULL
ORDER BY updated DESC LIMIT 1;

-- name: parent
SELECT kind, parent_id FROM sessions WHERE id = :id;

-- name: parked
SELECT session_id FROM turns WHERE state = 'running' AND parked = 1;

-- name: queued
SELECT 1 AS found FROM inbox
WHERE message_id = :message_id AND +channel = 'web' AND state <> 'done' AND state <> 'taken';

-- name: title
SELECT title FROM sessions WHERE id = :id;

-- The newest messages without their bodies, to choose where a page begins.
-- name: outline
SELECT seq, turn_id, role FROM messages
WHERE session_id = :id AND (:before IS NULL OR seq < :before) ORDER BY seq DESC LIMIT :limit;

-- name: messages
SELECT seq, turn_id, role, body, created FROM messages
WHERE session_id = :id AND seq >= :first AND (:before IS NULL OR seq < :before) ORDER BY seq;

-- name: turn_messages
SELECT seq, turn_id, role, body, created FROM messages
WHERE session_id = :id AND turn_id = :turn ORDER BY seq;

-- name: export
SELECT seq, turn_id AS turn, role, body, created FROM messages WHERE session_id = :id ORDER BY seq;

-- name: steps
SELECT s.turn_id, s.call_id, s.state, s.ok, s.seconds FROM steps s JOIN turns t ON t.id = s.turn_id
WHERE t.session_id = :id AND t.number >= :number;

-- name: turns
SELECT t.id, t.number, t.stop, t.error, t.started, t.ended, i.message_id
FROM turns t LEFT JOIN inbox i ON i.id = t.inbox_id
WHERE t.session_id = :id AND t.number >= :number;

-- name: turn
SELECT id, session_id, number, state FROM turns WHERE id = :id;

-- Messages of a conversation that have not started a turn. The plus sign keeps SQLite from using another index
-- than the partial one on open messages.
-- name: waiting
SELECT message_id, session_id, chat_id, channel, body, received FROM inbox
WHERE state <> 'done' AND state <> 'taken' AND +channel = 'web'
  AND (:named IS NULL OR session_id = :named OR session_id LIKE :following)
ORDER BY +received, id;

-- name: waiting_for
SELECT channel, chat_id FROM inbox
WHERE state <> 'done' AND state <> 'taken' AND +channel = 'web' AND session_id = :id LIMIT 1;

-- Replies to the commands of a conversation. Those without a session are from before there was one,
-- in any conversation of the chat.
-- name: asides
SELECT o.id, o.session_id, o.body, o.created, o.turn_id, o.state FROM outbox o
WHERE o.channel = 'web' AND o.chat_id = :chat_id AND o.turn_id IS NULL AND o.created >= :since
  AND (o.session_id = '' OR o.session_id = :named OR o.session_id LIKE :following)
ORDER BY o.created, o.id;

-- name: inbound
SELECT body, session_id FROM inbox WHERE channel = 'web' AND message_id = :message_id;

-- The conversation of the newest message.
-- name: written
SELECT session_id AS id FROM inbox
WHERE channel = :channel AND chat_id = :chat_id AND session_id IS NOT NULL
ORDER BY received DESC LIMIT 1;

-- A message, and whether it begins a turn.
-- name: begins
SELECT m.seq, m.role, m.text, m.turn_id,
       NOT EXISTS (SELECT 1 FROM messages e WHERE e.session_id = m.session_id
                   AND e.turn_id = m.turn_id AND e.seq < m.seq) AS first
FROM messages m WHERE m.session_id = :id AND m.seq = :seq;
