-- name: was_taken
SELECT digest FROM webhook_taken WHERE digest = :digest;

-- name: take!
INSERT INTO webhook_taken (digest) VALUES (:digest) ON CONFLICT (digest) DO NOTHING;
