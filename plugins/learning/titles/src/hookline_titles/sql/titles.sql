-- name: title
SELECT title FROM sessions WHERE id = :id;
