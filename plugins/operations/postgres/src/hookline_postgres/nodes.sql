-- The live processes and what they own. Times are the database's, in Unix seconds.

-- name: join!
WITH beginning AS (
    INSERT INTO beats VALUES (:id, extract(epoch FROM clock_timestamp())::double precision))
INSERT INTO nodes VALUES (:id, :name, :host, :pid, :started,
                          extract(epoch FROM clock_timestamp())::double precision);

-- name: add_writers!
INSERT INTO writers SELECT :id, number, 0 FROM generate_series(0, :last) AS number;

-- name: beat!
UPDATE beats SET beat = extract(epoch FROM clock_timestamp())::double precision WHERE id = :id;

-- name: alive
SELECT 1 FROM nodes WHERE id = :id;

-- name: release_all!
UPDATE owners SET node = NULL WHERE node = :id;

-- name: forget_beat!
DELETE FROM beats WHERE id = :id;

-- name: forget!
DELETE FROM nodes WHERE id = :id;

-- name: last_transaction
-- Waits for a transaction that is still ending.
SELECT transaction FROM writers WHERE node = :id AND number = :number FOR UPDATE;

-- name: take
INSERT INTO owners (key, node, epoch) SELECT :key, id, 1 FROM nodes WHERE id = :id
ON CONFLICT (key) DO UPDATE SET node = excluded.node, epoch = owners.epoch + 1
WHERE owners.node IS NULL OR NOT EXISTS (SELECT 1 FROM nodes n WHERE n.id = owners.node)
RETURNING epoch;

-- name: give_back!
UPDATE owners SET node = NULL WHERE key = :key AND node = :id AND epoch = :epoch;

-- name: holder
SELECT n.id, n.name, n.host, n.pid, n.started,
       extract(epoch FROM clock_timestamp())::double precision - b.beat AS silent
FROM owners o JOIN nodes n ON n.id = o.node LEFT JOIN beats b ON b.id = n.id
WHERE o.key = :key;

-- name: bury!
-- Checks the heartbeat again, in case one has just arrived.
DELETE FROM nodes WHERE id = :id AND NOT EXISTS
    (SELECT 1 FROM beats WHERE id = :id
     AND beat > extract(epoch FROM clock_timestamp())::double precision - :seconds);

-- name: tell
SELECT pg_notify(:channel, :payload);

-- name: tell_all
SELECT count(pg_notify(channel, payload))
FROM unnest(CAST(:channels AS TEXT[]), CAST(:payloads AS TEXT[])) AS notices (channel, payload);

-- name: channel_key
SELECT key FROM channel_key;

-- name: is_set_up
SELECT 1 WHERE to_regclass('nodes') IS NOT NULL;

-- name: nodes
SELECT n.id, n.name, n.host, n.pid, n.started,
       extract(epoch FROM clock_timestamp())::double precision - b.beat AS silent
FROM nodes n LEFT JOIN beats b ON b.id = n.id ORDER BY n.name;
