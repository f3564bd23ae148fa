-- name: made
SELECT name, marker, at FROM skills_made ORDER BY name;

-- name: delete_made!
DELETE FROM skills_made WHERE name = :name;

-- name: add_made!
INSERT INTO skills_made (name, marker, at) VALUES (:name, :marker, :at);

-- name: pins
SELECT name FROM skills_pins ORDER BY name;

-- name: unpin!
DELETE FROM skills_pins WHERE name = :name;

-- name: pin!
INSERT INTO skills_pins (name) VALUES (:name);

-- name: add_activation!
INSERT INTO skills_activations (name, how, session_id, turn_id, at)
VALUES (:name, :how, :session_id, :turn_id, :at);

-- name: uses
SELECT name, COUNT(*) AS uses, MAX(at) AS last FROM skills_activations GROUP BY name;

-- name: activations
SELECT name, how, session_id, turn_id, at FROM skills_activations
WHERE name = :name ORDER BY at DESC LIMIT :most;

-- name: delete_old_activations!
DELETE FROM skills_activations WHERE at < :before;

-- name: latest_turn
SELECT id FROM turns WHERE session_id = :session_id ORDER BY number DESC LIMIT 1;
