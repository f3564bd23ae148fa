"""What survives: kills at every named point, failing disks, a crowd of processes, old files."""
