-- A new database: the header says whose it is (HOOK), a table which migrations it has had.
BEGIN IMMEDIATE;
PRAGMA application_id = 0x484F4F4B;
CREATE TABLE migrations (
    component TEXT NOT NULL, number INTEGER NOT NULL, name TEXT NOT NULL,
    checksum TEXT NOT NULL, applied REAL NOT NULL, PRIMARY KEY (component, number));
COMMIT;
