"""Small programs that show what the library is for."""
