-- Everything since a moment (Unix time in seconds). With `channel` null it is that of all chats, also
-- of sessions that were deleted since, whose costs core keeps.

-- By thousands of tokens in the prompt, because some models cost more where it is long: a row of
-- `thousands` n holds requests of 1000 n + 1 to 1000 (n + 1) tokens.
-- name: models
SELECT u.model, (u.input - 1) / 1000 AS thousands, COUNT(*) AS requests, SUM(u.input) AS input,
       SUM(u.cache_read) AS cache_read, SUM(u.cache_write) AS cache_write,
       SUM(u.cache_write_1h) AS cache_write_1h, SUM(u.output) AS output,
       SUM(u.reasoning) AS reasoning, SUM(u.input_cost) AS input_cost
FROM usage u LEFT JOIN sessions s ON s.id = u.session_id
WHERE u.created >= :since
  AND (:channel IS NULL OR (s.channel = :channel AND s.chat_id = :chat_id))
GROUP BY u.model, (u.input - 1) / 1000;

-- By quarter of an hour; every local day begins with one.
-- name: quarters
SELECT CAST(u.created / 900 AS INTEGER) AS quarter, SUM(u.input + u.output) AS tokens
FROM usage u LEFT JOIN sessions s ON s.id = u.session_id
WHERE u.created >= :since
  AND (:channel IS NULL OR (s.channel = :channel AND s.chat_id = :chat_id))
GROUP BY CAST(u.created / 900 AS INTEGER);

-- name: tools
SELECT p.name, COUNT(*) AS calls, SUM(CASE WHEN p.ok = 0 THEN 1 ELSE 0 END) AS failed
FROM steps p JOIN turns t ON t.id = p.turn_id JOIN sessions s ON s.id = t.session_id
WHERE p.started >= :since AND p.state = 'finished'
  AND (:channel IS NULL OR (s.channel = :channel AND s.chat_id = :chat_id))
GROUP BY p.name ORDER BY COUNT(*) DESC, p.name;

-- name: turns
SELECT s.kind, t.stop, COUNT(*) AS turns
FROM turns t JOIN sessions s ON s.id = t.session_id
WHERE t.started >= :since
  AND (:channel IS NULL OR (s.channel = :channel AND s.chat_id = :chat_id))
GROUP BY s.kind, t.stop ORDER BY s.kind, t.stop;

-- name: channels
SELECT s.channel, COUNT(DISTINCT s.id) AS sessions, COUNT(*) AS turns
FROM turns t JOIN sessions s ON s.id = t.session_id
WHERE t.started >= :since AND s.kind = 'chat'
  AND (:channel IS NULL OR (s.channel = :channel AND s.chat_id = :chat_id))
GROUP BY s.channel ORDER BY COUNT(*) DESC, s.channel;
