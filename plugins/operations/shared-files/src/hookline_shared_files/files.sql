-- name: files_since
SELECT path, version, sha, changed FROM files WHERE changed >= :since ORDER BY changed;

-- name: file
SELECT version, sha, body, earlier FROM files WHERE path = :path;

-- Both change no row if another node was faster.
-- name: add_file!
INSERT INTO files (path, version, sha, body, earlier, changed)
VALUES (:path, 1, :sha, :body, '[]', extract(epoch FROM clock_timestamp()))
ON CONFLICT (path) DO NOTHING;

-- name: change_file!
UPDATE files SET version = version + 1, sha = :sha, body = :body, earlier = :earlier,
                 changed = extract(epoch FROM clock_timestamp())
WHERE path = :path AND version = :version;
