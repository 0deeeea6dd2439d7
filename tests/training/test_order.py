"""The order of the data: every example once, the same for the same seed, shared out exactly, resumable anywhere."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.errors import DataError
from regard.training import order as order_module
from regard.training.order import Order, Position, Section, _cut


class Fake:
    def __init__(self, sections, seed=0, longest=30):
        self.sections = sections
        total = sum(section.count for section in sections)
        self.table = np.random.default_rng(seed).integers(1, longest, (total, 2))

    def sizes(self, rows):
        return self.table[rows]


@pytest.fixture(autouse=True)
def small_pools(monkeypatch):
    monkeypatch.setattr(order_module, "CHUNK", 8)
    monkeypatch.setattr(order_module, "POOL", 5)


def rows(order, epoch=0):
    return [share.rows.tolist() if share.counts else [] for share in order.shares(Position(epoch))]


orders = st.builds(
    lambda counts, tokens, seed: Order(examples=Fake([Section(c) for c in counts]), batch_tokens=tokens, seed=seed),
    st.lists(st.integers(0, 150), min_size=1, max_size=3).filter(any),
    st.integers(1, 200),
    st.integers(0, 2**63 - 1),
)


@given(orders, st.integers(0, 5))
def test_every_example_comes_once_within_the_bound(order, epoch):
    batches = rows(order, epoch)
    total = sum(section.count for section in order.examples.sections)
    assert sorted(row for batch in batches for row in batch) == list(range(total))
    for batch in batches:
        cost = len(batch) * order.examples.sizes(np.array(batch)).max()
        assert cost <= order.batch_tokens or len(batch) == 1


@given(orders, st.integers(2, 4))
def test_processes_share_the_batch_of_one_process_with_a_larger_batch(order, world):
    alone = Order(examples=order.examples, batch_tokens=order.batch_tokens * world, seed=order.seed)
    together = [
        Order(examples=order.examples, batch_tokens=order.batch_tokens, seed=order.seed, rank=rank, world=world)
        for rank in range(world)
    ]
    shares = [rows(part) for part in together]
    assert len({len(share) for share in shares}) == 1
    for whole, *parts in zip(rows(alone), *shares, strict=True):
        assert sorted(whole) == sorted(row for part in parts for row in part)
    for part in together:  # a process without a row of its own still has one to compute
        assert all(len(share.rows) for share in part.shares())


@given(orders, st.data())
def test_it_starts_at_any_step(order, data):
    shares = list(order.shares(Position(3)))
    stop = data.draw(st.integers(0, len(shares) - 1))
    resumed = list(order.shares(shares[stop].position))
    if stop + 1 == len(shares):
        assert shares[stop].position == Position(4)
    else:
        assert [s.rows.tolist() for s in resumed] == [s.rows.tolist() for s in shares[stop + 1 :]]
        assert [s.position for s in resumed] == [s.position for s in shares[stop + 1 :]]


def test_the_order_depends_on_seed_and_epoch_alone():
    examples = Fake([Section(300)])
    order = Order(examples=examples, batch_tokens=100, seed=1)
    first = rows(order)
    np.random.seed(5)  # noqa: NPY002 - the global state must not matter
    assert rows(order) == first
    assert rows(order, epoch=1) != first
    assert rows(Order(examples=examples, batch_tokens=100, seed=2)) != first


def test_batches_are_shuffled_and_hold_like_lengths():
    examples = Fake([Section(2000)])
    order_module.POOL, order_module.CHUNK = 512, 256
    batches = rows(Order(examples=examples, batch_tokens=400, seed=1))
    lengths = [examples.table[batch, 1] for batch in batches]
    padded = sum(len(batch) * batch.max() for batch in lengths)
    assert sum(batch.sum() for batch in lengths) / padded > 0.97
    means = [batch.mean() for batch in lengths]
    assert means != sorted(means)


def test_batches_of_any_length_when_asked():
    examples = Fake([Section(2000)])
    batches = rows(Order(examples=examples, batch_tokens=400, by_length=False, seed=1))
    assert sorted(row for batch in batches for row in batch) == list(range(2000))
    lengths = [examples.table[batch, 1] for batch in batches]
    assert all(len(batch) == 1 or len(batch) * examples.table[batch].max() <= 400 for batch in batches)
    spread = examples.table[:, 1].std()
    assert np.mean([batch.std() for batch in lengths if len(batch) > 4]) > 0.7 * spread


@settings(max_examples=30)
@given(st.floats(0.05, 3.5), st.integers(0, 99))
def test_weights_say_how_often_a_line_is_seen(weight, seed):
    order = Order(examples=Fake([Section(60, weight), Section(40)]), batch_tokens=50, seed=seed)
    seen: Counter[int] = Counter()
    epochs = 12
    for epoch in range(epochs):
        this = Counter(row for batch in rows(order, epoch) for row in batch)
        assert all(this[row] == 1 for row in range(60, 100))
        assert all(abs(this[row] - weight) < 1 for row in range(60))
        seen += this
    assert all(abs(seen[row] - weight * epochs) < 1 for row in range(60))


def test_half_a_corpus_is_another_half_next_time():
    order = Order(examples=Fake([Section(400, 0.5)]), batch_tokens=50, seed=3)
    first, second = ({row for batch in rows(order, epoch) for row in batch} for epoch in (0, 1))
    assert not first & second
    assert len(first | second) == 400
    assert 150 < len(first) < 250


def test_cut_by_hand():
    assert _cut(np.array([2, 2, 3, 3, 9, 1]), 6) == [2, 4, 5]
    assert _cut(np.array([5]), 1) == []


def test_nothing_to_train_on_is_refused():
    with pytest.raises(DataError, match="nothing to train on"):
        Order(examples=Fake([Section(0)]), batch_tokens=1, seed=0)
