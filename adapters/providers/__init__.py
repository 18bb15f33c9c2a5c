"""Which providers reach people for a company? Installed ones, each with the settings of a provider configuration."""
