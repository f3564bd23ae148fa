-- The numbers of the oldest and the newest indexed message (null if none). A message keeps its
-- number.
-- name: edges
SELECT min(doc) AS low, max(doc) AS high, TRUE AS aligned FROM session_search_messages;

-- A transaction gets its numbers before it commits, so smaller numbers may appear after larger ones.
-- name: newer
SELECT m.rowid AS doc, m.session_id, m.seq, m.text, m.created, s.channel, s.chat_id, s.kind
FROM messages m LEFT JOIN sessions s ON s.id = m.session_id
WHERE m.rowid > greatest(:high - 1000, (SELECT min(doc) FROM session_search_messages))
  AND NOT EXISTS (SELECT 1 FROM session_search_messages d WHERE d.doc = m.rowid)
ORDER BY m.rowid LIMIT :most;

-- name: older
SELECT m.rowid AS doc, m.session_id, m.seq, m.text, m.created, s.channel, s.chat_id, s.kind
FROM messages m LEFT JOIN sessions s ON s.id = m.session_id
WHERE m.rowid < :low ORDER BY m.rowid DESC LIMIT :most;

-- name: add_message!
INSERT INTO session_search_messages (doc, session_id, seq, chat, created)
VALUES (:doc, :session_id, :seq, :chat, :created) ON CONFLICT DO NOTHING;

-- Each token with its position, without diacritics. The limits of tsvector apply: tokens of more than
-- 2 kB and texts of megabytes are cut, and after position 16,383 only words are found, no phrases.
-- name: add_text!
INSERT INTO session_search_texts (doc, words)
SELECT :doc, CAST(string_agg('''' || replace(replace(left(t.token, 500), '\', '\\'), '''', '''''')
                             || ''':' || least(t.place, 16383), ' ') AS tsvector)
FROM unnest(string_to_array(btrim(regexp_replace(
         regexp_replace(normalize(left(:text, 200000), NFD), '[\u0300-\u036f]', '', 'g'),
         '\s+', ' ', 'g')), ' ')) WITH ORDINALITY t(token, place)
HAVING count(*) > 0
ON CONFLICT DO NOTHING;

-- Rows and their words are deleted with their messages, so there is nothing to merge or sweep.
-- name: add_session!
SELECT CAST(:id AS TEXT);

-- name: deleted
SELECT NULL AS id WHERE FALSE;

-- name: orphans
SELECT doc FROM session_search_messages WHERE FALSE AND doc BETWEEN :first AND :last;

-- name: forget!
DELETE FROM session_search_messages WHERE doc = :doc;

-- name: forget_newest!
DELETE FROM session_search_messages WHERE doc IN
    (SELECT doc FROM session_search_messages ORDER BY doc DESC LIMIT :most);

-- name: forget_sessions!
SELECT 1;
