-- name: add_audit!
INSERT INTO web_server_audit (number, at, person, device, what, status)
SELECT COALESCE(MAX(number), 0) + 1, :at, :person, :device, :what, :status FROM web_server_audit;

-- name: prune_audit!
DELETE FROM web_server_audit WHERE at < :before;

-- name: newest_audit
SELECT at, person, device, what, status FROM web_server_audit ORDER BY number DESC LIMIT :limit;
