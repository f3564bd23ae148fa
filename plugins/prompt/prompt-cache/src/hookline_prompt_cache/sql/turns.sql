-- name: begin_turn!
INSERT INTO prompt_cache_turns (turn_id, session_id, started, ended)
VALUES (:turn_id, :session_id, :started, :started)
ON CONFLICT (turn_id) DO NOTHING;

-- name: end_turn!
UPDATE prompt_cache_turns
SET ended = :ended, requests = :requests, input = :input, cache_read = :cache_read,
    cache_write = :cache_write, fresh = :fresh, input_cost = :input_cost, broken = :broken
WHERE turn_id = :turn_id;

-- name: recent_turns
SELECT turn_id, started, ended FROM prompt_cache_turns
WHERE session_id = :session_id
ORDER BY started DESC
LIMIT :most;

-- name: broken_turns
SELECT broken FROM prompt_cache_turns
WHERE session_id = :session_id AND broken <> '[]';

-- name: forget_turns!
DELETE FROM prompt_cache_turns WHERE started < :before;

-- name: recent_costs
SELECT turn_id, started, ended, requests, input, cache_read, cache_write, fresh, input_cost, broken
FROM prompt_cache_turns
WHERE session_id = :session_id
ORDER BY started DESC
LIMIT :most;
