-- name: trusted
SELECT what, by_whom, added FROM provenance_trust ORDER BY what;

-- name: trust!
INSERT INTO provenance_trust (what, by_whom, added) VALUES (:what, :by_whom, :added)
ON CONFLICT (what) DO NOTHING;

-- name: distrust!
DELETE FROM provenance_trust WHERE what = :what;
