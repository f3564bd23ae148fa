-- Roles are called as in roles.yaml.
UPDATE access_people SET role = 'member' WHERE role = 'user';
