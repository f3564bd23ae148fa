-- name: index_fact!
INSERT INTO memory_index (rowid, chat, terms) VALUES (:id, :chat, :terms);

-- name: unindex_fact!
DELETE FROM memory_index WHERE rowid = :id;

-- name: frequencies
SELECT v.term AS term, v.doc AS facts, (SELECT MAX(id) FROM memory_facts) AS total
FROM json_each(:terms) j JOIN memory_vocabulary v ON v.term = j.value;

-- name: candidates
SELECT f.* FROM memory_index i JOIN memory_facts f ON f.id = i.rowid
WHERE memory_index MATCH :query AND f.channel = :channel AND f.chat_id = :chat_id
  AND (f.expires_at IS NULL OR f.expires_at > :now)
ORDER BY bm25(memory_index, 0.0, 1.0) LIMIT :limit;

-- name: facts_by_id
SELECT f.* FROM json_each(:ids) j JOIN memory_facts f ON f.id = j.value
WHERE f.channel = :channel AND f.chat_id = :chat_id AND (f.expires_at IS NULL OR f.expires_at > :now);
