-- Once, as the role that owns the tables ({owner}); {role} is the one in `store:` of the gateways.
-- {role} must not own them: run `hookline migrate-store`, or any command, as the owner first.
REVOKE ALL ON {schema}.audit_rows, {schema}.audit_seals, {schema}.audit_keys, {schema}.audit_state
  FROM PUBLIC, {role};
GRANT SELECT, INSERT ON {schema}.audit_rows, {schema}.audit_seals TO {role};
GRANT SELECT, INSERT, DELETE ON {schema}.audit_keys TO {role};
GRANT SELECT, INSERT, UPDATE ON {schema}.audit_state TO {role};
-- Rows older than keep_days are then removed as the owner: `hookline audit prune`, from cron.
