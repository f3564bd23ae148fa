-- The folder chosen for the chat of which :id is a version.
-- name: workspace
SELECT folder FROM web_ui_workspaces
WHERE id = COALESCE((SELECT root FROM web_ui_versions WHERE id = :id), :id);

-- name: root
SELECT root FROM web_ui_versions WHERE id = :id;

-- name: put_workspace!
INSERT INTO web_ui_workspaces (id, folder) VALUES (:id, :folder)
ON CONFLICT (id) DO UPDATE SET folder = excluded.folder;

-- name: forget_workspace!
DELETE FROM web_ui_workspaces WHERE id = :id;

-- The folders that the terminal worked in, the last one first.
-- name: terminal_folders
SELECT workspace, MAX(updated) AS used FROM sessions
WHERE channel = 'terminal' AND kind = 'chat' GROUP BY workspace ORDER BY used DESC LIMIT :limit;
