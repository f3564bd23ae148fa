-- name: versions
SELECT name, number, action, author, session_id, turn_id, at, files, origins FROM skills_versions
WHERE name = :name ORDER BY number;

-- name: newest_versions
SELECT v.name, v.number, v.action, v.at, v.origins FROM skills_versions v
JOIN (SELECT name, MAX(number) AS number FROM skills_versions GROUP BY name) n
  ON n.name = v.name AND n.number = v.number
ORDER BY v.name;

-- name: add_version!
INSERT INTO skills_versions (name, number, action, author, session_id, turn_id, at, files, origins)
VALUES (:name, :number, :action, :author, :session_id, :turn_id, :at, :files, :origins);

-- name: forget_versions!
DELETE FROM skills_versions WHERE name = :name AND number < :first;

-- name: blob
SELECT body FROM skills_blobs WHERE sha = :sha;

-- name: has_blob
SELECT sha FROM skills_blobs WHERE sha = :sha;

-- name: add_blob!
INSERT INTO skills_blobs (sha, body) VALUES (:sha, :body);

-- name: kept_files
SELECT files FROM skills_versions;

-- name: blobs
SELECT sha FROM skills_blobs ORDER BY sha;

-- name: forget_blob!
DELETE FROM skills_blobs WHERE sha = :sha;
