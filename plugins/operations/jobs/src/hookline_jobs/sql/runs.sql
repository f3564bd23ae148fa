-- name: claim!
-- Touches one row if the job is due, so that only one process runs it.
INSERT INTO jobs_runs (name, begun) VALUES (:name, :now)
ON CONFLICT (name) DO UPDATE SET begun = excluded.begun WHERE jobs_runs.begun <= :due;

-- name: runs
SELECT name, begun FROM jobs_runs ORDER BY name;
