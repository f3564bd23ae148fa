-- name: team_tip
SELECT COALESCE(MAX(seq), 0) AS seq FROM skills_team_entries;

-- name: team_entries
SELECT seq, name, number, kind, body FROM skills_team_entries ORDER BY seq;

-- name: team_add_entry!
INSERT INTO skills_team_entries (seq, name, number, kind, body)
VALUES (:seq, :name, :number, :kind, :body);

-- name: team_files
SELECT path, body FROM skills_team_files WHERE name = :name AND number = :number ORDER BY path;

-- name: team_add_file!
INSERT INTO skills_team_files (name, number, path, body) VALUES (:name, :number, :path, :body);
