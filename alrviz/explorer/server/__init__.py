"""What all visitors share: runs, tables and memory, who they are, the processes that read their files."""
