-- Login codes that were not used yet, as SHA-256. `role` is `operator` or `person`. Times are Unix
-- seconds.
CREATE TABLE web_server_codes (
    digest TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    role TEXT NOT NULL,
    by_whom TEXT NOT NULL,
    expires DOUBLE PRECISION NOT NULL
);

-- Browsers that are logged in; `digest` is the SHA-256 of the cookie's value.
CREATE TABLE web_server_devices (
    id TEXT PRIMARY KEY,
    digest TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    role TEXT NOT NULL,
    agent TEXT NOT NULL,
    created DOUBLE PRECISION NOT NULL,
    seen DOUBLE PRECISION NOT NULL
);

-- What operators changed, and who came in.
CREATE TABLE web_server_audit (
    number INTEGER PRIMARY KEY,
    at DOUBLE PRECISION NOT NULL,
    person TEXT NOT NULL,
    device TEXT NOT NULL,
    what TEXT NOT NULL,
    status INTEGER NOT NULL
);
