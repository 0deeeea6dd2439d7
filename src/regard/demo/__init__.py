"""The demo: the whole story on one page, computed where it runs."""
