-- name: add_proposal!
INSERT INTO provenance_proposals (id, kind, what, origin, session_id, fingerprint, call, state,
                                  created, expires)
VALUES (:id, :kind, :what, :origin, :session_id, :fingerprint, :call, 'open', :created, :expires);

-- name: same_proposal
SELECT id FROM provenance_proposals
WHERE state = 'open' AND session_id = :session_id AND fingerprint = :fingerprint AND expires > :now;

-- name: open_proposals
SELECT * FROM provenance_proposals WHERE state = 'open' AND expires > :now ORDER BY created;

-- name: proposal
SELECT * FROM provenance_proposals WHERE id = :id;

-- name: set_proposal!
UPDATE provenance_proposals SET state = :state WHERE id = :id AND state = :before AND expires > :now;

-- name: drop_expired!
DELETE FROM provenance_proposals WHERE expires <= :now;
