-- name: extend_write!
UPDATE provenance_writes SET ended = :ended, origins = :origins
WHERE session_id = :session_id AND ended >= :started AND started <= :started;

-- name: add_write!
INSERT INTO provenance_writes (session_id, started, ended, origins)
VALUES (:session_id, :started, :ended, :origins);

-- name: marks_version
SELECT (SELECT COUNT(*) FROM provenance_writes) AS writes,
       (SELECT MAX(ended) FROM provenance_writes) AS written,
       (SELECT COUNT(*) FROM provenance_files) AS files,
       (SELECT MAX(noted) FROM provenance_files) AS noted,
       (SELECT COUNT(*) FROM provenance_cleared) AS cleared;

-- name: writes
SELECT started, ended, origins FROM provenance_writes ORDER BY started;

-- name: marked_files
SELECT path, digest, size, origins FROM provenance_files;

-- name: noted_files
SELECT path, origins, MAX(noted) AS noted FROM provenance_files
GROUP BY path, origins ORDER BY path;

-- name: cleared_files
SELECT path, state FROM provenance_cleared;

-- name: clear_file!
INSERT INTO provenance_cleared (path, state, by_whom, cleared)
VALUES (:path, :state, :by_whom, :cleared) ON CONFLICT (path, state) DO NOTHING;

-- name: unmark_file!
DELETE FROM provenance_files WHERE path = :path;

-- name: drop_cleared!
DELETE FROM provenance_cleared WHERE cleared < :before;

-- name: mark_file!
INSERT INTO provenance_files (path, digest, size, origins, noted)
VALUES (:path, :digest, :size, :origins, :noted)
ON CONFLICT (path, digest) DO UPDATE SET origins = :origins, noted = :noted;

-- name: drop_writes!
DELETE FROM provenance_writes WHERE ended < :before;

-- name: drop_files!
DELETE FROM provenance_files WHERE noted < :before;
