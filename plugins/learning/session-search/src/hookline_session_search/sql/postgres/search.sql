-- One query for the best messages with their texts, and for the state of the index. `behind`: some
-- messages are newer than the index. `older`: some older messages are not indexed yet. There is
-- always a row; without a hit its other columns are null. A null `chat` means every chat.
-- name: search
SELECT w.behind, w.older, f.session_id, f.seq, f.created, f.score,
       m.turn_id, m.role, m.text, s.title, s.channel, s.chat_id
FROM (SELECT EXISTS (SELECT 1 FROM messages m
                     WHERE m.rowid > COALESCE(greatest(e.high - 1000, e.low), -1)
                       AND NOT EXISTS (SELECT 1 FROM session_search_messages d WHERE d.doc = m.rowid))
             AS behind,
             EXISTS (SELECT 1 FROM messages
                     WHERE rowid < COALESCE(e.low, 9223372036854775807)) AS older
      FROM (SELECT min(doc) AS low, max(doc) AS high FROM session_search_messages) e) w
LEFT JOIN (SELECT d.doc, d.session_id, d.seq, d.created, -ts_rank_cd(t.words, q.query, 1) AS score
           FROM CAST(:tsquery AS tsquery) q(query)
           JOIN session_search_texts t ON t.words @@ q.query
           JOIN session_search_messages d ON d.doc = t.doc
           WHERE d.created >= :since AND (:chat IS NULL OR d.chat = :chat)
           ORDER BY 5, d.doc DESC LIMIT :most) f ON TRUE
LEFT JOIN messages m ON m.session_id = f.session_id AND m.seq = f.seq
LEFT JOIN sessions s ON s.id = f.session_id
ORDER BY f.score, f.doc DESC;

-- The messages at these places of sessions (a JSON array of [session id, number]), of one chat or of
-- every one.
-- name: placed
SELECT m.session_id, m.seq, m.created, m.turn_id, m.role, m.text, s.title, s.channel, s.chat_id
FROM json_array_elements(CAST(:places AS json)) j(place)
JOIN messages m ON m.session_id = j.place->>0 AND m.seq = CAST(j.place->>1 AS BIGINT)
JOIN sessions s ON s.id = m.session_id
WHERE m.created >= :since AND m.text <> ''
  AND (:channel IS NULL OR (s.channel = :channel AND s.chat_id = :chat_id));

-- name: before
SELECT seq, role, text, created FROM messages
WHERE session_id = :session_id AND seq < :seq AND text <> '' ORDER BY seq DESC LIMIT :most;

-- name: after
SELECT seq, role, text, created FROM messages
WHERE session_id = :session_id AND seq > :seq AND text <> '' ORDER BY seq LIMIT :most;

-- The origins of the messages :first to :last of a session.
-- name: origins
WITH bodies AS (SELECT CAST(m.body AS json) AS body FROM messages m
                WHERE m.session_id = :session_id AND m.seq BETWEEN :first AND :last),
     blocks AS (SELECT e.block FROM bodies, json_array_elements(
                    CASE WHEN json_typeof(body->'blocks') = 'array' THEN body->'blocks' END) e(block)),
     lists AS (SELECT body->'carried' AS origins FROM bodies
               UNION ALL SELECT block->'origins' FROM blocks WHERE json_typeof(block) = 'object')
SELECT DISTINCT o.origin->>0 AS kind, o.origin->>1 AS source
FROM lists, json_array_elements(
    CASE WHEN json_typeof(origins) = 'array' THEN origins END) o(origin);
