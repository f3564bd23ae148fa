-- name: value
SELECT value FROM kv WHERE plugin = :plugin AND key = :key;

-- name: set_value!
INSERT INTO kv (plugin, key, value, updated) VALUES (:plugin, :key, :value, :updated)
ON CONFLICT (plugin, key) DO UPDATE SET value = excluded.value, updated = excluded.updated;

-- name: delete_value!
DELETE FROM kv WHERE plugin = :plugin AND key = :key;

-- name: values
SELECT key, value FROM kv WHERE plugin = :plugin;

-- name: purge_values!
DELETE FROM kv WHERE plugin = :plugin OR (plugin = '' AND key = :plugin);

-- name: purge_migrations!
DELETE FROM migrations WHERE component = :component;
