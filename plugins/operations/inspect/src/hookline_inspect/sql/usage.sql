-- What core keeps of model calls, read from its table.

-- By thousands of tokens in the prompt, because some models cost more where it is long.
-- name: usage
SELECT model, purpose, (input - 1) / 1000 AS thousands, COUNT(*) AS requests, SUM(input) AS input,
       SUM(cache_read) AS cache_read, SUM(cache_write) AS cache_write,
       SUM(cache_write_1h) AS cache_write_1h, SUM(input_cost) AS input_cost, SUM(output) AS output
FROM usage WHERE session_id = :id GROUP BY model, purpose, (input - 1) / 1000
ORDER BY model, purpose;

-- The newest break of the session's prefix: a PrefixBreak as JSON.
-- name: last_break
SELECT broken, created FROM usage WHERE session_id = :id AND broken IS NOT NULL
ORDER BY created DESC LIMIT 1;
