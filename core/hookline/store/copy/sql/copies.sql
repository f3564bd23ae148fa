-- How far a copy into this store has come. It is kept among the migrations, where everything that
-- brings tables up to date finds it and refuses (hookline_storekit.due): row 0 names the source,
-- each other row a table, with the place in the source up to which it is here.
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
