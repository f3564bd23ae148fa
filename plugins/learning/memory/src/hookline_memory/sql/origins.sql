-- name: note_origins
SELECT text, origins FROM memory_note_origins WHERE file = :file;

-- name: drop_note_origins!
DELETE FROM memory_note_origins WHERE file = :file AND text = :text;

-- name: add_note_origins!
INSERT INTO memory_note_origins (file, text, origins) VALUES (:file, :text, :origins);
