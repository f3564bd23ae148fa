-- name: index_fact!
INSERT INTO memory_index (rowid, chat, terms) VALUES (:id, :chat, :terms);

-- name: unindex_fact!
DELETE FROM memory_index WHERE rowid = :id;

-- The first term is the chat's mark. Terms are counted only in this chat, so `total` is the number of
-- its facts; in SQLite counts and `total` are over all chats.
-- name: frequencies
WITH asked AS (SELECT value AS term, ordinality AS place
               FROM json_array_elements_text(CAST(:terms AS json)) WITH ORDINALITY)
SELECT c.term, c.facts, max(c.facts) OVER () AS total
FROM (SELECT a.term, (SELECT count(*) FROM memory_index i
                      WHERE i.words @> ARRAY[a.term, m.term]) AS facts
      FROM asked a JOIN asked m ON m.place = 1) c
WHERE c.facts > 0;

-- name: candidates
SELECT f.* FROM memory_index i JOIN memory_facts f ON f.id = i.rowid
WHERE i.words @> ARRAY[:mark]
  AND CASE WHEN :every = 1 THEN i.words @> string_to_array(:words, ' ')
      ELSE i.words && string_to_array(:words, ' ') END
  AND f.channel = :channel AND f.chat_id = :chat_id
  AND (f.expires_at IS NULL OR f.expires_at > :now)
ORDER BY (SELECT count(*) FROM unnest(string_to_array(:words, ' ')) word
          WHERE word = ANY (i.words)) DESC, f.created DESC, f.id
LIMIT :limit;

-- name: facts_by_id
SELECT f.* FROM json_array_elements_text(CAST(:ids AS json)) j
JOIN memory_facts f ON f.id = CAST(j.value AS BIGINT)
WHERE f.channel = :channel AND f.chat_id = :chat_id AND (f.expires_at IS NULL OR f.expires_at > :now);
