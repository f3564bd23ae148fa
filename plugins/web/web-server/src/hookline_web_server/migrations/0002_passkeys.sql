-- Passkeys of people. `id` and `public_key` are base64url; `used` is null before the first login.
-- Times are Unix seconds.
CREATE TABLE web_server_passkeys (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    role TEXT NOT NULL,
    label TEXT NOT NULL,
    public_key TEXT NOT NULL,
    counter INTEGER NOT NULL,
    created DOUBLE PRECISION NOT NULL,
    used DOUBLE PRECISION
);
