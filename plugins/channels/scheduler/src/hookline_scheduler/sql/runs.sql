-- name: add_run!
INSERT INTO scheduler_runs (id, job_id, channel, chat_id, user_id, process, state, due, asked,
                            started)
VALUES (:id, :job_id, :channel, :chat_id, :user_id, :process, 'claimed', :due, :asked, :now);

-- name: run
SELECT * FROM scheduler_runs WHERE id = :id;

-- name: open_runs
SELECT * FROM scheduler_runs WHERE state <> 'ended';

-- name: last_runs
-- The newest ended run of each job.
SELECT r.* FROM scheduler_runs r
WHERE r.state = 'ended' AND NOT EXISTS (
    SELECT 1 FROM scheduler_runs n
    WHERE n.job_id = r.job_id AND n.state = 'ended'
      AND (n.ended > r.ended OR (n.ended = r.ended AND n.id > r.id)));

-- name: begin_run!
-- Changes a row if this process may run it.
UPDATE scheduler_runs SET state = 'running', started = :now
WHERE id = :id AND state = 'claimed' AND process = :process;

-- name: drop_run!
DELETE FROM scheduler_runs WHERE id = :id AND state = 'claimed';

-- name: end_run!
UPDATE scheduler_runs SET state = 'ended', ended = :now, outcome = :outcome, reason = :reason,
       text = :text, handed = CASE WHEN :text = '' THEN 1 ELSE 0 END
WHERE id = :id AND state <> 'ended';

-- name: waiting_results
SELECT * FROM scheduler_runs WHERE handed = 0 AND state = 'ended' ORDER BY ended, id;

-- name: hand_over!
UPDATE scheduler_runs SET handed = 1 WHERE id = :id;

-- name: old_runs
-- Only a job's newest delivered runs are kept.
SELECT * FROM scheduler_runs
WHERE job_id = :job_id AND state = 'ended' AND handed = 1 AND id NOT IN (
    SELECT id FROM scheduler_runs WHERE job_id = :job_id ORDER BY started DESC, id LIMIT :most);

-- name: forget_run!
DELETE FROM scheduler_runs WHERE id = :id;
