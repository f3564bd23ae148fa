-- name: put_file!
INSERT INTO web_ui_files (id, owner, session_id, turn_id, side, name, mime, size, caption, kind,
                          duration, path, created)
VALUES (:id, :owner, :session_id, :turn_id, :side, :name, :mime, :size, :caption, :kind, :duration,
        :path, :created)
ON CONFLICT (id) DO NOTHING;

-- name: file
SELECT f.*, s.channel, s.chat_id FROM web_ui_files f LEFT JOIN sessions s ON s.id = f.session_id
WHERE f.id = :id;

-- name: file_at
SELECT * FROM web_ui_files WHERE path = :path AND side = 'in';

-- name: place_file!
UPDATE web_ui_files SET session_id = :session_id, turn_id = :turn_id WHERE id = :id;

-- name: files_of
SELECT * FROM web_ui_files WHERE session_id = :session_id ORDER BY created, id;

-- name: forget_files!
DELETE FROM web_ui_files WHERE session_id = :session_id;

-- name: unused_files
SELECT id, path FROM web_ui_files WHERE session_id IS NULL AND created < :before;

-- name: forget_file!
DELETE FROM web_ui_files WHERE id = :id;
