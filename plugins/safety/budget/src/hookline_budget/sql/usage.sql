-- Tokens of each chat since the day began; `reads` are those read from the cache. Channel and chat
-- are null for calls outside any stored session.
-- name: usage_by_chat
SELECT s.channel, s.chat_id,
       SUM(u.input - u.cache_read + u.output) AS full, SUM(u.cache_read) AS reads
FROM usage u LEFT JOIN sessions s ON s.id = u.session_id
WHERE u.created >= :since GROUP BY s.channel, s.chat_id;

-- Tokens by model and by thousands of prompt tokens, because some models charge more for long
-- prompts. With `channel` null: all chats together.
-- name: usage_by_model
SELECT u.model, (u.input - 1) / 1000 AS thousands, SUM(u.input) AS input,
       SUM(u.cache_read) AS cache_read, SUM(u.cache_write) AS cache_write,
       SUM(u.cache_write_1h) AS cache_write_1h, SUM(u.output) AS output
FROM usage u LEFT JOIN sessions s ON s.id = u.session_id
WHERE u.created >= :since
  AND (:channel IS NULL OR (s.channel = :channel AND s.chat_id = :chat_id))
GROUP BY u.model, (u.input - 1) / 1000;
