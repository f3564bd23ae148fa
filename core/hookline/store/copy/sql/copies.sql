-- The progress of a copy into this store. It is kept in the table migrations, so that any attempt
-- to migrate finds it and refuses (hookline_hookspecs.stores.due). Row 0 names the source. Each
-- other row names a table and the position in the source up to which it has been copied.
-- name: progress
SELECT number, name, checksum FROM migrations WHERE component = 'copy' ORDER BY number;

-- name: begin_copy!
INSERT INTO migrations (component, number, name, checksum, applied)
VALUES ('copy', :number, :name, :place, :now);

-- name: came_to!
UPDATE migrations SET checksum = :place WHERE component = 'copy' AND number = :number;

-- name: end_copy!
DELETE FROM migrations WHERE component = 'copy';

-- name: components
SELECT DISTINCT component FROM migrations WHERE component <> 'copy' ORDER BY component;

-- name: steps
SELECT component, number, name, applied FROM migrations WHERE component <> 'copy'
ORDER BY component, number;

-- name: applied!
UPDATE migrations SET applied = :applied WHERE component = :component AND number = :number;
