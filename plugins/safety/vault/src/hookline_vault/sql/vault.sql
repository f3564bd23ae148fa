-- name: secrets
SELECT name, version, nonce, wrapped_key, body, hosts, created FROM vault_secrets ORDER BY name;

-- name: secret
SELECT name, version, nonce, wrapped_key, body, hosts, created FROM vault_secrets WHERE name = :name;

-- name: add_secret!
INSERT INTO vault_secrets (name, version, nonce, wrapped_key, body, hosts, created)
VALUES (:name, :version, :nonce, :wrapped_key, :body, :hosts, :created);

-- name: rewrap_secret!
UPDATE vault_secrets SET wrapped_key = :wrapped_key WHERE name = :name;

-- name: remove_secret!
DELETE FROM vault_secrets WHERE name = :name;

-- name: key
SELECT reference FROM vault_key WHERE only_row = 1;

-- name: add_key!
INSERT INTO vault_key (only_row, reference) VALUES (1, :reference);

-- name: change_key!
UPDATE vault_key SET reference = :reference WHERE only_row = 1;

-- name: remove_key!
DELETE FROM vault_key WHERE only_row = 1;
