-- name: open_claims
SELECT digest FROM access_claims WHERE expires > :now;

-- name: add_claim!
INSERT INTO access_claims (digest, expires, wrong) VALUES (:digest, :expires, 0);

-- name: count_wrong!
UPDATE access_claims SET wrong = wrong + 1;

-- name: drop_claims!
DELETE FROM access_claims;

-- name: prune_claims!
DELETE FROM access_claims WHERE expires <= :now;
