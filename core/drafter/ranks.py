"""Training in several processes: each works on its part of every batch and steps its share of the matrices (gloo between them).

Threads of one process share one interpreter, which small models keep busy: on two cores a step of the demo's drafter takes less
time in two processes than in two threads. It knows nothing of models or losses.
"""

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor
from torch.multiprocessing import get_context

from core.errors import MixdownError


class PeerLost(MixdownError):
    """A process of the training ended before the others."""


@dataclass(frozen=True)
class Ranks:
    """Which of how many processes this one is. Every process makes the same calls in the same order."""

    rank: int = 0
    count: int = 1

    @property
    def leads(self) -> bool:
        """Whether this process is the one that watches, measures and writes."""
        return self.rank == 0

    def wait(self) -> None:
        """Until every process has come here; raises `PeerLost`."""
        if self.count > 1:
            with _peers_answering():
                dist.barrier()

    def total(self, flat: Tensor) -> Tensor:
        """The sum of a tensor of the same shape in every process, in place; raises `PeerLost`."""
        if self.count > 1:
            with _peers_answering():
                dist.all_reduce(flat)
        return flat

    @torch.no_grad()
    def share(self, shares: Sequence[Sequence[Tensor]]) -> None:
        """Give everybody the tensors of share r as process r holds them, in place; raises `PeerLost`."""
        for rank, tensors in enumerate(shares if self.count > 1 else ()):
            if not tensors:
                continue
            flat = torch.cat([tensor.reshape(-1) for tensor in tensors])
            with _peers_answering():
                dist.broadcast(flat, rank)
            for tensor, part in zip(tensors, torch.split(flat, [tensor.numel() for tensor in tensors]), strict=True):
                tensor.copy_(part.view_as(tensor))


@contextmanager
def _peers_answering() -> Iterator[None]:
    """What gloo says when a process is gone, as a sentence."""
    try:
        yield
    except RuntimeError as error:
        raise PeerLost("A process of this training ended early: start the training again; its own message stands above.") from error


ALONE = Ranks()


@contextmanager
def together(count: int, peer: Callable[..., None], *arguments: object) -> Iterator[Ranks]:
    """This process as rank 0 of `count`; the others run `peer(ranks, *arguments)`, importable and picklable, and end with it.

    Kernels use an equal part of the threads in each. Leaving with an exception ends the peers at once.
    """
    if count == 1:
        yield ALONE
        return
    threads = torch.get_num_threads()
    with tempfile.TemporaryDirectory(prefix="ranks-") as folder:
        meeting = Path(folder) / "meeting"
        context = get_context("spawn")
        peers = [
            context.Process(target=_join, args=(meeting, rank, count, threads // count, peer, arguments), daemon=True)
            for rank in range(1, count)
        ]
        for process in peers:
            process.start()
        try:
            torch.set_num_threads(max(1, threads // count))
            _meet(meeting, 0, count)
            yield Ranks(0, count)
            for process in peers:
                process.join(30)
        finally:
            for process in peers:
                process.kill()
                process.join()
            if dist.is_initialized():
                dist.destroy_process_group()
            torch.set_num_threads(threads)


@contextmanager
def launched() -> Iterator[Ranks]:
    """The processes that torchrun started, as its environment names them; one process where none did.

    Sums run over gloo on CPUs and NCCL on GPUs, a GPU per process of a machine.
    """
    count = int(os.environ.get("WORLD_SIZE", "1"))
    if count == 1:
        yield ALONE
        return
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]) % torch.cuda.device_count())
    backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
    # The others wait while the first one captures hidden states and measures, which may take hours.
    dist.init_process_group(backend, timeout=timedelta(days=7))
    try:
        yield Ranks(dist.get_rank(), count)
        dist.barrier()  # who leaves while another still talks to it takes that one down
    finally:
        dist.destroy_process_group()


def _meet(meeting: Path, rank: int, count: int) -> None:
    """Wait until every process is there."""
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=count)
    dist.barrier()


def _join(meeting: Path, rank: int, count: int, threads: int, peer: Callable[..., None], arguments: tuple[object, ...]) -> None:
    """A peer's whole life."""
    torch.set_num_threads(max(1, threads))
    _meet(meeting, rank, count)
    peer(Ranks(rank, count), *arguments)
