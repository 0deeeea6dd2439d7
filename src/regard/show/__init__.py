"""Seeing: anything computed, in the terminal or as a figure."""
