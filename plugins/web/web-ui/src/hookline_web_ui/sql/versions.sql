-- name: version
SELECT id, root, base, fork_seq FROM web_ui_versions WHERE id = :id;

-- The versions of a chat, given one of them.
-- name: family
SELECT v.id, v.root, v.base, v.fork_seq, v.edited, v.created, s.updated
FROM web_ui_versions v JOIN sessions s ON s.id = v.id
WHERE v.root = (SELECT root FROM web_ui_versions WHERE id = :id) ORDER BY v.created, v.id;

-- name: put_version!
INSERT INTO web_ui_versions (id, root, base, fork_seq, edited, created)
VALUES (:id, :root, :base, :fork_seq, :edited, :created) ON CONFLICT (id) DO NOTHING;

-- name: forget_version!
DELETE FROM web_ui_versions WHERE id = :id;

-- name: place
SELECT pinned, folder, archived FROM web_ui_places WHERE id = :id;

-- name: put_place!
INSERT INTO web_ui_places (id, pinned, folder, archived)
VALUES (:id, :pinned, :folder, :archived)
ON CONFLICT (id) DO UPDATE
SET pinned = excluded.pinned, folder = excluded.folder, archived = excluded.archived;

-- name: forget_place!
DELETE FROM web_ui_places WHERE id = :id;
