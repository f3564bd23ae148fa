-- name: page_runs
SELECT r.*, j.prompt, j.zone FROM scheduler_runs r LEFT JOIN scheduler_jobs j ON j.id = r.job_id
WHERE r.state = 'ended' AND (:job = '' OR r.job_id = :job)
ORDER BY r.ended DESC, r.id LIMIT :limit OFFSET :start;
