"""Numbers from files."""

from __future__ import annotations

import numpy as np

from tests.cli.test_attend import KEYS, QUERY, regard

ATTEND = ["attend", "--query", QUERY, "--keys", KEYS]


def test_longdouble_files_are_numbers_like_others(tmp_path):
    np.save(tmp_path / "keys.npy", np.ones((2, 3), np.longdouble))
    printed = regard("attend", "--query", "1 2 3", "--keys", str(tmp_path / "keys.npy"), "--score", "dot", "--json")
    assert '"scores": [6.0, 6.0]' in printed


def test_a_file_that_claims_more_than_fits_is_refused(tmp_path):
    path = tmp_path / "keys.npy"
    np.save(path, np.ones((2, 3)))
    path.write_bytes(path.read_bytes().replace(b"(2, 3)", b"(9999999, 9999999999)".ljust(6))[:128])
    assert "keys: cannot read" in regard("attend", "--query", "1 2 3", "--keys", str(path), code=2)
