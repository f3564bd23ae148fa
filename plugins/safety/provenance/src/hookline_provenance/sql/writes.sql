-- name: extend_write!
UPDATE provenance_writes SET ended = :ended, origins = :origins
WHERE session_id = :session_id AND ended >= :started AND started <= :started;

-- name: add_write!
INSERT INTO provenance_writes (session_id, started, ended, origins)
VALUES (:session_id, :started, :ended, :origins);

-- name: writes_since
SELECT started, ended, origins FROM provenance_writes WHERE ended >= :oldest;

-- name: drop_writes!
DELETE FROM provenance_writes WHERE ended < :before;
