-- One query for the best messages with their texts, and for the state of the index. `behind`: some
-- messages are newer than the index, or its row numbers are outdated. `older`: some older messages
-- are not indexed yet. There is always a row; without a hit its other columns are null. A null
-- `chat` means every chat.
-- name: search
SELECT w.behind, w.older, f.session_id, f.seq, f.created, f.score,
       m.turn_id, m.role, m.text, s.title, s.channel, s.chat_id
FROM (SELECT EXISTS (SELECT 1 FROM messages WHERE rowid > COALESCE(
                        (SELECT max(doc) FROM session_search_messages), -1))
             OR NOT EXISTS (SELECT 1 FROM messages m JOIN session_search_messages d
                            ON d.session_id = m.session_id AND d.seq = m.seq
                            WHERE m.rowid = d.doc
                              AND d.doc = (SELECT max(doc) FROM session_search_messages))
             AS behind,
             EXISTS (SELECT 1 FROM messages WHERE rowid < COALESCE(
                        (SELECT min(doc) FROM session_search_messages), 9223372036854775807))
             AS older) w
LEFT JOIN (SELECT d.doc, d.session_id, d.seq, d.created, session_search_texts.rank AS score
           FROM session_search_texts CROSS JOIN session_search_messages d
               ON d.doc = session_search_texts.rowid
           WHERE session_search_texts MATCH :query AND d.created >= :since
             AND (:chat IS NULL OR d.chat = :chat)
           ORDER BY session_search_texts.rank, d.doc DESC LIMIT :most) f
LEFT JOIN messages m ON m.session_id = f.session_id AND m.seq = f.seq
LEFT JOIN sessions s ON s.id = f.session_id
ORDER BY f.score, f.doc DESC;

-- The messages at these places of sessions (a JSON array of [session id, number]), of one chat or of
-- every one.
-- name: placed
SELECT m.session_id, m.seq, m.created, m.turn_id, m.role, m.text, s.title, s.channel, s.chat_id
FROM json_each(:places) j
JOIN messages m ON m.session_id = json_extract(j.value, '$[0]') AND m.seq = json_extract(j.value, '$[1]')
JOIN sessions s ON s.id = m.session_id
WHERE m.created >= :since AND m.text <> ''
  AND (:channel IS NULL OR (s.channel = :channel AND s.chat_id = :chat_id));

-- name: before
SELECT seq, role, text, created FROM messages
WHERE session_id = :session_id AND seq < :seq AND text <> '' ORDER BY seq DESC LIMIT :most;

-- name: after
SELECT seq, role, text, created FROM messages
WHERE session_id = :session_id AND seq > :seq AND text <> '' ORDER BY seq LIMIT :most;

-- The origins of the messages :first to :last of a session; a message whose body cannot be read
-- counts as from outside.
-- name: origins
SELECT DISTINCT json_extract(o.value, '$[0]') AS kind, json_extract(o.value, '$[1]') AS source
FROM messages m, json_each(CASE WHEN json_valid(m.body) THEN m.body ELSE
    '{"carried": [["outside", "a message that cannot be read"]]}' END, '$.carried') o
WHERE m.session_id = :session_id AND m.seq BETWEEN :first AND :last
UNION
SELECT json_extract(o.value, '$[0]'), json_extract(o.value, '$[1]')
FROM messages m, json_each(CASE WHEN json_valid(m.body) THEN m.body ELSE '{}' END, '$.blocks') b,
     json_each(b.value, '$.origins') o
WHERE m.session_id = :session_id AND m.seq BETWEEN :first AND :last;
