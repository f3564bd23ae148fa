-- name: put_failure!
INSERT INTO inspect_failures (plugin, hook, reason, at) VALUES (:plugin, :hook, :reason, :at)
ON CONFLICT (plugin, hook, reason) DO UPDATE SET at = excluded.at;

-- name: prune_failures!
DELETE FROM inspect_failures WHERE plugin = :plugin AND at < COALESCE(
    (SELECT at FROM inspect_failures WHERE plugin = :plugin
     ORDER BY at DESC LIMIT 1 OFFSET 19), 0);

-- name: failures
SELECT plugin, hook, reason, at FROM inspect_failures;
