-- name: add_entry!
INSERT INTO memory_log (number, at, channel, chat_id, session_id, turn_id, origin, changes, undoes,
                        origins)
VALUES (:number, :at, :channel, :chat_id, :session_id, :turn_id, :origin, :changes, :undoes,
        :origins);

-- name: entry
SELECT * FROM memory_log WHERE number = :number;

-- name: entries_of
SELECT at, origin, changes FROM memory_log WHERE session_id = :session AND turn_id = :turn
ORDER BY number;

-- name: undone_by
SELECT number FROM memory_log WHERE undoes = :number ORDER BY number DESC LIMIT 1;

-- name: newest_entries
SELECT l.*, t.number AS turn,
       (SELECT MAX(u.number) FROM memory_log u WHERE u.undoes = l.number) AS undone_by
FROM memory_log l LEFT JOIN turns t ON t.id = l.turn_id
ORDER BY l.number DESC LIMIT :limit;

-- name: prune_log!
DELETE FROM memory_log WHERE at < :before;
