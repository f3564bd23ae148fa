-- One row for each different failure of a plugin; `at` is when it last occurred, Unix time in seconds.
CREATE TABLE inspect_failures (
    plugin TEXT NOT NULL,
    hook TEXT NOT NULL,
    reason TEXT NOT NULL,
    at DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (plugin, hook, reason)
);
