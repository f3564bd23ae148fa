-- The plugin inspect keeps which plugins failed.

DROP TABLE plugin_errors;
