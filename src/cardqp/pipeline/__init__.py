"""The whole pipe: solve, and what is made of many calls of it."""
