"""Batches made ahead: in order, grouped into updates within epochs, errors passed on."""

from __future__ import annotations

import pytest

from regard.training import order as order_module
from regard.training.config import load_config
from regard.training.feed import Feed, groups
from regard.training.order import Order, Position, Section
from tests.training.toy_task import ToyTask, settings


def test_an_update_stays_within_its_epoch():
    task = ToyTask(load_config(settings("x")))
    order = Order(examples=task.examples, batch_tokens=40, seed=1)
    per_epoch = len(list(order.shares()))
    assert per_epoch % 4
    made = list(groups(order, 4, Position(), 2))
    assert [len(group) for group in made] == ([4] * (per_epoch // 4) + [per_epoch % 4]) * 2
    assert made[-1][-1].position == Position(2)
    rows = [row for group in made for share in group for row in share.rows]
    assert sorted(rows) == sorted(2 * list(range(40)))


def test_an_epoch_whose_last_pools_are_empty_still_ends(monkeypatch):
    monkeypatch.setattr(order_module, "CHUNK", 4)
    monkeypatch.setattr(order_module, "POOL", 1)
    task = ToyTask(load_config(settings("x")))
    task.examples.sections = [Section(40, 0.1)]  # most chunks of four hold no line of an epoch
    order = Order(examples=task.examples, batch_tokens=40, seed=1)
    for epoch in range(10):
        made = list(groups(order, 1, Position(epoch), epoch + 1))
        assert [group[-1].position for group in made][-1:] in ([], [Position(epoch + 1)])
        assert all(group[-1].position.epoch == epoch for group in made[:-1])


def test_the_feed_gives_every_batch_and_passes_on_errors():
    task = ToyTask(load_config(settings("x")))
    order = Order(examples=task.examples, batch_tokens=40, seed=1)
    with Feed(task.examples, order, 1, Position(), 1) as feed:
        fed = list(feed)
    assert [group.position for group in fed] == [s.position for s in order.shares()]
    assert fed[-1].epochs == 1.0
    assert feed.waited > 0
    task.examples.batch = lambda _: 1 / 0
    with Feed(task.examples, order, 1, Position(), 1) as feed, pytest.raises(ZeroDivisionError):
        list(feed)
