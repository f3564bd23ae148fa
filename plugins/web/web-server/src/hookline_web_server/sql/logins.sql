-- name: put_code!
INSERT INTO web_server_codes (digest, name, role, by_whom, expires)
VALUES (:digest, :name, :role, :by_whom, :expires);

-- name: find_code
SELECT name, role FROM web_server_codes WHERE digest = :digest AND expires > :now;

-- name: drop_code!
DELETE FROM web_server_codes WHERE digest = :digest;

-- name: prune_codes!
DELETE FROM web_server_codes WHERE expires <= :now;

-- name: put_device!
INSERT INTO web_server_devices (id, digest, name, role, agent, created, seen)
VALUES (:id, :digest, :name, :role, :agent, :now, :now);

-- name: find_device
SELECT id, name, role, agent, created, seen FROM web_server_devices
WHERE digest = :digest AND created > :since;

-- name: devices
SELECT id, name, role, agent, created, seen FROM web_server_devices
WHERE created > :since ORDER BY created DESC, id;

-- name: drop_device!
DELETE FROM web_server_devices WHERE id = :id;

-- name: update_device_seen!
UPDATE web_server_devices SET seen = :seen WHERE id = :id AND seen < :seen;

-- name: prune_devices!
DELETE FROM web_server_devices WHERE created <= :since;
