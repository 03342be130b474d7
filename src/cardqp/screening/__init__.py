"""Best response and dual program: candidates (guessed) and bounds (proved)."""
