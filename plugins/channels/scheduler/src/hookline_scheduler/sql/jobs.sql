-- name: add_job!
-- Adds no row if the chat has reached its limit.
INSERT INTO scheduler_jobs (id, channel, chat_id, user_id, workspace, kind, expression, anchor,
                            zone, prompt, state, due, created, origins)
SELECT :id, :channel, :chat_id, :user_id, :workspace, :kind, :expression, :anchor, :zone, :prompt,
       :state, :due, :created, :origins
WHERE (SELECT COUNT(*) FROM scheduler_jobs
       WHERE channel = :channel AND chat_id = :chat_id) < :most
ON CONFLICT (id) DO NOTHING;

-- name: jobs
SELECT * FROM scheduler_jobs ORDER BY created, id;

-- name: chat_jobs
SELECT * FROM scheduler_jobs WHERE channel = :channel AND chat_id = :chat_id ORDER BY created, id;

-- name: job
SELECT * FROM scheduler_jobs WHERE id = :id;

-- name: due_jobs
SELECT * FROM scheduler_jobs
WHERE run_id = '' AND (asked = 1 OR (state = 'on' AND due <= :now))
ORDER BY due, created;

-- name: next_due
SELECT MIN(due) AS due FROM scheduler_jobs WHERE state = 'on' AND due > :now;

-- name: remove_job!
DELETE FROM scheduler_jobs WHERE id = :id;

-- name: pause_job!
UPDATE scheduler_jobs SET state = 'paused', due = NULL, asked = 0 WHERE id = :id;

-- name: resume_job!
UPDATE scheduler_jobs SET state = 'on', due = :due WHERE id = :id;

-- name: ask_for_job!
UPDATE scheduler_jobs SET asked = 1 WHERE id = :id;

-- name: pull_in!
UPDATE scheduler_jobs SET due = :due
WHERE id = :id AND due = :was AND state = 'on' AND run_id = '';

-- name: claim_due!
-- Changes a row for one process only, because it advances `due`.
UPDATE scheduler_jobs SET run_id = :run, last_due = :was, due = :due
WHERE id = :id AND run_id = '' AND state = 'on' AND due = :was;

-- name: claim_asked!
UPDATE scheduler_jobs SET run_id = :run, asked = 0 WHERE id = :id AND run_id = '' AND asked = 1;

-- name: release_job!
-- The run was not started: it is due again.
UPDATE scheduler_jobs SET run_id = '', asked = CASE WHEN :asked = 1 THEN 1 ELSE asked END,
       due = CASE WHEN :asked = 0 AND state = 'on' THEN :due ELSE due END
WHERE id = :id AND run_id = :run;

-- name: end_job!
UPDATE scheduler_jobs SET run_id = '', told = :told, state = :state, due = :due
WHERE id = :id AND run_id = :run;
