"""Programs as folders: what goes in, and what has to come out. README.md says how to add one."""
