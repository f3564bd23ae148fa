-- The usage of each turn, to be summed by person or by what it used.
-- name: used_by_turns
SELECT u.session_id, u.turn_id, u.model, (u.input - 1) / 1000 AS thousands, COUNT(*) AS requests,
       SUM(u.input) AS input, SUM(u.cache_read) AS cache_read, SUM(u.cache_write) AS cache_write,
       SUM(u.cache_write_1h) AS cache_write_1h, SUM(u.output) AS output,
       SUM(u.reasoning) AS reasoning, s.channel, s.chat_id, s.parent_id
FROM usage u LEFT JOIN sessions s ON s.id = u.session_id
WHERE u.created >= :since
  AND (:channel IS NULL OR (s.channel = :channel AND s.chat_id = :chat_id))
GROUP BY u.session_id, u.turn_id, u.model, (u.input - 1) / 1000, s.channel, s.chat_id, s.parent_id;

-- The message that began each turn; its origins say whose it is.
-- name: first_messages
SELECT m.session_id, m.turn_id, m.body FROM messages m
WHERE m.role = 'user' AND m.created >= :since
  AND m.seq = (SELECT MIN(f.seq) FROM messages f
               WHERE f.session_id = m.session_id AND f.turn_id = m.turn_id)
ORDER BY m.created;

-- name: database_calls
SELECT p.turn_id, p.arguments, p.ok FROM steps p
WHERE p.started >= :since AND p.state = 'finished'
  AND p.name IN ('db_schema', 'db_query', 'db_explain', 'db_write');

-- If the plugin skills was never on, its table does not exist and the query fails.
-- name: skills_in_turns
SELECT DISTINCT name, turn_id FROM skills_activations WHERE at >= :since;
