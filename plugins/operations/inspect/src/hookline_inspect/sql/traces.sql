-- name: put_trace!
INSERT INTO inspect_traces (turn_id, session_id, kind, started, bytes, tree)
VALUES (:turn_id, :session_id, :kind, :started, :bytes, :tree)
ON CONFLICT (turn_id) DO UPDATE SET bytes = excluded.bytes, tree = excluded.tree;

-- name: prune_traces!
DELETE FROM inspect_traces WHERE turn_id IN (
    SELECT turn_id FROM (
        SELECT turn_id,
               ROW_NUMBER() OVER (ORDER BY started DESC, turn_id) AS place,
               SUM(bytes) OVER (ORDER BY started DESC, turn_id) AS together
        FROM inspect_traces
    ) AS sizes WHERE place > :turns OR together > :bytes
) OR session_id NOT IN (SELECT id FROM sessions);

-- name: latest_session
SELECT session_id FROM inspect_traces
ORDER BY CASE WHEN kind = 'chat' THEN 0 ELSE 1 END, started DESC, turn_id LIMIT 1;

-- name: session_traces
SELECT turn_id, started, tree FROM inspect_traces WHERE session_id = :session_id
ORDER BY started, turn_id;

-- name: turn_trace
SELECT tree FROM inspect_traces WHERE turn_id = :turn_id AND session_id = :session_id;

-- name: forget_session!
DELETE FROM inspect_traces WHERE session_id = :session_id;
