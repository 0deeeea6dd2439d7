"""Attacks on regard: kills, damaged and hostile files, hostile requests, odd numbers; one file an attack."""
