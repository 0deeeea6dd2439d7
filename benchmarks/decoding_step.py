"""One step of a decoder: a single query for each sentence. Small, so that every overhead shows."""

from __future__ import annotations

from benchmarks import peers
from benchmarks.additive import EAGER, exact
from benchmarks.harness import OURS, RACE_COLUMNS, Bar, Local, Section, race
from benchmarks.worker import elsewhere
from regard.kernels import additive_scores

SHAPE: peers.Shape = (32, 1, 30, 512)


def run(quick: bool) -> Section:
    section = Section("One decoding step, additive scores, forward", RACE_COLUMNS)
    arrays = peers.inputs(SHAPE)
    contestants = [
        Local(OURS, peers.with_torch(additive_scores, arrays, False), peers.named),
        Local(EAGER, peers.with_torch(peers.torch_tanh, arrays, False), peers.named),
        Local("Keras on PyTorch", peers.keras_on_torch(arrays, False), peers.named),
        Local("JAX jit", peers.with_jax(peers.jax_tanh, arrays, False), peers.named),
    ]
    outcome = race(contestants, 3 if quick else 31, reference=elsewhere(exact, arrays, False))
    section.add_race(str(SHAPE), outcome)
    ratio = outcome.ratio(EAGER)
    section.bars.append(Bar(f"decoding step {SHAPE}, times faster than eager", "1", f"{ratio:.1f}", ratio >= 1))
    return section
