-- The numbers of the oldest and the newest indexed message (null if none), and whether the newest
-- number still belongs to the same message (VACUUM can renumber core's rows).
-- name: edges
SELECT (SELECT min(doc) FROM session_search_messages) AS low, d.doc AS high,
       EXISTS (SELECT 1 FROM messages m
               WHERE m.rowid = d.doc AND m.session_id = d.session_id AND m.seq = d.seq) AS aligned
FROM (SELECT max(doc) AS top FROM session_search_messages) t
LEFT JOIN session_search_messages d ON d.doc = t.top;

-- name: newer
SELECT m.rowid AS doc, m.session_id, m.seq, m.text, m.created, s.channel, s.chat_id, s.kind
FROM messages m LEFT JOIN sessions s ON s.id = m.session_id
WHERE m.rowid > :high ORDER BY m.rowid LIMIT :most;

-- name: older
SELECT m.rowid AS doc, m.session_id, m.seq, m.text, m.created, s.channel, s.chat_id, s.kind
FROM messages m LEFT JOIN sessions s ON s.id = m.session_id
WHERE m.rowid < :low ORDER BY m.rowid DESC LIMIT :most;

-- name: add_message!
INSERT INTO session_search_messages (doc, session_id, seq, chat, created)
VALUES (:doc, :session_id, :seq, :chat, :created);

-- name: add_text!
INSERT INTO session_search_texts (rowid, text) VALUES (:doc, :text);

-- name: add_session!
INSERT OR IGNORE INTO session_search_sessions (id) VALUES (:id);

-- name: forget_newest!
DELETE FROM session_search_messages WHERE doc IN
    (SELECT doc FROM session_search_messages ORDER BY doc DESC LIMIT :most);

-- name: deleted
SELECT id FROM session_search_deleted;

-- name: changes
SELECT total_changes() AS n;

-- name: merge!
INSERT INTO session_search_texts (session_search_texts, rank) VALUES ('merge', :pages);

-- name: forget_deleted!
DELETE FROM session_search_deleted;

-- Rows whose message was deleted without a trigger: by a program that does not enforce
-- foreign keys.
-- name: orphans
SELECT d.doc FROM session_search_messages d
WHERE d.doc BETWEEN :first AND :last AND NOT EXISTS
    (SELECT 1 FROM messages m WHERE m.session_id = d.session_id AND m.seq = d.seq);

-- name: forget!
DELETE FROM session_search_messages WHERE doc = :doc;

-- name: forget_sessions!
DELETE FROM session_search_sessions WHERE id NOT IN (SELECT id FROM sessions);
