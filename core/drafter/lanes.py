"""Runs independent pieces of work side by side, one thread each, with single-threaded kernels inside.

Small matrices gain little from being split inside an operation, and where other work keeps the cores busy every split waits for its
slowest part: on two cores beside one busy process, [1024, 576] @ [576, 192] ran at 50 Gflop/s on two threads and at 98 on one.
It knows nothing about what the pieces are.
"""

import math
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import TracebackType
from typing import Self, TypeVar

import torch

SMALL = 1_024
"""Hidden size below which one token's matrices gain nothing from a second thread (demo target: 3.1 ms a token on one, 3.4 on two)."""

Piece = TypeVar("Piece")
Made = TypeVar("Made")


class Lanes:
    """A context with as many lanes as PyTorch may use threads, `most` at the most; kernels share what is left over."""

    def __init__(self, most: int | None = None) -> None:
        self._threads = torch.get_num_threads()
        self.count = min(self._threads, most or self._threads)

    def __enter__(self) -> Self:
        torch.set_num_threads(self._threads // self.count)
        self._pool = ThreadPoolExecutor(self.count)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._pool.shutdown(cancel_futures=True)
        torch.set_num_threads(self._threads)

    def map(self, work: Callable[[Piece], Made], pieces: Iterable[Piece]) -> Iterator[Made]:
        """What `work` makes of each piece, in order; an exception comes out where its piece stands."""
        return self._pool.map(work, pieces)


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Inside, kernels use so many threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def threads_that_pay(work: Callable[[], object], hidden_size: int, tries: int = 12) -> int:
    """How many threads to give a short piece of work: all, or one where a small model's kernels mostly wait for each other.

    That depends on how many rows a pass has and on what else runs, so it is tried: all threads must gain a tenth at the best of `tries`.
    """
    most = torch.get_num_threads()
    if most == 1 or hidden_size >= SMALL:
        return most
    with threads(1):
        alone = _best_seconds(work, tries)
    return most if _best_seconds(work, tries) < 0.9 * alone else 1


def _best_seconds(work: Callable[[], object], tries: int) -> float:
    work()  # the first one lays things out
    best = math.inf
    for _ in range(tries):
        began = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - began)
    return best
