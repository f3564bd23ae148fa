-- name: put_passkey!
INSERT INTO web_server_passkeys (id, name, role, label, public_key, counter, created, used)
VALUES (:id, :name, :role, :label, :public_key, :counter, :created, NULL);

-- name: find_passkey
SELECT id, name, role, public_key, counter FROM web_server_passkeys WHERE id = :id;

-- name: passkeys
SELECT id, name, label, created, used FROM web_server_passkeys ORDER BY created, id;

-- name: use_passkey!
UPDATE web_server_passkeys SET counter = :counter, used = :used
WHERE id = :id AND counter = :before;

-- name: drop_passkey!
DELETE FROM web_server_passkeys WHERE id = :id AND name = :name;

-- name: drop_passkeys!
DELETE FROM web_server_passkeys WHERE name = :name;
