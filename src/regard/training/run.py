"""A run from its settings to its end: directory, data, model, loop."""

from __future__ import annotations

import signal
import sys
from contextlib import ExitStack, closing, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.training.checkpoint import LINES, Best, Checkpoints, State
from regard.training.config import TASKS, RunConfig, load
from regard.training.directory import Log, RunDirectory, facts_of
from regard.training.distributed import Processes, join
from regard.training.loop import Trainer
from regard.training.progress import Silent, clock, progress
from regard.training.signals import Signals
from regard.training.task import Task


@dataclass(frozen=True)
class RunResult:
    """The outcome of a training: what `regard.train` gives."""

    run: Path
    """the run directory, which `Translator.load` and `Captioner.load` take"""
    reason: str
    """which limit ended it: 'epochs', 'updates' or 'patience'"""
    updates: int
    """optimizer steps, those before a resume included"""
    epochs: float
    """passes over the training data"""
    best: Best | None
    """of the best validation: its `update`, the `value` of training.best_by, and whether the weights are `averaged`"""
    history: list[dict[str, Any]]
    """the metrics of every validation, in order, each with its update"""
    seconds: float
    """time spent in updates, validations not included"""
    data_wait: float
    """share of the time that training waited for data"""


def run_training(config: RunConfig, *, resume: bool = False) -> RunResult:
    """Train, or resume training, as the settings say."""
    with join(config.training) as processes:
        show = progress(first=processes.first)
        try:
            return _Run(config, processes, show).to_the_end(resume=resume)
        finally:
            show.close()


class _Run:
    def __init__(self, config: RunConfig, processes: Processes, show: Silent) -> None:
        self.config, self.processes, self.show = config, processes, show
        self.directory = RunDirectory(Path(config.run))
        self.checkpoints = Checkpoints(self.directory.path)
        self.task: Task = load(TASKS[config.task].task)(config)

    def to_the_end(self, *, resume: bool) -> RunResult:
        # torchrun restarts processes with the command they had; what they had begun is resumed.
        resume = resume or (self.processes.restarted and self.directory.begun)
        with ExitStack() as held:
            self.processes.by_first(lambda: self._take(held, resume=resume))
            try:
                return self._train(resume=resume)
            finally:
                if self.processes.first:
                    self.directory.clean()

    def _take(self, held: ExitStack, *, resume: bool) -> None:
        """Check that a run can be begun or resumed in the directory, and lock it."""
        if resume:
            self.directory.check_begun()
        else:
            self.directory.check_new()
        self.directory.make()
        held.enter_context(self.directory.lock())
        if resume:
            self.directory.clean()
            for note in self.directory.check_settings(self.config):
                self.show.message(note)

    def _train(self, *, resume: bool) -> RunResult:
        self._prepare(begun=resume)
        state = self._open(resume=resume)
        with closing(self._log(state)) if self.processes.first else nullcontext() as log:
            trainer = self._trainer(state, log)
            with Signals(self.show.at_once) as signals:
                state = trainer.run(signals)
        if not state.finished:
            self._stopped(state, signals)
        return self._result(state)

    def _prepare(self, *, begun: bool) -> None:
        """The first process prepares the data; then the others find it prepared."""

        def prepare() -> None:
            where, threads = self.directory.path, self.processes.threads
            self.task.prepare(where, begun=begun, threads=threads, report=self.show.message)

        self.processes.by_first(prepare)
        if not self.processes.first:
            prepare()

    def _open(self, *, resume: bool) -> State:
        """Begin the run, or check that it can be resumed; the state to start from."""
        processes = self.processes
        facts = facts_of(self.task, processes=processes.world, threads=processes.threads, device=processes.device)

        def first() -> State:
            if not resume:
                self.directory.begin(self.config, self.task, facts)
                return State()
            for note in self.directory.check_facts(facts):
                self.show.message(note)
            self.directory.update(self.config, facts)
            state = self.checkpoints.latest(self.show.message) or State()
            return self.checkpoints.with_best(state, self.show.message)

        return processes.by_first(first)

    def _trainer(self, state: State, log: Log | None) -> Trainer:
        if log:
            log.write(
                "start", {"update": state.update, "processes": self.processes.world, "threads": self.processes.threads}
            )
        trainer = Trainer(
            self.task, self.config.training, self.processes, self.checkpoints, log, self.show, fresh=not state.update
        )
        if state.update:
            if self.processes.first:
                self.checkpoints.expose(state)
            self.show.message(f"resuming after update {state.update} of {self.directory.path}")
            trainer.restore(state)
        return trainer

    def _log(self, state: State) -> Log:
        path = self.checkpoints.path(state.update) / LINES  # checkpoints of older versions have none
        checksums = path.read_bytes() if path.is_file() else None
        return Log(self.directory.log_path, state.log_bytes, checksums, self.show.message)

    def _stopped(self, state: State, signals: Signals) -> None:
        self.show.message(
            f"stopped after update {state.update}; the checkpoint is in {self.checkpoints.path(state.update)}. "
            "Resume with the same command and --resume."
        )
        if signals.received is signal.SIGTERM:
            sys.exit(128 + signal.SIGTERM)
        raise KeyboardInterrupt

    def _result(self, state: State) -> RunResult:
        wait = state.waited / state.seconds if state.seconds else 0.0
        best = ""
        if state.best:
            name = self.config.training.best_by
            best = f"; best {name} {state.best.value:.4g} at update {state.best.update}"
        self.show.message(
            f"finished ({state.finished}) after {state.update} updates, {state.epochs:.1f} epochs, "
            f"{clock(state.seconds)}{best}; {wait:.1%} of the time waiting for data. See {self.directory.path}"
        )
        return RunResult(
            run=self.directory.path,
            reason=state.finished,
            updates=state.update,
            epochs=state.epochs,
            best=state.best,
            history=state.history,
            seconds=state.seconds,
            data_wait=wait,
        )
