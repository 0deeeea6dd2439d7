"""The training loop: updates, validations, checkpoints; the same for every task and any number of processes."""

from __future__ import annotations

import math
import time
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from regard.errors import CheckpointError, ConfigError, TrainingError
from regard.nn.output import Loss
from regard.training.checkpoint import MODEL, Best, Checkpoints, State, random_states, restore_random_states
from regard.training.config import TrainingConfig
from regard.training.directory import Log
from regard.training.distributed import Processes
from regard.training.feed import Feed, Group
from regard.training.order import Order
from regard.training.progress import Silent
from regard.training.runs import find, vocabulary_files, weights_file
from regard.training.schedule import learning_rate
from regard.training.signals import Signals
from regard.training.task import Task, Validation
from regard.training.weights import average, load_weights, weights_of


@dataclass(frozen=True)
class Totals:
    """Sums over the batches of an update and over all processes."""

    objective: float
    nll: float
    tokens: int
    stop: bool
    checkpoint: bool
    norm: float


class Trainer:
    """One training in one process."""

    def __init__(
        self,
        task: Task,
        config: TrainingConfig,
        processes: Processes,
        checkpoints: Checkpoints,
        log: Log | None,
        progress: Silent,
        *,
        fresh: bool = True,
    ) -> None:
        """``fresh=False`` where :meth:`restore` brings the weights."""
        self.task, self.config, self.processes = task, config, processes
        self.checkpoints, self.log, self.progress = checkpoints, log, progress
        self.device = processes.device
        self.state, self.saved_update = State(), 0
        self.model = task.build_model(torch.Generator().manual_seed(config.seed)).to(self.device)
        if config.begin_with and fresh:
            self._begin_with(find(config.begin_with))
        self.parameters = [p for p in self.model.parameters() if p.requires_grad]
        self.optimizer = torch.optim.AdamW(
            self.parameters,
            lr=config.learning_rate,
            betas=config.betas,
            eps=config.epsilon,
            weight_decay=config.weight_decay,
            fused=True,
        )
        # Dropout draws from the global state, which the caller's is kept apart from (see distributed.join).
        torch.manual_seed((config.seed * 1_000_003 + processes.rank + 1) % 2**63)

    def _begin_with(self, run: Path) -> None:
        """Initialise from the weights of another run, whose vocabulary must be the same: embeddings go by token id."""
        mine, theirs = vocabulary_files(self.checkpoints.run), vocabulary_files(run)
        for name in sorted(mine.keys() | theirs.keys()):
            if not (name in mine and name in theirs and mine[name].read_bytes() == theirs[name].read_bytes()):
                raise CheckpointError(
                    f"training.begin_with = {self.config.begin_with!r} cannot be used: its {name} is not that of "
                    f"{self.checkpoints.run}. Begin a run that has the same vocabulary."
                )
        load_weights(self.model, weights_file(run), all_of_them=False)

    def restore(self, state: State) -> None:
        """Restore weights, moments and random states of the checkpoint of ``state``."""
        stored = self.checkpoints.restore(state, self.model, self.optimizer)
        prefix = f"random.{self.processes.rank}."
        mine = {name.removeprefix(prefix): tensor for name, tensor in stored.items() if name.startswith(prefix)}
        restore_random_states(mine, self.device)
        self.state, self.saved_update = state, state.update
        if self.processes.first:
            self._prune()  # what a process that was killed had no time to

    def run(self, signals: Signals) -> State:
        """Train to the end, or until a signal asks to stop; a checkpoint is written either way."""
        self.wrapped = self._wrap()
        self.saved_at = time.monotonic()
        self.progress.begin(self._done(self.state.epochs, self.state.update))
        order = Order(
            examples=self.task.examples,
            batch_tokens=self.config.batch_tokens,
            by_length=self.config.by_length,
            seed=self.config.seed,
            rank=self.processes.rank,
            world=self.processes.world,
        )
        feed = Feed(self.task.examples, order, self.config.accumulate, self.state.position, self.config.epochs)
        if self.state.finished and not self._end():  # the limit it ended at has been raised
            self.state = replace(self.state, finished="")
        if not self.state.finished:
            with feed:
                self._updates(feed, signals)
        return self.state

    def _wrap(self) -> nn.Module:
        self.model.train()
        if self.processes.world == 1:
            return self.model
        devices = [self.device] if self.device.type == "cuda" else None
        return DistributedDataParallel(self.model, device_ids=devices, gradient_as_bucket_view=True)

    def _updates(self, feed: Feed, signals: Signals) -> None:
        groups = iter(feed)
        while True:
            if self._validation_due():  # also first thing on resuming, where an interrupt came before it
                self._validate()
                if not self._end():
                    self._save()
            if reason := self._end():
                return self._finish(reason)
            begun, waited = time.perf_counter(), feed.waited
            group = next(groups, None)
            if group is None:
                return self._finish("epochs")
            totals = self._update(group, signals)
            self._record(group, totals, time.perf_counter() - begun, feed.waited - waited)
            if totals.stop:
                return self._save()
            if (totals.checkpoint or self._checkpoint_due()) and not self._validation_due() and not self._end():
                self._save()

    def _update(self, group: Group, signals: Signals) -> Totals:
        """Gradients of every batch added up, divided by the tokens of all processes, clipped; one step of Adam."""
        update = self.state.update + 1
        self.optimizer.zero_grad(set_to_none=True)
        sums = torch.zeros(5, dtype=torch.float64, device=self.device)
        for index, (batch, counts) in enumerate(zip(group.batches, group.counts, strict=True)):
            with self._unsynced(index < len(group.batches) - 1), self._precision():
                loss: Loss = self.wrapped(batch.to(self.device), label_smoothing=self.config.label_smoothing)
                objective = loss.objective if counts else loss.objective * 0
            with self._unsynced(index < len(group.batches) - 1):
                objective.backward()  # type: ignore[no-untyped-call]
            if counts:
                sums[:3] += _stack(loss, self.device)
        sums[3] += signals.stop
        sums[4] += self._minutes_over()
        self.processes.sum(sums)
        gradients = [p.grad for p in self.parameters if p.grad is not None]
        norm = nn.utils.get_total_norm(gradients)
        objective_sum, nll, tokens, stop, checkpoint, raw_norm = torch.cat([sums, norm.double()[None]]).tolist()
        # DDP leaves the mean over processes; the sum is wanted, divided by the tokens of all of them.
        scale = self.processes.world / max(tokens, 1)
        totals = Totals(objective_sum, nll, int(tokens), stop > 0, checkpoint > 0, raw_norm * scale)
        self._check_finite(totals, update)
        if self.config.clip_norm:
            scale *= min(1.0, self.config.clip_norm / (totals.norm + 1e-6))
        for gradient in gradients:
            gradient.mul_(scale)
        for parameter_group in self.optimizer.param_groups:
            parameter_group["lr"] = learning_rate(self.config, update)
        self.optimizer.step()
        return totals

    def _unsynced(self, unsynced: bool) -> AbstractContextManager[Any]:
        """Without gradient synchronisation, but for the last batch of an update."""
        ddp = self.wrapped
        return ddp.no_sync() if unsynced and isinstance(ddp, DistributedDataParallel) else nullcontext()

    def _precision(self) -> AbstractContextManager[Any]:
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self.config.precision == "bfloat16")

    def _check_finite(self, totals: Totals, update: int) -> None:
        if math.isfinite(totals.objective) and math.isfinite(totals.norm):
            return
        what = "loss" if not math.isfinite(totals.objective) else "gradient"
        saved = self.checkpoints.updates()
        kept = f"the checkpoint of update {saved[-1]} is kept" if saved else "there is no checkpoint yet"
        raise TrainingError(
            f"the {what} is no longer finite at update {update}; {kept}. Begin another run with a lower "
            f"training.learning_rate (it was {self.config.learning_rate}), a longer training.warmup, a lower "
            f'training.clip_norm (it was {self.config.clip_norm}) or training.precision = "float32".'
        )

    def _record(self, group: Group, totals: Totals, seconds: float, waited: float) -> None:
        tokens = max(totals.tokens, 1)
        self.state = replace(
            self.state,
            update=self.state.update + 1,
            position=group.position,
            epochs=group.epochs,
            seconds=self.state.seconds + seconds,
            waited=self.state.waited + waited,
            tokens=self.state.tokens + totals.tokens,
        )
        values = {
            "update": self.state.update,
            "epoch": math.ceil(group.epochs),
            "loss": totals.objective / tokens,
            "nll": totals.nll / tokens,
            "tokens": totals.tokens,
            "learning_rate": learning_rate(self.config, self.state.update),
            "gradient_norm": totals.norm,
            "seconds": round(seconds, 6),
            "waited": round(waited, 6),
        }
        self.progress.step(self._done(group.epochs, self.state.update), values)
        self._log("update", values)

    def _validate(self) -> None:
        if self.state.update != self.saved_update:  # whatever a validation dies of, no update is lost
            self._save()
        found = self._measure()
        value = self._value(found)
        better = self._better(value)
        entry = {"update": self.state.update, **found.metrics}
        self.state = replace(
            self.state,
            history=[*self.state.history, entry],
            best=Best(self.state.update, value) if better else self.state.best,
            since_best=0 if better else self.state.since_best + 1,
        )
        self._log("validation", {**entry, "best": better, "data_wait": self._wait_share(), "samples": found.samples})
        self.progress.validation(self.state.update, found, best=better)

    def _measure(self) -> Validation:
        """One process measures; the random states of training stay untouched."""

        def measure() -> Validation:
            devices = [self.device] if self.device.type == "cuda" else []
            self.model.eval()
            with torch.no_grad(), torch.random.fork_rng(devices), self._precision():
                found = self.task.validate(self.model, self.device)
            self.model.train()
            return found

        return self.processes.by_first(measure)

    def _value(self, found: Validation) -> float:
        name = self.config.best_by
        if name not in found.metrics:
            raise ConfigError(f"training.best_by = {name!r}, but validation gives only {', '.join(found.metrics)}.")
        return found.metrics[name]

    def _better(self, value: float) -> bool:
        best = self.state.best
        if best is None or math.isnan(best.value):
            return True
        return value < best.value if self.config.best_by == "loss" else value > best.value

    def _finish(self, reason: str) -> None:
        """The last validation, the average if asked for, and the last checkpoint."""
        if not self._validated():
            self._validate()
        averaged = self._average() if self.config.average_last > 1 else None
        self.state = replace(self.state, finished=reason)
        self._log("stop", {"update": self.state.update, "reason": reason, "data_wait": self._wait_share()})
        self._save(averaged)

    def _average(self) -> dict[str, Tensor] | None:
        """The mean weights of the last validations, kept as best if they are."""
        there = set(self.checkpoints.updates()) - {self.state.update}
        validated = [h["update"] for h in self.state.history if h["update"] in there]
        paths = [self.checkpoints.path(update) / MODEL for update in validated[-(self.config.average_last - 1) :]]
        if not paths:
            return None
        trained = {name: tensor.clone() for name, tensor in weights_of(self.model).items()}
        mean = average(paths, trained)
        _put(self.model, mean)
        found = self._measure()
        _put(self.model, trained)
        value = self._value(found)
        better = self._better(value)
        if better:
            self.state = replace(self.state, best=Best(self.state.update, value, averaged=True))
        entry = {"update": self.state.update, "averaged": len(paths) + 1, **found.metrics, "best": better}
        self._log("average", entry)
        self.progress.message(f"average of the last {len(paths) + 1} validations:")
        self.progress.validation(self.state.update, found, best=better)
        return mean

    def _save(self, averaged: dict[str, Tensor] | None = None) -> None:
        """A checkpoint; every process gives its random states, the first one writes."""
        generators = {}
        for name, tensor in random_states(self.device).items():
            for rank, gathered in enumerate(self.processes.gather(tensor)):
                generators[f"random.{rank}.{name}"] = gathered
        self.processes.by_first(lambda: self._write(generators, averaged))
        self.saved_at, self.saved_update = time.monotonic(), self.state.update

    def _write(self, generators: dict[str, Tensor], averaged: dict[str, Tensor] | None) -> None:
        lines = b""
        try:
            if self.log:
                self.state, lines = replace(self.state, log_bytes=self.log.sync()), self.log.checksums()
            self.checkpoints.save(self.state, self.model, self.optimizer, generators, averaged, lines)
            self._prune()
        except (OSError, SafetensorError) as error:
            raise self._cannot_write("the checkpoint", error) from error

    def _prune(self) -> None:
        """Keep the checkpoints that are averaged at the end, the latest, and while it trains the one before."""
        validated = [entry["update"] for entry in self.state.history]
        keep = set(validated[-self.config.average_last :]) if self.config.average_last else set()
        self.checkpoints.prune(keep, before=0 if self.state.finished else 1)

    def _end(self) -> str:
        """Which limit has been reached, if one has."""
        config, state = self.config, self.state
        if config.updates and state.update >= config.updates:
            return "updates"
        if config.epochs and state.position.epoch >= config.epochs:
            return "epochs"
        return "patience" if config.patience and state.since_best >= config.patience else ""

    def _validation_due(self) -> bool:
        update = self.state.update
        return bool(update) and update % self.config.validate_every == 0 and not self._validated()

    def _validated(self) -> bool:
        return bool(self.state.history) and self.state.history[-1]["update"] == self.state.update

    def _checkpoint_due(self) -> bool:
        return bool(self.config.checkpoint_every) and self.state.update % self.config.checkpoint_every == 0

    def _minutes_over(self) -> bool:
        """Whether the first process finds it time for a checkpoint; the others follow it."""
        limit = self.config.checkpoint_minutes * 60
        return bool(limit) and self.processes.first and time.monotonic() - self.saved_at > limit

    def _done(self, epochs: float, update: int) -> float:
        """The share of the training that is over, by whichever limit comes first."""
        shares = [epochs / self.config.epochs if self.config.epochs else 0.0]
        shares.append(update / self.config.updates if self.config.updates else 0.0)
        return min(1.0, max(shares))

    def _wait_share(self) -> float:
        return round(self.state.waited / self.state.seconds, 6) if self.state.seconds else 0.0

    def _log(self, kind: str, values: dict[str, Any]) -> None:
        if self.log:
            try:
                self.log.write(kind, values)
            except OSError as error:
                raise self._cannot_write("the log", error) from error

    def _cannot_write(self, what: str, error: Exception) -> CheckpointError:
        saved = self.checkpoints.updates()
        kept = f"the checkpoint of update {saved[-1]} is complete" if saved else "there is no checkpoint yet"
        return CheckpointError(
            f"{what} of update {self.state.update} cannot be written: {error}; {kept}. "
            "Make room, then resume with --resume."
        )


def _stack(loss: Loss, device: torch.device) -> Tensor:
    tokens = torch.as_tensor(loss.tokens, dtype=torch.float64, device=device)
    return torch.stack([loss.objective.detach().double(), loss.nll.detach().double(), tokens])


@torch.no_grad()
def _put(model: nn.Module, weights: dict[str, Tensor]) -> None:
    for name, tensor in weights_of(model).items():
        tensor.copy_(weights[name])
