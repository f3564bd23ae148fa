-- What each chat has used since the day began: cache reads count a tenth. Channel and chat are null
-- for calls outside of any stored session.
-- name: spent
SELECT s.channel, s.chat_id,
       SUM(u.input - u.cache_read + u.output) AS full, SUM(u.cache_read) AS reads
FROM usage u LEFT JOIN sessions s ON s.id = u.session_id
WHERE u.created >= :since GROUP BY s.channel, s.chat_id;

-- By thousands of tokens in the prompt, because some models cost more where it is long. With
-- `channel` null it is all chats together.
-- name: paid
SELECT u.model, (u.input - 1) / 1000 AS thousands, SUM(u.input) AS input,
       SUM(u.cache_read) AS cache_read, SUM(u.cache_write) AS cache_write,
       SUM(u.cache_write_1h) AS cache_write_1h, SUM(u.output) AS output
FROM usage u LEFT JOIN sessions s ON s.id = u.session_id
WHERE u.created >= :since
  AND (:channel IS NULL OR (s.channel = :channel AND s.chat_id = :chat_id))
GROUP BY u.model, (u.input - 1) / 1000;
