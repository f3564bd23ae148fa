-- What other plugins record. If a plugin was never on, its tables do not exist and the query fails.

-- name: skills_used
SELECT a.name, COUNT(*) AS uses
FROM skills_activations a LEFT JOIN sessions s ON s.id = a.session_id
WHERE a.at >= :since
  AND (:channel IS NULL OR (s.channel = :channel AND s.chat_id = :chat_id))
GROUP BY a.name ORDER BY COUNT(*) DESC, a.name;

-- name: skills_changed
SELECT v.action, COUNT(*) AS changes
FROM skills_versions v LEFT JOIN sessions s ON s.id = v.session_id
WHERE v.at >= :since
  AND (:channel IS NULL OR (s.channel = :channel AND s.chat_id = :chat_id))
GROUP BY v.action ORDER BY v.action;

-- name: memory_changed
SELECT COUNT(*) AS changes FROM memory_log
WHERE at >= :since AND undoes IS NULL
  AND (:channel IS NULL OR (channel = :channel AND chat_id = :chat_id));
