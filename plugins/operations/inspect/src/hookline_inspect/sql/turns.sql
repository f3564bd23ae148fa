-- What core keeps of one turn, read from its tables.

-- name: turn_row
SELECT id, number, state, stop, iterations, error, started, ended FROM turns
WHERE id = :turn AND session_id = :id;

-- name: turn_calls
SELECT created, model, purpose, input, cache_read, cache_write, cache_write_1h, input_cost, output,
       reasoning, broken
FROM usage WHERE turn_id = :turn AND session_id = :id ORDER BY created;

-- name: turn_steps
SELECT call_id, name, arguments, state, ok, result, seconds, started, origins FROM steps
WHERE turn_id = :turn ORDER BY seq;

-- name: turn_context
SELECT s.text FROM sidecars s JOIN messages m ON m.session_id = s.session_id AND m.seq = s.seq
WHERE m.session_id = :id AND m.turn_id = :turn ORDER BY s.seq LIMIT 1;

-- The characters of the history and of the turn's own message in its first request.
-- name: turn_sizes
SELECT COALESCE(SUM(CASE WHEN m.turn_id <> :turn THEN LENGTH(m.text) ELSE 0 END), 0) AS history,
       COALESCE(SUM(CASE WHEN m.turn_id = :turn THEN LENGTH(m.text) ELSE 0 END), 0) AS own
FROM messages m WHERE m.session_id = :id AND m.seq <=
    (SELECT MIN(o.seq) FROM messages o WHERE o.session_id = :id AND o.turn_id = :turn);
