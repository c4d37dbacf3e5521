"""The five steps of the path with what each has come to in this workspace. It reads; it draws nothing."""
