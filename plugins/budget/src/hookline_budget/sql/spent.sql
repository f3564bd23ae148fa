-- What each chat has used since the day began: cache reads count a tenth. Channel and chat are null
-- for calls outside of any stored session.
-- name: spent
SELECT s.channel, s.chat_id,
       SUM(u.input - u.cache_read + u.output) AS full, SUM(u.cache_read) AS reads
FROM usage u LEFT JOIN sessions s ON s.id = u.session_id
WHERE u.created >= :since GROUP BY s.channel, s.chat_id;
