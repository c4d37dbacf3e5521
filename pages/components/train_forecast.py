"""What the training that is described would take, in one line, and the command that does the same."""

import streamlit as st

from core.drafter.forecast import Forecast
from core.errors import MixdownError
from core.jobs import TrainJob
from core.jobs.planning import dry_run, foresee, shown_train_command
from pages.components.numbers import duration, short, size
from pages.components.page import fail


def train_forecast(job: TrainJob) -> bool:
    """Draw it; returns whether the training could start."""
    try:
        found = _foreseen(job.model_dump_json(), (job.data / "manifest.json").stat().st_mtime)
    except (MixdownError, OSError) as error:
        fail(error if isinstance(error, MixdownError) else MixdownError(str(error)))
        return False
    kept = f", {size(found.kept_bytes)} stay" if found.kept_bytes else ""
    time = ("about " if found.estimated else "") + duration(found.train_seconds)
    with st.container(key="dry-run"):
        st.html(
            '<div class="md-quiet" data-testid="dry-run">'
            f"<b>{short(found.parameters)}</b> parameters beside {short(found.target_parameters)} of the target · "
            f"about <b>{size(found.memory_bytes)}</b> of memory · <b>{size(found.disk_bytes)}</b> of hidden states on disk{kept} "
            f"({size(found.free_bytes)} free) · about {duration(found.capture_seconds)} to capture them on two cores, "
            f"then <b>{time}</b> of training</div>"
        )
    if not found.fits:
        st.error("The hidden states do not fit the disk: make room, use fewer rows, or keep them elsewhere.", icon=":material/hard_drive:")
    with st.expander("The command", icon=":material/terminal:"):
        st.code(shown_train_command(job), language="sh", wrap_lines=True)
        if job.engine == "speculators" and st.button("Check with speculators", icon=":material/rule:", key="check-speculators"):
            _checked(job)
    return found.fits


@st.cache_data(max_entries=50, show_spinner=False)
def _foreseen(job: str, made_at: float) -> Forecast:  # noqa: ARG001  the time is part of the cache's key
    return foresee(TrainJob.model_validate_json(job))


def _checked(job: TrainJob) -> None:
    """Its run.yaml and torchrun lines, and what its own schema says to them."""
    try:
        with st.spinner("Asking speculators"):
            found = dry_run(job)
    except MixdownError as error:
        fail(error)
        return
    st.code("\n".join(found.commands[1:]), language="yaml", wrap_lines=True)
    if found.problems:
        for problem in found.problems:
            fail(MixdownError(problem))
    else:
        st.success("Its own schema accepts these settings.", icon=":material/check:")
