"""What cannot be computed is refused by name, never by a traceback from inside an array library."""

# What is handed over here is wrong on purpose.
# mypy: disable-error-code="arg-type, list-item"

import re

import numpy as np
import pytest
import torch

import regard
from regard import attend, masks, normalizers, positions
from regard.errors import DtypeError, InputError, RegardError, ShapeError, UnknownName

K = np.ones((4, 3))

REFUSED = {
    "mask shape of tensors": (
        lambda: attend(torch.ones(2, 3), torch.ones(4, 3), visible=torch.ones(4, 2, dtype=torch.bool)),
        ShapeError,
        "visible must broadcast to the scores (..., 2, 4): queries x keys; it is (4, 2)",
    ),
    "keys without values": (
        lambda: attend(np.ones(3), K, np.ones((5, 2))),
        ShapeError,
        "each key needs one value: key (4, 3) has 4 rows, value (5, 2) has 5",
    ),
    "no keys": (
        lambda: attend(np.ones(3), np.ones((0, 3))),
        ShapeError,
        "there is nothing to look at: key (0, 3) has no rows",
    ),
    "one key without its row": (
        lambda: attend(np.ones(3), np.ones(3)),
        ShapeError,
        "A single vector is written [[...]].",
    ),
    "no width": (lambda: attend(np.ones((1, 0)), np.ones((2, 0))), ShapeError, "has width 0"),
    "batches": (
        lambda: attend(np.ones((2, 1, 3)), np.ones((5, 4, 3))),
        ShapeError,
        "the batch dimensions do not fit together: query (2,), key (5,)",
    ),
    "mask shape": (
        lambda: attend(np.ones((2, 3)), K, visible=np.ones((2, 5), bool)),
        ShapeError,
        "visible must broadcast to the scores (..., 2, 4): queries x keys; it is (2, 5)",
    ),
    "mask shape of one query": (
        lambda: attend(np.ones(3), K, visible=[True, False]),
        ShapeError,
        "visible must broadcast to the scores (..., 4): queries x keys; it is (2,)",
    ),
    "mask of numbers": (lambda: attend(np.ones(3), K, visible=[1, 0, 1, 1]), DtypeError, "visible must be boolean"),
    "NaN in the mask": (
        lambda: attend(np.ones(3), K, visible=[1, np.nan, 1, 1]),
        DtypeError,
        "visible must be boolean, True where a query may look; it is float64",
    ),
    "bias shape": (lambda: attend(np.ones(3), K, bias=np.ones(3)), ShapeError, "bias must broadcast"),
    "score of another shape": (
        lambda: attend(np.ones(3), K, score=lambda _, k: k[..., 0]),
        ShapeError,
        "one number for each query and key, (1, 4); this one gave (4,)",
    ),
    "unknown normalizer": (
        lambda: attend(np.ones(3), K, normalize="softmx"),
        UnknownName,
        "no normalizer is called 'softmx'; choose from softmax, sparsemax, hard. Did you mean 'softmax'?",
    ),
    "sampled without generator": (lambda: attend(np.ones(3), K, normalize="sampled"), InputError, "need a generator"),
    "a generator of another library": (
        lambda: attend(torch.ones(3), torch.ones(4, 3), normalize=normalizers.Sampled(np.random.default_rng(0))),
        InputError,
        "a generator of numpy.Generator cannot draw for torch arrays",
    ),
    "text": (lambda: attend("5 1 20", K), DtypeError, "query must be numbers, not the text '5 1 20'"),
    "texts": (lambda: attend(["a", "b", "c"], K), DtypeError, "query must be real numbers; it holds <U1"),
    "nothing in a list": (lambda: attend([None, 1, 2], K), DtypeError, "query must be real numbers; it holds object"),
    "complex": (lambda: attend(np.ones(3, complex), K), DtypeError, "query must be real numbers"),
    "complex tensor": (lambda: attend(torch.ones(3) * 1j, torch.ones(4, 3)), DtypeError, "query must be real numbers"),
    "ragged": (lambda: attend(np.ones(3), [[1, 2, 3], [4, 5]]), ShapeError, "key is ragged: its rows differ in length"),
    "two libraries": (
        lambda: attend(np.ones(3), torch.ones(4, 3)),
        InputError,
        "the arrays are of different libraries: query is of numpy, key is of torch. Convert them to one.",
    ),
    "no query": (lambda: attend(None, K), InputError, "query is None; give numbers"),
    "no query in a window": (lambda: regard.attend_local(None, K, width=1), InputError, "query is None"),
    "softmax of None": (lambda: regard.softmax(None), InputError, "scores is None; give numbers"),
    "rotary of None": (lambda: positions.rotary(None), InputError, "vectors is None"),
    "equivariance of None": (lambda: positions.equivariance(lambda x: x, None), InputError, "inputs is None"),
    "no width in a window": (
        lambda: regard.attend_local(np.ones((3, 0)), np.ones((3, 0)), width=1),
        ShapeError,
        "query (3, 0) has width 0",
    ),
    "keys without values in a window": (
        lambda: regard.attend_local(K, K, np.ones((5, 2)), width=1),
        ShapeError,
        "each key needs one value: key (4, 3) has 4 rows, value (5, 2) has 5",
    ),
    "mask of more batches": (
        lambda: attend(torch.ones(1, 3), torch.ones(4, 3), visible=torch.ones(3, 1, 4, dtype=torch.bool)),
        ShapeError,
        "visible (3, 1, 4) has more batch dimensions than query and key, ()",
    ),
    "window of width 0": (lambda: masks.window(4, 0), InputError, "width must be a whole number >= 1, not 0"),
    "local window of width 0": (lambda: regard.attend_local(K, K, width=0), InputError, "whole number >= 1, not 0"),
    "half a window": (lambda: masks.window(4, 1.5), InputError, "whole number >= 1, not 1.5"),
    "negative mask": (lambda: masks.causal(-1), InputError, "queries must be a whole number, 0 or more; it is -1"),
    "lengths too long": (lambda: masks.padding([5], 4), InputError, "a length of 5 does not fit into 4 keys"),
    "keys of text": (lambda: masks.padding([1], "4"), InputError, "keys must be a whole number, 0 or more; it is '4'"),
    "negative length": (lambda: masks.padding([-1, 2]), InputError, "cannot be negative; the smallest is -1"),
    "lengths of floats": (lambda: masks.padding([1.5]), DtypeError, "lengths must be whole numbers"),
    "softmax axis": (lambda: regard.softmax([1, 2], axis=1), ShapeError, "scores (2,) have no axis 1"),
    "softmax mask": (lambda: regard.softmax([1, 2], visible=[True] * 3), ShapeError, "visible (3,) does not broadcast"),
    "softmax of nothing": (lambda: regard.softmax([]), ShapeError, "nothing to weigh: scores (0,) hold no numbers"),
    "softmax of nothing at all": (lambda: regard.softmax([], axis=None), ShapeError, "nothing to weigh"),
    "softmax of empty rows": (lambda: regard.softmax(np.ones((2, 0))), ShapeError, "nothing to weigh: scores (2, 0)"),
    "softmax of one number": (lambda: regard.softmax(3.0), ShapeError, "scores () have no axis -1"),
    "softmax along half an axis": (lambda: regard.softmax([1, 2], axis=0.5), InputError, "whole number, or None"),
    "sparsemax of nothing": (lambda: normalizers.sparsemax([]), ShapeError, "nothing to weigh"),
    "sparsemax of one number": (lambda: normalizers.sparsemax(2.0), ShapeError, "scores () have no axis -1"),
    "hard of nothing": (lambda: normalizers.hard(torch.ones(0)), ShapeError, "nothing to weigh"),
    "hard of one number": (lambda: normalizers.hard(torch.tensor(1.0)), ShapeError, "scores () have no axis -1"),
    "drawn from nothing": (
        lambda: normalizers.Sampled(np.random.default_rng(0))([]),
        ShapeError,
        "nothing to weigh: scores (0,)",
    ),
    "a normalizer of another shape": (
        lambda: attend(np.ones((2, 3)), K, normalize=lambda s: s[..., :1]),
        ShapeError,
        "one weight for each score, (2, 4); this one gave shape (2, 1)",
    ),
    "a normalizer of tensors that gives a number": (
        lambda: attend(torch.ones(2, 3), torch.ones(4, 3), normalize=lambda s: float(s.sum())),
        ShapeError,
        "one weight for each score, (2, 4); this one gave float",
    ),
    "a normalizer of another shape in a window": (
        lambda: regard.attend_local(K, K, width=1, normalize=lambda s: s[..., :1]),
        ShapeError,
        "one weight for each score, (4, 3); this one gave shape (4, 1)",
    ),
    "a score of another shape in a window": (
        lambda: regard.attend_local(K, K, width=1, score=lambda q, _: q[..., 0]),
        ShapeError,
        "one number for each query and key, (4, 1, 3); this one gave (4, 1)",
    ),
    "masked array": (
        lambda: attend(np.ma.masked_array(np.ones(3), mask=[1, 0, 0]), K),
        DtypeError,
        "query is a NumPy masked array, whose mask attention cannot follow. Fill it (query.filled(0))",
    ),
    "sinusoidal of half a length": (lambda: positions.sinusoidal(2.5, 4), InputError, "length must be a whole number"),
    "sinusoidal of no base": (lambda: positions.sinusoidal(2, 4, base=0), InputError, "base must be a positive number"),
    "fewer than no places": (lambda: positions.learned(K, -1), InputError, "length must be a whole number, 0 or more"),
    "rotary at NaN": (lambda: positions.rotary(np.ones((2, 4)), [0, np.nan]), InputError, "places must be finite"),
    "rotary at texts": (lambda: positions.rotary(np.ones((2, 4)), ["a", "b"]), DtypeError, "places must be real"),
    "alibi of half a head": (lambda: positions.alibi(2.5, 3), InputError, "heads must be a whole number"),
    "alibi without keys": (lambda: positions.alibi(2, 3, -1), InputError, "keys must be a whole number, 1 or more"),
    "equivariance of a vector": (
        lambda: positions.equivariance(lambda x: x, [1.0]),
        ShapeError,
        "inputs must be (..., rows, width); they are (1,)",
    ),
    "order of floats": (
        lambda: positions.equivariance(lambda x: x, K, order=[0.0, 1.0, 2.0, 3.0]),
        InputError,
        "each of 0 to 3 once",
    ),
    "rotary of odd width": (lambda: positions.rotary(np.ones((2, 3))), ShapeError, "(..., n, even width), not (2, 3)"),
    "table too short": (
        lambda: positions.learned(np.ones((2, 3)), 4),
        ShapeError,
        "the table knows 2 places; 4 were asked",
    ),
    "order": (lambda: positions.equivariance(lambda x: x, K, order=[0, 0, 1, 2]), InputError, "each of 0 to 3 once"),
    "local centers": (
        lambda: regard.attend_local(K, K, width=1, centers=[1.0, 2.0]),
        ShapeError,
        "one place for each query, (4,)",
    ),
    "NaN centers": (
        lambda: regard.attend_local(K, K, width=1, centers=[0.0, np.nan, 1.0, 2.0]),
        InputError,
        "centers must be finite numbers, a place among the keys for each query; there is NaN or inf",
    ),
    "infinite centers": (
        lambda: regard.attend_local(torch.ones(1, 3), torch.ones(4, 3), width=1, centers=torch.tensor([torch.inf])),
        InputError,
        "centers must be finite",
    ),
    "centers that stay": (
        lambda: regard.attend_local(K, K, width=1, centers=[0.0] * 4, stay=True),
        InputError,
        "with centers, leave it out",
    ),
    "local mask": (
        lambda: regard.attend_local(K, K, width=1, visible=np.ones((4, 3), bool)),
        ShapeError,
        "visible must broadcast to (4, 4)",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refused_by_name(what):
    call, kind, text = REFUSED[what]
    with pytest.raises(kind, match=re.escape(text)) as caught:
        call()
    assert isinstance(caught.value, RegardError)
