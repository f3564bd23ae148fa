-- Bytes are base64, so that the same SQL serves every store.
CREATE TABLE vault_secrets (
    name TEXT PRIMARY KEY,
    version INTEGER NOT NULL,
    nonce TEXT NOT NULL,
    wrapped_key TEXT NOT NULL,
    body TEXT NOT NULL,
    hosts TEXT NOT NULL,
    created DOUBLE PRECISION NOT NULL
);
-- One row: the key under which every secret is kept, as a reference and never the key itself.
CREATE TABLE vault_key (
    only_row INTEGER PRIMARY KEY,
    reference TEXT NOT NULL
);
