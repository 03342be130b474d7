"""Methods that improve a support step by step and prove nothing."""
