"""regard against what a user could pick instead: ``python -m benchmarks [--quick] [--only NAME]``."""
