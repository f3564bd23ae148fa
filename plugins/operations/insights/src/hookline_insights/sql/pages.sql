-- Tokens by kind and quarter of an hour; every local day begins with one.
-- name: kinds
SELECT CAST(u.created / 900 AS INTEGER) AS quarter, SUM(u.input) AS input,
       SUM(u.cache_read) AS cache_read, SUM(u.cache_write) AS cache_write, SUM(u.output) AS output
FROM usage u LEFT JOIN sessions s ON s.id = u.session_id
WHERE u.created >= :since
  AND (:channel IS NULL OR (s.channel = :channel AND s.chat_id = :chat_id))
GROUP BY CAST(u.created / 900 AS INTEGER);

-- name: money
SELECT CAST(u.created / 900 AS INTEGER) AS quarter, u.model, (u.input - 1) / 1000 AS thousands,
       SUM(u.input) AS input, SUM(u.cache_read) AS cache_read, SUM(u.cache_write) AS cache_write,
       SUM(u.cache_write_1h) AS cache_write_1h, SUM(u.output) AS output,
       SUM(u.reasoning) AS reasoning
FROM usage u LEFT JOIN sessions s ON s.id = u.session_id
WHERE u.created >= :since
  AND (:channel IS NULL OR (s.channel = :channel AND s.chat_id = :chat_id))
GROUP BY CAST(u.created / 900 AS INTEGER), u.model, (u.input - 1) / 1000;
