"""Train a drafter on a dataset with either engine, then measure what the target accepts from it."""

import json
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field

from core.jobs.curve import WholeCurve
from core.jobs.evaluating import REPORT, measure
from core.jobs.job import Job
from core.watch import Watcher

Engine = Literal["native", "speculators"]


class TrainJob(Job):
    """Train the drafter `out`; `settings` are those of `core.drafter.TrainSettings` that differ from the defaults.

    With `evaluate` the acceptance length before and after is measured on the dataset's held-out prompts, at most `prompts` of them;
    what speculators trains other than DFlash cannot be measured here. Begun again after a stop, it goes on where it was, in training or
    in measuring.
    """

    kind: ClassVar[str] = "train"
    data: Path
    target: str
    out: Path
    settings: dict[str, Any] = Field(default_factory=dict)
    engine: Engine = "native"
    speculators: dict[str, Any] = Field(default_factory=dict)
    """Those of `core.drafter.speculators.SpeculatorsSettings`, for that engine."""
    states: Path | None = None
    """Where the target's hidden states are kept and found; None: they go with the training."""
    server: str | None = None
    """A vLLM server that gives them; None: the target runs here."""
    server_timeout: float = 120.0
    evaluate: bool = True
    prompts: int | None = None

    @property
    def title(self) -> str:
        """The drafter's name and the dataset's."""
        return f"train {self.out.name} on {self.data.name}"

    def owns(self) -> list[Path]:
        """The drafter's folder, and that of the states where they are kept."""
        return [self.out] if self.states is None else [self.out, self.states]

    @property
    def grace(self) -> float | None:
        """Seconds to stop in: speculators writes a checkpoint first."""
        return 120.0 if self.engine == "speculators" else None

    def perform(self, watcher: Watcher) -> dict[str, Any]:
        """Returns `{"train", "evaluation", "untrained"}`; the reports are null without `evaluate` and for other algorithms than DFlash."""
        from core.drafter import TrainSettings, train
        from core.drafter.state_capture import StatesFrom

        target = Path(self.target)
        if (trained := self._trained_before()) is not None:
            return {"train": trained, **measure(self.out, Path(self.target), watcher, self.prompts)}
        settings, states = TrainSettings.from_json(self.settings), StatesFrom(self.states, self.server, self.server_timeout)
        curve = WholeCurve(watcher, self.out.with_name(f".{self.out.name}.{'training' if self.engine == 'native' else 'speculators'}"))
        if self.engine == "native":
            trained = train(self.data, target, self.out, settings, curve, states_from=states).to_json()
        else:
            from core.drafter.speculators import SpeculatorsSettings
            from core.drafter.speculators.engine import train_with_speculators

            engine = SpeculatorsSettings.from_json(self.speculators)
            trained = train_with_speculators(self.data, target, self.out, settings, engine, states, curve).to_json()
        curve.ended()
        measurable = trained.get("algorithm", "dflash") == "dflash"
        if self.evaluate and measurable:
            return {"train": trained, **measure(self.out, target, watcher, self.prompts)}
        return {"train": trained, "evaluation": None, "untrained": None}

    def _trained_before(self) -> dict[str, Any] | None:
        """What this very training made where it ended well but was stopped before its drafter was measured; None where there is work to do.

        The drafter was trained with these settings for these held-out prompts, and has no report.
        """
        from core.drafter import TrainSettings
        from core.drafter.checkpoint import read_state
        from core.tokens.heldout import HELDOUT_FILE

        state = read_state(self.out)
        if not self.evaluate or not state or (self.out / REPORT).exists() or state.get("algorithm", "dflash") != "dflash":
            return None
        wanted: dict[str, Any] = {"settings": TrainSettings.from_json(self.settings).to_json(), "data": str(self.data)}
        if self.engine == "speculators":
            from core.drafter.speculators import SpeculatorsSettings

            wanted |= {
                "data": str(self.data.resolve()),
                "target": str(Path(self.target).resolve()),
                "speculators": SpeculatorsSettings.from_json(self.speculators).to_json(),
            }
        else:
            wanted |= {"target": str(Path(self.target)), "speculators": None}
        same = all(state.get(name) == value for name, value in json.loads(json.dumps(wanted)).items())
        if not same or _bytes(self.out / HELDOUT_FILE) != _bytes(self.data / HELDOUT_FILE):
            return None
        return {**{name: value for name, value in state.items() if name not in wanted}, "path": str(self.out)}


def _bytes(file: Path) -> bytes | None:
    return file.read_bytes() if file.is_file() else None


def unfinished(out: Path) -> Path | None:
    """The hidden folder beside a drafter's in which a training that was stopped left something to go on from; None where there is none."""
    beside = (out.with_name(f".{out.name}.{part}") for part in ("training", "speculators", "states"))
    return next((folder for folder in beside if folder.is_dir() and any(folder.iterdir())), None)
