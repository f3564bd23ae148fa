-- name: key_by
SELECT id, name FROM openai_api_keys WHERE digest = :digest;

-- name: keys
SELECT id, name, hint, created FROM openai_api_keys ORDER BY name;

-- name: key_named
SELECT id FROM openai_api_keys WHERE name = :name;

-- name: add_key!
INSERT INTO openai_api_keys (id, name, digest, hint, created)
VALUES (:id, :name, :digest, :hint, :now);

-- name: drop_key!
DELETE FROM openai_api_keys WHERE name = :name;
