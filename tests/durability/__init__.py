"""What survives: kills at every named point, failing disks, several processes, old and new files."""
