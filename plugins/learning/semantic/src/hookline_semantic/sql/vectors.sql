-- name: state
SELECT (SELECT MAX(id) FROM semantic_vectors) AS last, r.number AS removed
FROM semantic_removed r;

-- name: vectors
SELECT id, key, scope, vector FROM semantic_vectors
WHERE corpus = :corpus AND model = :model AND id > :after ORDER BY id LIMIT :most;

-- name: known
SELECT key, scope, digest, model FROM semantic_vectors WHERE corpus = :corpus;

-- name: same_text
SELECT vector FROM semantic_vectors WHERE digest = :digest AND model = :model LIMIT 1;

-- name: forget!
DELETE FROM semantic_vectors WHERE corpus = :corpus AND key = :key;

-- name: forget_corpus!
DELETE FROM semantic_vectors WHERE corpus = :corpus;

-- name: add!
INSERT INTO semantic_vectors (corpus, key, scope, digest, model, vector)
VALUES (:corpus, :key, :scope, :digest, :model, :vector);

-- name: add_message!
INSERT INTO semantic_vectors (corpus, key, scope, digest, model, vector, session_id, seq)
SELECT 'sessions', :key, :scope, :digest, :model, :vector, m.session_id, m.seq
FROM messages m WHERE m.session_id = :session_id AND m.seq = :seq;

-- name: counts
SELECT corpus, model, COUNT(*) AS texts, MAX(LENGTH(vector)) AS bytes
FROM semantic_vectors GROUP BY corpus, model ORDER BY corpus, model;

-- Lengths of stored vectors of this model that differ from its current length.
-- name: unfit
SELECT LENGTH(vector) AS bytes, COUNT(*) AS texts FROM semantic_vectors
WHERE model = :model AND LENGTH(vector) NOT IN (0, :bytes)
GROUP BY LENGTH(vector) ORDER BY LENGTH(vector);

-- name: forget_model!
DELETE FROM semantic_vectors WHERE model = :model;
